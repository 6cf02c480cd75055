"""Charts: accuracy against the scores, for a page and as a picture; curves; sheets of pictures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
from typing import TYPE_CHECKING, Any, Protocol

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import MarkerStyle
from matplotlib.transforms import offset_copy

from autoeval.estimation.category_scores import feature_columns
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.protocol import FitResult
from autoeval.model import predict_intervals
from autoeval.model.priors import panel_pairs
from autoeval.model.regression import DEFAULT_METHOD
from autoeval.report.page import Block, Chart, Heading, Scatter, explained
from autoeval.result_base import ENDS
from autoeval.targets import TARGETS, Target, find_target
from autoeval.words import counted

if TYPE_CHECKING:
    import pandas as pd

MARKERS = "oXPDsv^<>p*h"
FEWEST_POINTS = 3
SAMPLE_SET, PAIR = "sample set", "pair"
OWN = "its own images"
LEAST_SQUARES = "least squares over the points"
LEFT_OUT = "held-out estimate"
STEPS = 30  # points of a line
ABOUT = "what the fit expects of a category at a new site, where other scores are as usual"
PANEL = "pairs of detector, site and category of the panel (docs/explanation/calibration.md)"
MARKS = {
    SAMPLE_SET: "A small mark is a transformed sample set, a large one the own images of a source.",
    PAIR: "A coloured mark is a category of a labelled set, at its measured accuracy. A grey one "
    "is a category at a site of the panel, by one of its detectors: from these the fit takes what "
    "one labelled set cannot show.",
}
KEYS = ["source", "sample_set", "kind", "transforms"]
COLUMNS = 4  # pictures side by side


class FittedRegression(Protocol):
    """What a page shows of a regression."""

    training_range_: dict[str, tuple[float, float]]
    sources_: list[str]
    table_: Any
    """The rows that it was fitted on: a DataFrame, or arrays by column."""

    @property
    def residuals_(self) -> np.ndarray:
        """Mean absolute errors of what was left out."""

    def predict_left_out(self) -> np.ndarray:
        """Estimate each row of `table_` without its source."""


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
    def context_(self) -> Mapping[str, Any]:
        """What the rows were made with."""

    @property
    def table_(self) -> pd.DataFrame:
        """The rows that it was fitted on."""

    @property
    def regression_(self) -> FittedRegression:
        """The regression on them."""


@dataclass(frozen=True)
class RegressionBand:
    """A line with its prediction interval, all of shape (N,) and sorted by ``x``.

    The bounds are NaN where there is no interval; ``about`` says what the line is.
    """

    x: np.ndarray
    y: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    about: str = ""


@dataclass(frozen=True)
class Cloud:
    """Points that stand behind others, of shape (N,): scores by name, and the target.

    ``about`` names them in a legend.
    """

    scores: Mapping[str, np.ndarray]
    y: np.ndarray
    about: str


@dataclass(frozen=True)
class ScatterChart:
    """Accuracy against scores, one at a time, as the script of a page draws it.

    `points` has one row a sample set: ``source``, ``sample_set``, ``kind`` (``"seed"`` for a
    source's own images), ``transforms``, the target, and the scores. The first of `scores` is
    shown; others without two different values are left out. `lines` are drawn for their scores, for
    the others a least-squares line over the sample sets; the note of each score says which.
    `estimate` is one more point, drawn as a star: ``value`` and its scores, and the ends of its
    interval, ``lower`` and ``upper``, where it has one. The `cloud` stands behind all points, for
    the scores that it has. `about` explains some of the scores; `unit` is what a point is called;
    `level` is that of the bands, for the legend.
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

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON; missing numbers are None."""
        table, target = self.points, self.target
        styles = source_styles(table["source"])
        sources = []
        for name, style in styles.items():
            # the marker as an SVG path about two units wide
            marker = MarkerStyle(style["marker"])
            outline = marker.get_path().transformed(marker.get_transform()).to_polygons()[0]
            corners = [f"{2 * x:.2f} {-2 * y:.2f}" for x, y in np.asarray(outline)[:-1]]
            path = f"M{'L'.join(corners)}Z"
            sources.append({"name": name, "color": to_hex(style["color"]), "path": path})
        heights = _rounded(target.scale * table[target.name].to_numpy(np.float64))
        columns = (table[name] for name in KEYS)
        points = [
            {
                "source": list(styles).index(source),
                "set": str(sample_set),
                "own": kind == "seed",
                "what": transforms or (OWN if self.unit == SAMPLE_SET else ""),
                "y": y,
            }
            for source, sample_set, kind, transforms, y in zip(*columns, heights, strict=True)
        ]
        star = None
        if self.estimate is not None:
            ends = [end for end in ENDS if end in self.estimate]
            values = _rounded([target.scale * self.estimate[end] for end in ends])
            star = dict(zip(ends, values, strict=True))
        cloud = None
        if self.cloud is not None:
            cloud = {"about": self.cloud.about, "y": _rounded(target.scale * self.cloud.y)}
        first, *others = self.scores
        shown = [first, *(name for name in others if table[name].nunique() > 1)]
        return {
            "target": target.name,
            "axis": f"{target.name} ({target.unit})",
            "digits": target.digits,
            "sources": sources,
            "points": points,
            "scores": {name: self._score(name) for name in shown},
            "estimate": star,
            "cloud": cloud,
            "unit": self.unit,
            "level": f"{self.level:.0%}",
        }

    def _score(self, name: str) -> dict[str, Any]:
        """Return where the points stand along a score, and its line with what that is."""
        table, scale = self.points, self.target.scale
        known = table[name].notna() & table[self.target.name].notna()
        if self.unit == SAMPLE_SET:  # a source's own images are shown beside the line over these
            known &= table["kind"] != "seed"
        x, y = (table.loc[known, n].astype(np.float64) for n in (name, self.target.name))
        line, about, note = self.lines.get(name), "", ""
        if len(x) >= FEWEST_POINTS and x.nunique() > 1 and y.nunique() > 1:
            r, rho = x.corr(y), x.rank().corr(y.rank())
            note = f"squared correlation R² {r * r:.2f}, ρ {rho:.2f} over "
            note = note.replace("-", "\N{MINUS SIGN}") + counted(len(x), self.unit)
            if line is None:
                ends, none = np.array([x.min(), x.max()]), np.full(2, np.nan)
                fitted = np.polynomial.Polynomial.fit(x, y, 1)(ends)
                line = RegressionBand(ends, fitted, none, none, LEAST_SQUARES)
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
            "values": _rounded(table[name]),
            "estimate": _rounded([(self.estimate or {}).get(name, math.nan)])[0],
            "note": note,
            "about": about,
            "line": drawn,
            "cloud": _rounded(self.cloud.scores[name]) if self.cloud and in_cloud else None,
        }


def _rounded(values: Iterable[float]) -> list[float | None]:
    """Keep six significant digits, as many as a screen can show; None for a missing number."""
    return [float(f"{value:.6g}") if math.isfinite(value) else None for value in values]


def scatter_blocks(title: str, chart: ScatterChart) -> list[Block]:
    """Return the chart for a page, and its first score as a picture beside it."""
    first, highlight, star = chart.scores[0], None, ""
    if chart.estimate is not None:
        highlight = (chart.estimate.get(first, np.nan), chart.estimate["value"], "estimate")
        star = " The red star is the estimate."
    ax = plot_scatter(
        chart.points,
        x=first,
        target=chart.target,
        band=chart.lines.get(first),
        highlight=highlight,
        cloud=chart.cloud,
    )
    ax.set_title(title, fontsize=11, parse_math=False)
    caption = (
        f"{MARKS[chart.unit]}{star} Point at a mark to see what it is, click a source to single it "
        f"out. {' '.join(chart.about)}".strip()
    )
    return [
        Heading(f"{chart.target.name} against the scores"),
        Scatter(chart.to_dict(), caption),
        Chart(ax, name="scatter", on_page=False),
    ]


def chart_of_panel(estimator: AccuracyEstimator, estimate: Estimate | None = None) -> ScatterChart:
    """Make the chart of a fit by the default method, and of an estimate: with the panel's pairs.

    A line along a score is what is predicted of one category at a new site, as far as the scores of
    the estimate. The other scores are there what pairs usually have at that value of the score: on
    the least-squares line through the panel's pairs, or through the labelled ones where there are
    none. The band is the prediction interval; a line ends where no estimate would be given.
    """
    import pandas as pd

    regression, cloud = estimator.regression_, None
    pairs, target = panel_pairs(regression.floor), regression.target
    if target in pairs:  # the panel has not all targets
        scores = {feature: pairs[feature] for feature in regression.features_ if feature in pairs}
        cloud = Cloud(scores, pairs[target], f"{len(pairs[target])} {PANEL}")
    n_images = estimate.n_images if estimate else int(np.median(regression.pairs_["n_images"]))
    labelled = pd.DataFrame(regression.pairs_)[list(regression.features_)]
    usual = labelled if cloud is None else pd.DataFrame(cloud.scores)
    lines = {}
    for name in regression.features_:
        if name not in usual:  # agreement with a reference detector, which the panel has not
            continue
        here = estimate.features.get(name, np.nan) if estimate else np.nan
        ends = [*usual[name], *labelled[name], here]
        grid = np.linspace(np.nanmin(ends), np.nanmax(ends), STEPS)
        if not np.ptp(grid) > 0:
            continue
        rows = pd.DataFrame({name: grid, "n_images": n_images})
        for other in regression.features_:
            if other == name:
                continue
            if other not in usual:
                rows[other] = np.nan  # filled from the others by the fit
                continue
            both = usual[[name, other]].astype(np.float64)
            both = both[np.isfinite(both).all(axis=1)]
            degree = 1 if both[name].nunique() > 1 else 0
            rows[other] = np.polynomial.Polynomial.fit(both[name], both[other], degree)(grid)
        intervals = predict_intervals(regression.distribution(rows), regression.level)
        given = [k for k, interval in enumerate(intervals) if not interval.refused]
        if len(given) > 1:
            y, lower, upper = (
                np.array([getattr(intervals[k], end) for k in given]) for end in ENDS
            )
            lines[name] = RegressionBand(grid[given], y, lower, upper, ABOUT)
    chart = chart_of_scores(estimator, DEFAULT_METHOD, estimate, lines, cloud)
    return replace(chart, about=[*chart.about, explained(regression.features_)])


def chart_of_scores(
    estimator: Fitted,
    method: str,
    estimate: Estimate | None = None,
    lines: Mapping[str, RegressionBand] | None = None,
    cloud: Cloud | None = None,
) -> ScatterChart:
    """Make the chart of every score of the training table, and of the held-out estimates.

    The scores in use come first where there are `lines` along some of them, else the held-out
    estimates. Scores of single categories are left out. The `cloud` stands behind.
    """
    import pandas as pd

    target = find_target(estimator.target)
    # The default method reads own images alone, and makes a target at a threshold of their counts.
    rows = pd.DataFrame(estimator.regression_.table_)
    table = rows.assign(**{LEFT_OUT: target.scale * estimator.regression_.predict_left_out()})
    pairs = "transforms" not in table
    if pairs:
        table = table.assign(transforms="", sample_set=table.get("category", table["source"]))
    table = table.assign(transforms=table["transforms"].fillna(""))
    used = [name for name in estimator.regression_.training_range_ if name in table]
    others = [n for n in feature_columns(table) if "/" not in n and n not in TARGETS]
    scores = list(dict.fromkeys([*used, LEFT_OUT, *others]))
    if not lines:
        scores = list(dict.fromkeys([LEFT_OUT, *scores]))
    drawn, about = dict(lines or {}), []
    if table[LEFT_OUT].isna().all():
        scores.remove(LEFT_OUT)
    else:
        ends, none = table[LEFT_OUT].agg(["min", "max"]).to_numpy(), np.full(2, np.nan)
        drawn[LEFT_OUT] = RegressionBand(
            ends, ends / target.scale, none, none, "where it would be right"
        )
        about.append(
            f"‘{LEFT_OUT}’ is what ‘{method}’ estimates of each sample set ({target.unit}) "
            "when it was fitted without its source."
        )
    names = ["n_images", "n_boxes", target.name, *scores]
    present = [name for name in dict.fromkeys(names) if name in table]
    points = table.groupby(KEYS, sort=False)[present].mean().reset_index()
    star = None
    if estimate is not None and estimate.site is not None:  # where it stands among the scores
        star = {**estimate.site.row, **estimate.features}
        star |= {LEFT_OUT: target.scale * estimate.value}
        star |= {end: getattr(estimate, end) for end in ENDS}
    unit = PAIR if pairs else SAMPLE_SET
    return ScatterChart(points, scores, target, drawn, star, cloud, unit, estimator.level, about)


def source_styles(sources: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Give each source a ``color`` and a ``marker``, in order of appearance."""
    names = list(dict.fromkeys(sources))
    colors = mpl.colormaps["turbo"](np.linspace(0.05, 0.95, len(names)))
    styles = zip(names, colors, cycle(MARKERS), strict=False)
    return {name: {"color": color, "marker": marker} for name, color, marker in styles}


def plot_scatter(
    points: pd.DataFrame,
    *,
    x: str,
    target: Target,
    band: RegressionBand | None = None,
    highlight: tuple[float, float, str] | None = None,
    cloud: Cloud | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw `target` against the column `x`, in front of a `cloud`.

    `points` has ``source``, ``kind`` (``"seed"`` rows are drawn large and ringed), `x` and the
    column of the target; `highlight` is one more point (x, y, label), drawn as a star.
    """
    if ax is None:
        ax = Figure(figsize=(8, 5.2), layout="constrained").subplots()
    y, scale = target.name, target.scale
    if band is not None:
        ax.fill_between(band.x, scale * band.lower, scale * band.upper, color="0.9", lw=0, zorder=0)
        ax.plot(band.x, scale * band.y, color="0.35", lw=1.5, zorder=1)
    if cloud is not None and x in cloud.scores:
        ax.scatter(cloud.scores[x], scale * cloud.y, s=9, color="0.7", lw=0, zorder=0.5)
    styles = source_styles(points["source"])
    for source, rows in points.groupby("source", sort=False):
        samples, seeds = rows[rows["kind"] != "seed"], rows[rows["kind"] == "seed"]
        style = styles[source] | {"zorder": 3}
        ax.scatter(samples[x], scale * samples[y], s=22, alpha=0.65, lw=0, label=source, **style)
        ax.scatter(seeds[x], scale * seeds[y], s=110, edgecolor="black", lw=1, **style)
    if highlight is not None:
        at_x, at_y, label = highlight
        ax.scatter(
            at_x, scale * at_y, marker="*", s=320, color="red", ec="k", label=label, zorder=4
        )
    named = f"{x} (line: {band.about})" if band is not None and band.about else x
    ax.set(xlabel=named, ylabel=f"{target.name} ({target.unit})")
    ax.grid(alpha=0.25)
    names = [*styles, *([highlight[2]] if highlight is not None else [])]
    marks = [mark for mark in ax.collections if mark.get_label() in names]
    places = [str(k) for k in range(len(names))]
    legend = ax.legend(
        marks, places, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8
    )
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_parse_math(False)  # names from data may hold ``$`` or begin with ``_``
        text.set_text(name)
    return ax


def source_legend(figure: Figure, sources: Iterable[str]) -> None:
    """Name the sources below all plots."""
    styles = source_styles(sources)
    handles = [Line2D([], [], ls="", ms=5, **style) for style in styles.values()]
    places = [str(k) for k in range(len(handles))]
    legend = figure.legend(
        handles, places, loc="outside lower center", ncols=6, frameon=False, fontsize=8
    )
    for text, name in zip(legend.get_texts(), styles, strict=True):
        text.set_parse_math(False)  # names from data may hold ``$`` or begin with ``_``
        text.set_text(name)


def plot_curves(
    table: pd.DataFrame,
    *,
    x: str,
    y: str,
    group: str,
    band: tuple[str, str] | None = None,
    scale: float = 1.0,
    marks: Mapping[str, float] | None = None,
) -> Axes:
    """Draw `y`, times `scale`, against `x`, one line for each value of `group`.

    `band` are the columns of the lower and the upper end of an interval; `marks` are the x of
    points to be ringed, by group.
    """
    ax = Figure(figsize=(7, 4.4), layout="constrained").subplots()
    colors = mpl.colormaps["tab10"].colors  # type: ignore[attr-defined]
    groups = zip(table.groupby(group, sort=False), cycle(colors), cycle(MARKERS), strict=False)
    for k, ((name, rows), color, marker) in enumerate(groups):
        # Aside by points on paper, so that intervals do not cover one another.
        aside = 0 if band is None else 4 * k
        transform = offset_copy(ax.transData, figure_of(ax), x=aside, units="points")
        style: dict[str, Any] = {"color": color, "transform": transform}
        ax.plot(rows[x], scale * rows[y], marker=marker, ms=5, label=str(name), **style)
        ax.update_datalim(np.column_stack([rows[x], scale * rows[y]]))
        if band is not None:
            lower, upper = (scale * rows[end] for end in band)
            ax.vlines(rows[x], lower, upper, lw=1.2, alpha=0.6, **style)
            ax.update_datalim(np.column_stack([[*rows[x]] * 2, [*lower, *upper]]))
        ringed = rows[rows[x] == (marks or {}).get(str(name))]
        ax.scatter(ringed[x], scale * ringed[y], s=160, fc="none", ec=color, lw=1.8, zorder=4)
    ax.margins(x=0.07)
    ax.autoscale_view()
    ax.grid(alpha=0.25)
    # names of 9 points side by side, each with its line and marker, at most six
    width = 0.6 + 0.07 * max((len(str(name)) for name in table[group].unique()), default=0)
    n_columns = int(np.clip(figure_of(ax).get_figwidth() // width, 1, 6))
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=n_columns, frameon=False, fontsize=9)
    return ax


def figure_of(ax: Axes) -> Figure:
    """Return the figure that a plot was drawn on."""
    figure = ax.figure
    assert isinstance(figure, Figure)
    return figure


def integer_steps(ax: Axes, values: pd.Series) -> None:
    """Space a horizontal axis by ratio and tick it at the values themselves."""
    ticks = sorted(set(values))
    ax.set_xscale("log")
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()


def picture_rows(pictures: Sequence[tuple[np.ndarray, str]], title: str) -> Figure:
    """Lay pictures (H, W, 3), uint8, BGR with captions out in rows of four."""
    rows = math.ceil(len(pictures) / COLUMNS)
    figure = Figure(figsize=(3.2 * COLUMNS, 2.7 * rows + 0.4), layout="constrained")
    axes = figure.subplots(rows, COLUMNS, squeeze=False).ravel()
    for ax in axes:
        ax.axis("off")
    for ax, (picture, caption) in zip(axes, pictures, strict=False):
        ax.imshow(picture[..., ::-1])
        ax.set_title(caption, fontsize=7, parse_math=False, wrap=True)
    figure.suptitle(title, fontsize=9, parse_math=False)
    return figure
