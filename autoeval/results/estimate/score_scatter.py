"""Accuracy against the scores, sample set by sample set, with the estimate among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.methods import make_method
from autoeval.estimation.score_table import feature_columns
from autoeval.report.interactive import ScatterChart
from autoeval.report.page import Page
from autoeval.report.plots import RegressionBand, figure_of, plot_scatter
from autoeval.report.sections import Section
from autoeval.targets import TARGETS, Target, find_target

LEFT_OUT = "held-out estimate"
KEYS = ["source", "sample_set", "kind", "transforms"]


@dataclass(frozen=True)
class ScoreScatter(Section):
    """The plot of the target against any score.

    Parameters
    ----------
    title : str
        Of the picture.
    plotted : PlottedScores
    target : Target
    estimate : mapping, optional
        One more point: ``value``, and its scores.
    """

    title: str
    plotted: PlottedScores
    target: Target
    estimate: Mapping[str, Any] | None = None

    def show(self, page: Page) -> None:
        """Add the plot, which names each point and lets the reader choose the score."""
        page.add_heading(f"{self.target.name} against the scores")
        plotted = self.plotted
        star = "The red star is the estimate. " if self.estimate is not None else ""
        page.add_scatter(
            ScatterChart(
                plotted.points, plotted.scores, self.target, plotted.lines, estimate=self.estimate
            ),
            "A small mark is a transformed sample set, a large one the own images of a source. "
            f"Point at a mark to see what it is, click a source to single it out. {star}What the "
            f"line is stands beside the choice of score. {' '.join(plotted.about)}",
        )

    def figures(self) -> Iterator[tuple[str, Figure]]:
        """Draw the first score."""
        first, star = self.plotted.scores[0], None
        if self.estimate is not None:
            star = (self.estimate.get(first, np.nan), self.estimate["value"], "estimate")
        axes = plot_scatter(
            self.plotted.points,
            x=first,
            target=self.target,
            band=self.plotted.lines.get(first),
            highlight=star,
        )
        axes.set_title(self.title, fontsize=11, parse_math=False)
        yield "scatter", figure_of(axes)


@dataclass(frozen=True)
class PlottedScores:
    """Points of a scatter plot.

    Parameters
    ----------
    points : DataFrame
        One row a sample set, means over the repeats.
    scores : sequence of str
        Columns to plot against, the most informative one first.
    lines : mapping of str to RegressionBand
        What the estimator, or being right, would look like.
    about : sequence of str
        Sentences that explain some of the scores.
    """

    points: pd.DataFrame
    scores: Sequence[str]
    lines: Mapping[str, RegressionBand]
    about: Sequence[str]


def scores_to_plot(estimator: AccuracyEstimator) -> PlottedScores:
    """Gather every score of the training table, and the held-out estimates.

    The score that the method uses comes first where it is a single one, else the held-out
    estimates. Scores of single categories are left out.
    """
    target = find_target(estimator.target)
    table = estimator.table_.assign(
        **{LEFT_OUT: target.scale * estimator.regression_.predict_left_out()}
    )
    if "transforms" not in table:
        table = table.assign(transforms="", sample_set=table.get("category", table["source"]))
    table = table.assign(transforms=table["transforms"].fillna(""))
    used = [name for name in estimator.regression_.training_range_ if name in table]
    others = [n for n in feature_columns(table) if "/" not in n and n not in TARGETS]
    scores = list(dict.fromkeys([*used, LEFT_OUT, *others]))
    single = make_method(estimator.method).features
    if len(single) != 1:
        scores = list(dict.fromkeys([LEFT_OUT, *scores]))
    lines: dict[str, RegressionBand] = {}
    about = []
    if len(single) == 1:
        lines[single[0]] = _regression(estimator, single[0])
        about.append(f"Grey around the line of ‘{single[0]}’ is its prediction interval.")
    if table[LEFT_OUT].isna().all():
        scores.remove(LEFT_OUT)
    else:
        lines[LEFT_OUT] = _identity(table[LEFT_OUT], target.scale)
        about.append(
            f"‘{LEFT_OUT}’ is what ‘{estimator.method}’ says of each sample set ({target.unit}) "
            "when it was fitted without its source."
        )
    names = ["n_images", "n_boxes", target.name, *scores]
    present = [name for name in dict.fromkeys(names) if name in table]
    points = table.groupby(KEYS, sort=False)[present].mean().reset_index()
    return PlottedScores(points, scores, lines, about)


def _regression(estimator: AccuracyEstimator, name: str, *, points: int = 50) -> RegressionBand:
    """Trace the estimate along the only feature."""
    repeats = sorted(set(estimator.table_["repeat"]))
    x = np.linspace(*estimator.regression_.training_range_[name], points)
    rows = [pd.DataFrame({"repeat": repeats, "n_images": 0, name: at}) for at in x]
    estimates = [estimator.predict_rows(row) for row in rows]
    value, lower, upper = (
        np.array([getattr(estimate, part) for estimate in estimates])
        for part in ("value", "lower", "upper")
    )
    return RegressionBand(x, value, lower, upper, "the regression in use")


def _identity(scaled: pd.Series, scale: float) -> RegressionBand:
    ends = np.array([scaled.min(), scaled.max()])
    none = np.full(2, np.nan)
    return RegressionBand(ends, ends / scale, none, none, "where it would be right")
