"""The evaluation of counts as tables, charts, files and a page."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.scale import SymmetricalLogScale

from autoeval.counting.evaluation.compare import CountComparison
from autoeval.counting.evaluation.localisation import Localisation, side_by_side
from autoeval.counting.evaluation.model_measures import CountEvaluation, pooled_std_warnings
from autoeval.counting.filed_page import FiledPage, merged_notes
from autoeval.counting.measures.tper import TperCurve
from autoeval.report.tables import number_text
from autoeval.runtime.files import write_text

WINNERS = ("winner", "winner of std")  # columns of a comparison
MOST_PANELS = 6
MANY_MARKS = 2000  # from there on the marks of a scatter plot are drawn as one picture


def plot_bins(
    evaluations: Sequence[CountEvaluation], comparison: CountComparison | None = None
) -> Figure:
    """Draw mean and standard deviation of |error| in each bin, and below them who is better."""
    table = evaluations[0].table
    figure = Figure(figsize=(max(7.0, 0.55 * len(table) + 2.5), 6.2), layout="constrained")
    axes = figure.subplots(2, 1, sharex=True)
    for panel, statistic, winner in zip(axes, ("mean", "std"), WINNERS, strict=True):
        _draw_bars(panel, evaluations, statistic)
        panel.set_ylabel(f"{statistic} of |error|")
        if comparison is not None:
            _mark_winners(panel, evaluations, comparison.per_bin[winner])
    names = [f"{name}\nn = {n}" for name, n in zip(table["bin"], table["n"], strict=True)]
    axes[1].set_xticks(range(len(table)), names, rotation=60, ha="right", fontsize=8)
    axes[1].tick_params(axis="x", length=0, pad=10)
    axes[1].set_xlabel("bin of the true count")
    # Above the axes, where it hides no bar.
    beside = {"loc": "lower left", "bbox_to_anchor": (0, 1)}
    axes[0].legend(**beside, frameon=False, fontsize=9, ncols=min(len(evaluations), 3))
    return figure


def plot_tper(
    curves: Sequence[tuple[str, TperCurve]],
    *,
    unit: str = "error, percent of the true count",
    scale: float = 100,
) -> Figure:
    """Draw the share of images beyond each error; ``unit`` is of the thresholds times ``scale``."""
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    for k, (name, curve) in enumerate(curves):
        label = f"{label_text(name)}, AUC {curve.auc:.3f}, n = {curve.n_images}"
        axes.plot(scale * curve.thresholds, curve.ratio, color=_color(k), lw=2, label=label)
    axes.set(xlim=(0, 100), ylim=(0, 1.02), ylabel="share of images at or beyond")
    axes.set_xlabel(unit)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=9)
    return figure


def plot_scatter(evaluations: Sequence[CountEvaluation]) -> Figure:
    """Draw predicted against true counts on logarithmic axes, a panel a model."""
    shown = evaluations[:MOST_PANELS]
    columns = min(len(shown), 3)
    rows = -(-len(shown) // columns)
    figure = Figure(figsize=(1 + 4.2 * columns, 4.4 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    top = max(max(e.counted.target.max(), e.counted.pred.max(), 1.0) for e in shown)
    low = min(0.0, *(e.counted.pred.min() for e in shown))
    many = sum(len(e.counted) for e in shown) > MANY_MARKS
    for k, (axes, evaluation) in enumerate(zip(panels, shown, strict=False)):
        target, pred = evaluation.counted.target, evaluation.counted.pred
        marks = {"marker": "o", "ms": 14**0.5, "mew": 0, "alpha": 0.5, "rasterized": many}
        axes.plot(target, pred, ls="", color=_color(k), **marks)
        axes.plot([0, 1.2 * top], [0, 1.2 * top], color="0.3", lw=1)
        axes.set_title(f"{label_text(evaluation.name)}, n = {len(target)}", fontsize=10)
        axes.set(xlabel="true count", ylabel="predicted count")
        _count_axis(axes, "x", -0.3, 1.3 * top)
        _count_axis(axes, "y", 1.3 * low - 0.3, 1.3 * top)
        axes.grid(alpha=0.3)
    for axes in panels[len(shown) :]:
        axes.remove()
    return figure


def count_ticks(low: float, high: float) -> list[float]:
    """Choose at most seven round counts to mark on an axis that is logarithmic above 1.

    Examples
    --------
    >>> count_ticks(0, 40), count_ticks(0, 3000)
    ([0, 1, 2, 5, 10, 20], [0, 1, 10, 100, 1000])
    >>> count_ticks(-50, 20)
    [-10, -1, 0, 1, 10]
    """
    for every, steps in ((1, (1, 2, 5)), (1, (1, 5)), *((k, (1,)) for k in range(1, 16))):
        values = [s * 10**k for k in range(0, 16, every) for s in steps]
        below = [-value for value in reversed(values) if value <= -low]
        found = [*below, 0, *(value for value in values if value <= high)]
        if len(found) <= 7:
            break
    return found


def label_text(name: str) -> str:
    r"""Make a name safe as a chart's text: no formula begins, and no legend leaves it out."""
    escaped = name.replace("$", r"\$")
    return f" {escaped}" if escaped.startswith("_") else escaped


def _count_axis(axes: Axes, axis: str, low: float, high: float) -> None:
    """Scale the axis ``"x"`` or ``"y"`` by ratio above 1 and mark round counts on it."""
    ticks = count_ticks(low, high)
    options: dict[str, Any] = {
        f"{axis}scale": SymmetricalLogScale(None, linthresh=1),
        f"{axis}ticks": ticks,
        f"{axis}ticklabels": [f"{tick:g}" for tick in ticks],
        f"{axis}lim": (low, high),
    }
    axes.set(**options)


def _draw_bars(axes: Axes, evaluations: Sequence[CountEvaluation], statistic: str) -> None:
    width = 0.8 / len(evaluations)
    for k, evaluation in enumerate(evaluations):
        heights = evaluation.table[statistic].to_numpy()
        at = np.arange(len(heights)) + (k - (len(evaluations) - 1) / 2) * width
        axes.bar(at, heights, width, color=_color(k), label=label_text(evaluation.name))
    highest = max(evaluation.table[statistic].max() for evaluation in evaluations)
    _count_axis(axes, "y", 0, 1.3 * max(highest, 1.0))
    axes.grid(axis="y", alpha=0.3)
    axes.set_axisbelow(True)


def _mark_winners(
    axes: Axes, evaluations: Sequence[CountEvaluation], winners: Sequence[str]
) -> None:
    names = [evaluation.name for evaluation in evaluations]
    for position, winner in enumerate(winners):
        if winner in names:
            color = _color(names.index(winner))
            place: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "clip_on": False}
            axes.plot(position, -0.03, marker="s", ms=6, color=color, **place)


def _color(k: int) -> tuple[float, ...]:
    return mpl.colormaps["tab10"](k % 10)


SHOWN = ("pooled MAE", "pooled std", "MAE", "std", "RMSE", "bias", "MAPE", "sMAPE")


def measures_table(evaluations: Sequence[CountEvaluation]) -> pd.DataFrame:
    """One row for each model, one column for each measure."""
    return pd.DataFrame([{"model": e.name, **e.measures} for e in evaluations])


def write_files(
    folder: Path,
    evaluations: Sequence[CountEvaluation],
    comparison: CountComparison | None,
    notes: Sequence[str] = (),
    places: Sequence[Localisation] = (),
) -> None:
    """Write ``report.html``, its tables and figures, ``bins.json`` and ``evaluation.json``.

    There is no ``bins.json`` where models have bins of their own, which ``evaluation.json`` holds.
    """
    if all(e.bins == evaluations[0].bins for e in evaluations):
        evaluations[0].bins.save(folder / "bins.json")
    text = evaluation_json(evaluations, comparison, notes, places)
    write_text(folder / "evaluation.json", text + "\n")
    evaluation_page(evaluations, comparison, notes, places).write_all(folder)


def evaluation_json(
    evaluations: Sequence[CountEvaluation],
    comparison: CountComparison | None = None,
    notes: Sequence[str] = (),
    places: Sequence[Localisation] = (),
) -> str:
    """Return everything but the single predictions as JSON; the parameters are `write_files`'."""
    content: dict[str, Any] = {"models": [e.to_dict() for e in evaluations], "notes": list(notes)}
    if comparison is not None:
        content["pairs"] = comparison.pairs.to_dict("records")
    if places:
        content["localisation"] = {p.name: p.table.to_dict("records") for p in places}
    return json.dumps(_plain(content), indent=1)


def evaluation_page(
    evaluations: Sequence[CountEvaluation],
    comparison: CountComparison | None = None,
    notes: Sequence[str] = (),
    places: Sequence[Localisation] = (),
) -> FiledPage:
    """Build the report page; the parameters are those of `write_files`."""
    names = ", ".join(e.name for e in evaluations)
    page = FiledPage(f"How well does it count? {names}")
    for e in evaluations:
        page.add_headline(f"Pooled MAE, {e.name}", *_headline(e))
    page.add_warnings([*notes, *all_notes(evaluations, places)])
    _add_bins(page, evaluations, comparison)
    _add_errors(page, evaluations)
    if places:
        page.add_heading("Where it counts")
        page.file_table(
            "localisation",
            side_by_side(places),
            "Predicted against true points: matching at a distance, normalised average precision, "
            "and GAME(L), the count error summed over 4^L tiles of an image.",
            sortable=False,
        )
    return page


def all_notes(
    evaluations: Sequence[CountEvaluation], places: Sequence[Localisation] = ()
) -> list[str]:
    """Return the notes on all models, each once."""
    said = [*((e.name, e.notes) for e in evaluations), *((p.name, p.notes) for p in places)]
    return [*merged_notes(said), *pooled_std_warnings((e.counted, e.bins) for e in evaluations)]


def _headline(e: CountEvaluation) -> tuple[str, str]:
    """Return the large figure and what stands below it."""
    interval, m = e.intervals["pooled MAE"], e.measures
    around = (
        f"95 % interval {number_text(interval.low, '{:.2f}')} to "
        f"{number_text(interval.high, '{:.2f}')}; "
        if interval.low == interval.low
        else ""
    )
    return number_text(m["pooled MAE"], "{:.2f}"), (
        f"± {number_text(m['pooled std'], '{:.2f}')} within bins; {around}"
        f"{m['counted']:.0f} images, global std {number_text(m['std'], '{:.2f}')}"
    )


def _add_bins(
    page: FiledPage, evaluations: Sequence[CountEvaluation], comparison: CountComparison | None
) -> None:
    page.add_heading("Error by bin of the true count")
    page.tables["per_bin"] = pd.concat([e.table.assign(model=e.name) for e in evaluations])
    caption = "Mean and standard deviation of the absolute error in each bin, logarithmic above 1."
    if comparison is None:
        for k, e in enumerate(evaluations):
            name = "bins" if len(evaluations) == 1 else f"bins_{k + 1}"
            page.file_figure(name, plot_bins([e]), caption)
            page.add_table(
                e.table[["bin", "n", "mean", "std", "bias"]],
                f"{e.name}: bins are (lo, hi], the first closed on both sides.",
                sortable=False,
            )
        return
    caption += (
        " A square below a bin has the colour of the model that is better there; a bin of one "
        "image has none."
    )
    page.file_figure("bins", plot_bins(evaluations, comparison), caption)
    page.file_table(
        "comparison",
        comparison.per_bin,
        "Mean and std of |error| in each bin, and who is better.",
        sortable=False,
    )
    page.file_table(
        "pairs",
        comparison.pairs,
        "Two models on the same images: mean difference of their absolute errors (below 0: A is "
        "better) with its 95 % bootstrap interval, and Wilcoxon's signed-rank test.",
    )


def _add_errors(page: FiledPage, evaluations: Sequence[CountEvaluation]) -> None:
    page.add_heading("All images")
    page.tables["measures"] = measures_table(evaluations)
    page.tables["tper"] = pd.concat(
        [
            pd.DataFrame(
                {"model": e.name, "convention": name, "threshold": c.thresholds, "share": c.ratio}
            )
            for e in evaluations
            for name, c in e.curves.items()
        ]
    )
    caption = "Measures; 95 % bootstrap intervals in brackets."
    page.file_table("intervals", _with_intervals(evaluations), caption, sortable=False)
    curves = [(e.name, e.curves["relative"]) for e in evaluations]
    page.file_figure(
        "tper",
        plot_tper(curves),
        "Thresholded percentage error ratio: the share of images whose error is at least so many "
        "percent of the true count. A small area below the curve is good.",
    )
    caption = "Predicted against true counts; the line is a perfect count."
    if len(evaluations) > MOST_PANELS:
        caption += f" Only the first {MOST_PANELS} of {len(evaluations)} models are drawn."
    page.file_figure("scatter", plot_scatter(evaluations), caption)


def _with_intervals(evaluations: Sequence[CountEvaluation]) -> pd.DataFrame:
    table = pd.DataFrame({"measure": [*evaluations[0].measures]})
    for e in evaluations:
        table[e.name] = [
            str(e.intervals[name]) if name in e.intervals else f"{value:.4g}"
            for name, value in e.measures.items()
        ]
    return table


def _plain(value: Any) -> Any:
    """Replace what JSON lacks, NaN and infinities, by None."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
