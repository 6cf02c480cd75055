"""What the script of a page draws: a scatter plot with a choice of scores, and a board of items."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import to_hex
from matplotlib.markers import MarkerStyle

from autoeval.report.plots import Cloud, RegressionBand, axis_title, source_styles
from autoeval.targets import Target
from autoeval.words import counted

FEWEST_POINTS = 3
SAMPLE_SET = "sample set"
OWN = "its own images"
ENDS = ("value", "lower", "upper")
LEAST_SQUARES = "least squares over the points"


@dataclass(frozen=True)
class ScatterChart:
    """Accuracy against scores, one at a time.

    `points` has one row a sample set: ``source``, ``sample_set``, ``kind`` (``"seed"`` for a
    source's own images), ``transforms``, the target, and the scores. The first of `scores` is
    shown; others without two different values are left out. `lines` are drawn for their scores, for
    the others a least-squares line over the sample sets; the note of each score says which.
    `estimate` is one more point, drawn as a star: ``value`` and its scores, and the ends of its
    interval, ``lower`` and ``upper``, where it has one. The `cloud` stands behind all points, for
    the scores that it has. `unit` is what a point is called; `level` is that of the
    bands, for the legend.
    """

    points: pd.DataFrame
    scores: Sequence[str]
    target: Target
    lines: Mapping[str, RegressionBand] = field(default_factory=dict)
    estimate: Mapping[str, Any] | None = None
    cloud: Cloud | None = None
    unit: str = SAMPLE_SET
    level: float = 0.9

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON; missing numbers are None."""
        first, *others = self.scores
        shown = [first, *(name for name in others if _varies(self._numbers(name)))]
        styles = source_styles(self.points["source"])
        return {
            "target": self.target.name,
            "axis": axis_title(self.target),
            "digits": self.target.digits,
            "sources": [{"name": name, **_shape(style)} for name, style in styles.items()],
            "points": self._points(list(styles)),
            "scores": {name: self._score(name) for name in shown},
            "estimate": self.estimate
            and {k: self._y(self.estimate[k]) for k in ENDS if k in self.estimate},
            "cloud": self.cloud
            and {"about": self.cloud.about, "y": [self._y(y) for y in self.cloud.y]},
            "unit": self.unit,
            "level": f"{self.level:.0%}",
        }

    def _points(self, sources: list[str]) -> list[dict[str, Any]]:
        columns = (self.points[c] for c in ("source", "sample_set", "kind", "transforms"))
        return [
            {
                "source": sources.index(source),
                "set": str(sample_set),
                "own": kind == "seed",
                "what": transforms or (OWN if self.unit == SAMPLE_SET else ""),
                "y": self._y(y),
            }
            for source, sample_set, kind, transforms, y in zip(
                *columns, self.points[self.target.name], strict=True
            )
        ]

    def _score(self, name: str) -> dict[str, Any]:
        values, accuracies = self._numbers(name), self._numbers(self.target.name)
        known = ~np.isnan(values) & ~np.isnan(accuracies)
        if self.unit == SAMPLE_SET:  # a source's own images are shown beside the line over these
            known &= self.points["kind"].to_numpy() != "seed"
        x, y = values[known], accuracies[known]
        varied = len(x) >= FEWEST_POINTS and _varies(x) and _varies(y)
        line, about = None, ""
        if name in self.lines:
            line, about = self._band(self.lines[name]), self.lines[name].about
        elif varied:
            line, about = self._least_squares(x, y), LEAST_SQUARES
        return {
            "values": [_six_digits(value) for value in values],
            "estimate": _six_digits((self.estimate or {}).get(name)),
            "note": _correlation(x, y, self.unit) if varied else "",
            "about": about,
            "line": line,
            "cloud": self._cloud(name),
        }

    def _numbers(self, name: str) -> np.ndarray:
        return self.points[name].to_numpy(np.float64)

    def _cloud(self, name: str) -> list[float | None] | None:
        if self.cloud is None or name not in self.cloud.scores:
            return None
        return [_six_digits(value) for value in self.cloud.scores[name]]

    def _band(self, band: RegressionBand) -> dict[str, Any] | None:
        parts = {"y": band.y, "lower": band.lower, "upper": band.upper}
        finite = {key: values for key, values in parts.items() if np.isfinite(values).all()}
        if "y" not in finite:
            return None
        line = {key: [self._y(v) for v in values] for key, values in finite.items()}
        return {"x": [_six_digits(v) for v in band.x], **line}

    def _least_squares(self, x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
        ends = np.array([x.min(), x.max()])
        fitted = np.polynomial.Polynomial.fit(x, y, 1)(ends)
        return {"x": [_six_digits(v) for v in ends], "y": [self._y(v) for v in fitted]}

    def _y(self, value: float) -> float | None:
        return _six_digits(self.target.scale * value)


def _varies(values: np.ndarray) -> bool:
    known = values[~np.isnan(values)]
    return len(known) > 0 and bool(known.min() < known.max())


def _correlation(x: np.ndarray, y: np.ndarray, unit: str) -> str:
    r = np.corrcoef(x, y)[0, 1]
    rho = np.corrcoef(pd.Series(x).rank(), pd.Series(y).rank())[0, 1]
    correlations = f"squared correlation R² {r * r:.2f}, ρ {rho:.2f} over {counted(len(x), unit)}"
    return correlations.replace("-", "\N{MINUS SIGN}")


def _six_digits(value: float | None) -> float | None:
    """Keep six significant digits, as many as a screen can show."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.6g}")


def _shape(style: Mapping[str, Any]) -> dict[str, str]:
    """Colour, and the marker as an SVG path about two units wide."""
    marker = MarkerStyle(style["marker"])
    outline = marker.get_path().transformed(marker.get_transform()).to_polygons()[0]
    corners = [f"{2 * x:.2f} {-2 * y:.2f}" for x, y in np.asarray(outline)[:-1]]
    return {"color": to_hex(style["color"]), "path": f"M{'L'.join(corners)}Z"}


@dataclass(frozen=True)
class BoardItem:
    """One line of a `Board`.

    Value and interval are in the unit of the board, NaN where there is none; `note` is shown small
    beside the name, `alarm` in red, `facts` when the line is opened. `series` has names of periods,
    in their order, and the value in each; `marks` are periods at which there was an alarm;
    `pictures` are data URIs with captions.
    """

    name: str
    at: float
    lower: float = math.nan
    upper: float = math.nan
    note: str = ""
    alarm: str = ""
    facts: Sequence[str] = ()
    series: Sequence[tuple[str, float]] = ()
    marks: Sequence[str] = ()
    pictures: Sequence[tuple[str, str]] = ()

    def to_dict(self, digits: int) -> dict[str, Any]:
        """Return short plain values; what is empty is left out."""
        values = {
            "name": self.name,
            "at": _rounded(self.at, digits),
            "lower": _rounded(self.lower, digits),
            "upper": _rounded(self.upper, digits),
            "note": self.note,
            "alarm": self.alarm,
            "facts": list(self.facts),
            "times": [name for name, _ in self.series],
            "values": [_rounded(value, digits) for _, value in self.series],
            "marks": list(self.marks),
            "pictures": [list(pair) for pair in self.pictures],
        }
        return {key: value for key, value in values.items() if value not in ("", [], None)}


@dataclass(frozen=True)
class Board:
    """Lines that a reader can search, sort and open, in the order in which they are shown at first.

    `axis` says what the values are, with their unit; they are from 0 to `top`; `order` is what the
    first order is, such as ``"worst first"``.
    """

    items: Sequence[BoardItem] = field(repr=False)
    axis: str
    top: float = 100.0
    order: str = "worst first"
    digits: int = 1

    def to_dict(self) -> dict[str, Any]:
        """Return what the script of the page draws."""
        items = [item.to_dict(self.digits) for item in self.items]
        shown = {"axis": self.axis, "top": self.top, "order": self.order, "digits": self.digits}
        return {**shown, "items": items}


def _rounded(value: float, digits: int) -> float | None:
    return None if math.isnan(value) else round(value, digits)
