"""Accuracy against the scores: what the script of a page draws, one score at a time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pandas as pd

from autoeval.accuracy.measures import Target, find_target
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.protocol import FitResult, HeldOutErrors
from autoeval.model import predict_intervals
from autoeval.model.priors import PAIRS, shipped
from autoeval.report.page import Scatter, explained
from autoeval.result_base import ENDS
from autoeval.sites.file_looks import Looks
from autoeval.words import counted

FEWEST_POINTS = 3
SAMPLE_SET = "sample set"
PAIR = "pair"
OWN = "its own images"
LEAST_SQUARES = "least squares over the points"
STEPS = 30  # points of a line
ABOUT = "what the fit expects of a category at a new site, where other scores are as usual"
PANEL = "pairs of detector, site and category of the panel (docs/explanation/calibration.md)"
MARKS = {
    SAMPLE_SET: "A small mark is a transformed sample set, a large one the own images of a site.",
    PAIR: "A coloured mark is a category of a labelled set, at its measured accuracy. A grey one "
    "is a category at a site of the panel, by one of its detectors: from these the fit takes what "
    "one labelled set cannot show.",
}
HOW_TO_READ = "Point at a mark to see what it is, click a site to single it out."
KEYS = ["source", "sample_set", "kind", "transforms"]


class FittedRegression(Protocol):
    """What a page shows of a regression.

    Parameters
    ----------
    training_range_ : dict of str to (float, float)
        Lowest and highest value in the fit of each score that is read.
    sites_ : list of str
        Names of the labelled sites.
    """

    training_range_: dict[str, tuple[float, float]]
    sites_: list[str]

    @property
    def residuals_(self) -> np.ndarray:
        """Mean absolute errors of what was left out."""


class Fitted(Protocol):
    """What a page shows of an estimator, whichever its method."""

    @property
    def target(self) -> str:
        """What is estimated."""

    @property
    def level(self) -> float:
        """Nominal coverage of its intervals."""

    @property
    def fit_result_(self) -> FitResult | None:
        """How it was evaluated when it was fitted."""

    @property
    def held_out_(self) -> HeldOutErrors | None:
        """Errors of estimates of what was left out of the fit."""

    @property
    def context_(self) -> Mapping[str, Any]:
        """What the rows were made with."""

    @property
    def looks_(self) -> Looks | None:
        """How the boxes look that the rows were made from, where that is known."""

    @property
    def regression_(self) -> FittedRegression:
        """The regression on them."""


@dataclass(frozen=True)
class RegressionBand:
    """A line with its prediction interval.

    Parameters
    ----------
    x, y : ndarray of shape (N,)
        The line, sorted by `x`.
    lower, upper : ndarray of shape (N,)
        The interval; NaN where there is none.
    about : str
        What the line is.
    """

    x: np.ndarray
    y: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    about: str = ""


@dataclass(frozen=True)
class Cloud:
    """Points that stand behind others.

    Parameters
    ----------
    scores : mapping of str to ndarray of shape (N,)
        By name.
    y : ndarray of shape (N,)
        The target.
    about : str
        What they are, in a legend.
    """

    scores: Mapping[str, np.ndarray]
    y: np.ndarray
    about: str


@dataclass(frozen=True)
class ScatterChart:
    """Accuracy against scores, one at a time, as the script of a page draws it.

    Parameters
    ----------
    points : DataFrame
        One row a sample set: ``source``, ``sample_set``, ``kind`` (``"seed"`` for a source's own
        images), ``transforms``, the target, and the scores.
    scores : sequence of str
        The first is shown; others without two different values are left out.
    target : Target
        What is drawn, in its unit.
    lines : mapping of str to RegressionBand
        Drawn for their scores; for the others a least-squares line over the sample sets. The note
        of each score says which.
    estimate : mapping, optional
        One more point, drawn as a star: ``value`` and its scores, and the ends of its interval,
        ``lower`` and ``upper``, where it has one.
    cloud : Cloud, optional
        Stands behind all points, for the scores that it has.
    unit : str
        What a point is called.
    level : float
        Nominal coverage of the bands, for the legend.
    about : sequence of str
        Explains some of the scores.
    """

    points: pd.DataFrame
    scores: Sequence[str]
    target: Target
    lines: Mapping[str, RegressionBand] = field(default_factory=dict)
    estimate: Mapping[str, Any] | None = None
    cloud: Cloud | None = None
    unit: str = SAMPLE_SET
    level: float = 0.9
    about: Sequence[str] = ()

    def block(self) -> Scatter:
        """Return the chart as plain values, fit for JSON; missing numbers are None."""
        table, target = self.points, self.target
        sites = list(dict.fromkeys(table["source"]))
        heights = _rounded(target.scale * table[target.name].to_numpy(np.float64))
        columns = (table[name] for name in KEYS)
        points = [
            {
                "source": sites.index(site),
                "set": str(sample_set),
                "own": kind == "seed",
                "what": transforms or (OWN if self.unit == SAMPLE_SET else ""),
                "y": y,
            }
            for site, sample_set, kind, transforms, y in zip(*columns, heights, strict=True)
        ]
        star, cloud, about = None, None, [MARKS[self.unit]]
        if self.estimate is not None:
            ends = [end for end in ENDS if end in self.estimate]
            values = _rounded([target.scale * self.estimate[end] for end in ends])
            star = dict(zip(ends, values, strict=True))
            about.append("The red star is the estimate.")
        if self.cloud is not None:
            cloud = {"about": self.cloud.about, "y": _rounded(target.scale * self.cloud.y)}
        fitted = np.full(len(table), True)
        if self.unit == SAMPLE_SET:  # a source's own images are shown beside the line over these
            fitted = (table["kind"] != "seed").to_numpy()
        first, *later_scores = self.scores
        shown = [first, *(name for name in later_scores if table[name].nunique() > 1)]
        data = {
            "target": target.name,
            "axis": f"{target.name} ({target.unit})",
            "digits": target.digits,
            "sources": sites,
            "points": points,
            "scores": {name: self._score(name, fitted) for name in shown},
            "estimate": star,
            "cloud": cloud,
            "unit": self.unit,
            "level": f"{self.level:.0%}",
        }
        return Scatter(data, " ".join([*about, HOW_TO_READ, *filter(None, self.about)]))

    def _score(self, name: str, fitted: np.ndarray) -> dict[str, Any]:
        """Return where the points stand along a score, and its line with what that is.

        The line, where none is given, and the note are over the points that are ``fitted``.
        """
        table, scale = self.points, self.target.scale
        places = table[name].to_numpy(np.float64)
        heights = table[self.target.name].to_numpy(np.float64)
        complete = fitted & ~(np.isnan(places) | np.isnan(heights))
        x, y = places[complete], heights[complete]
        line, about, note = self.lines.get(name), "", ""
        if len(x) >= FEWEST_POINTS and np.ptp(x) > 0 and np.ptp(y) > 0:
            ranks = pd.DataFrame({"x": x, "y": y}).rank().to_numpy()
            r, rho = np.corrcoef(x, y)[0, 1], np.corrcoef(ranks.T)[0, 1]
            note = f"squared correlation R² {r * r:.2f}, ρ {rho:.2f} over "
            note = note.replace("-", "\N{MINUS SIGN}") + counted(len(x), self.unit)
            if line is None:
                ends, none = np.array([x.min(), x.max()]), np.full(2, np.nan)
                along = y.mean() + r * y.std() / x.std() * (ends - x.mean())
                line = RegressionBand(ends, along, none, none, LEAST_SQUARES)
        drawn = None
        if line is not None:
            about = line.about
            parts = {"y": line.y, "lower": line.lower, "upper": line.upper}
            parts = {key: values for key, values in parts.items() if np.isfinite(values).all()}
            if "y" in parts:
                drawn = {"x": _rounded(line.x)}
                drawn |= {key: _rounded(scale * values) for key, values in parts.items()}
        in_cloud = self.cloud is not None and name in self.cloud.scores
        return {
            "values": _rounded(places),
            "estimate": _rounded([(self.estimate or {}).get(name, math.nan)])[0],
            "note": note,
            "about": about,
            "line": drawn,
            "cloud": _rounded(self.cloud.scores[name]) if self.cloud and in_cloud else None,
        }


def _rounded(values: Iterable[float]) -> list[float | None]:
    """Keep six significant digits, as many as a screen can show; None for a missing number."""
    return [float(f"{value:.6g}") if math.isfinite(value) else None for value in values]


def chart_of_panel(estimator: AccuracyEstimator, estimate: Estimate | None = None) -> ScatterChart:
    """Make the chart of a fit by the default method, and of an estimate: with the panel's pairs.

    A line along a score is what is predicted of one category at a new site, as far as the scores of
    the estimate. The other scores are there what pairs usually have at that value of the score: on
    the least-squares line through the panel's pairs, or through the labelled ones where there are
    none. The band is the prediction interval; a line ends where no estimate would be given.

    Parameters
    ----------
    estimator : AccuracyEstimator
        The fit.
    estimate : Estimate, optional
        Drawn as a star.
    """
    regression, cloud = estimator.regression_, None
    pairs, target = shipped(PAIRS, regression.floor), regression.target
    if target in pairs:  # the panel has not all targets
        read = [feature for feature in regression.features_ if feature in pairs]
        scores = {feature: np.array(pairs[feature], np.float64) for feature in read}
        true = np.array(pairs[target], np.float64)
        cloud = Cloud(scores, true, f"{len(true)} {PANEL}")
    n_images = estimate.n_images if estimate else int(np.median(regression.pairs_["n_images"]))
    features = regression.features_
    labelled = {name: np.asarray(regression.pairs_[name], np.float64) for name in features}
    usual = labelled if cloud is None else cloud.scores
    lines = {}
    for name in features:
        if name not in usual:  # agreement with a reference detector, which the panel has not
            continue
        site_score = estimate.features.get(name, np.nan) if estimate else np.nan
        ends = np.array([*usual[name], *labelled[name], site_score])
        ends = ends[np.isfinite(ends)]
        if not len(ends) or not np.ptp(ends):
            continue
        grid = np.linspace(ends.min(), ends.max(), STEPS)
        rows = {"n_images": np.full(STEPS, n_images), name: grid}
        for score in features:
            if score == name:
                continue
            known = np.isfinite(usual[name]) & np.isfinite(usual.get(score, np.nan))
            if not known.any():
                rows[score] = np.full(STEPS, np.nan)  # filled from the others by the fit
                continue
            x, y = usual[name][known], usual[score][known]
            degree = 1 if np.ptp(x) > 0 else 0
            rows[score] = np.polynomial.Polynomial.fit(x, y, degree)(grid)
        intervals = predict_intervals(regression.distribution(rows), regression.level)
        shown = [k for k, interval in enumerate(intervals) if not np.isnan(interval.value)]
        if len(shown) > 1:
            y = np.array([intervals[k].value for k in shown])
            lower = np.array([intervals[k].lower for k in shown])
            upper = np.array([intervals[k].upper for k in shown])
            lines[name] = RegressionBand(grid[shown], y, lower, upper, ABOUT)
    labelled_pairs = regression.pairs_
    points = pd.DataFrame(
        {
            "source": labelled_pairs["source"],
            "sample_set": labelled_pairs["category"],
            "kind": labelled_pairs["kind"],
            "transforms": "",
            target: labelled_pairs[target],
            **labelled,
        }
    )
    star = None
    if estimate is not None:  # where it stands among the scores
        star = {**estimate.features, **{end: getattr(estimate, end) for end in ENDS}}
    return ScatterChart(
        points,
        features,
        find_target(target),
        lines,
        star,
        cloud,
        PAIR,
        regression.level,
        [explained(features)],
    )
