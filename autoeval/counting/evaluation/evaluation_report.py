"""The evaluation of counts as tables, charts, files and a page."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.scale import SymmetricalLogScale

from autoeval.counting.evaluation.localisation import Localisation, side_by_side
from autoeval.counting.evaluation.model_measures import (
    CountComparison,
    CountEvaluation,
    pooled_std_warnings,
)
from autoeval.counting.filed_page import FiledPage, merged_notes
from autoeval.counting.measures.count_errors import TperCurve
from autoeval.report.page import (
    Heading,
    Headline,
    Table,
    Warnings,
    cell_text,
    format_cells,
    to_terminal,
)
from autoeval.runtime.files import plain, write_text

WINNERS = ("winner", "winner of std")  # columns of a comparison
MOST_PANELS = 6
MANY_MARKS = 2000  # from there on the marks of a scatter plot are drawn as one picture
SHOWN = ("pooled MAE", "pooled std", "MAE", "std", "RMSE", "bias", "MAPE", "sMAPE")


def plot_bins(
    evaluations: Sequence[CountEvaluation], comparison: CountComparison | None = None
) -> Figure:
    """Draw mean and standard deviation of |error| in each bin, and below them who is better.

    Parameters
    ----------
    evaluations : sequence of CountEvaluation
        On the same bins; at least one.
    comparison : CountComparison, optional
        Of the same models; without it nobody is named as better.
    """
    table = evaluations[0].table
    figure = Figure(figsize=(max(7.0, 0.55 * len(table) + 2.5), 6.2), layout="constrained")
    axes = figure.subplots(2, 1, sharex=True)
    models = [evaluation.name for evaluation in evaluations]
    width = 0.8 / len(evaluations)
    for panel, statistic, winner in zip(axes, ("mean", "std"), WINNERS, strict=True):
        for k, evaluation in enumerate(evaluations):
            heights = evaluation.table[statistic].to_numpy()
            at = np.arange(len(heights)) + (k - (len(evaluations) - 1) / 2) * width
            panel.bar(at, heights, width, color=_color(k), label=label_text(evaluation.name))
        highest = max(evaluation.table[statistic].max() for evaluation in evaluations)
        _count_axis(panel, "y", 0, 1.3 * max(highest, 1.0))
        panel.grid(axis="y", alpha=0.3)
        panel.set_axisbelow(True)
        panel.set_ylabel(f"{statistic} of |error|")
        place: dict[str, Any] = {"transform": panel.get_xaxis_transform(), "clip_on": False}
        winners = () if comparison is None else comparison.per_bin[winner]
        for position, name in enumerate(winners):  # a square below the bin
            if name in models:
                color = _color(models.index(name))
                panel.plot(position, -0.03, marker="s", ms=6, color=color, **place)
    names = [f"{name}\nn = {n}" for name, n in zip(table["bin"], table["n"], strict=True)]
    axes[1].set_xticks(range(len(table)), names, rotation=60, ha="right", fontsize=8)
    axes[1].tick_params(axis="x", length=0, pad=10)
    axes[1].set_xlabel("bin of the true count")
    # Above the axes, where it hides no bar.
    legend_place = {"loc": "lower left", "bbox_to_anchor": (0, 1)}
    axes[0].legend(**legend_place, frameon=False, fontsize=9, ncols=min(len(evaluations), 3))
    return figure


def plot_tper(
    curves: Sequence[tuple[str, TperCurve]],
    *,
    unit: str = "error, percent of the true count",
    scale: float = 100,
) -> Figure:
    """Draw the share of images at or beyond each error.

    Parameters
    ----------
    curves : sequence of (str, TperCurve)
        Each with the name of its model.
    unit : str
        Of the thresholds times `scale`, below the axis, which ends at 100.
    scale : float
        By which thresholds are multiplied.
    """
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
    """Draw predicted against true counts, one panel for each of the first `MOST_PANELS` models.

    Axes are logarithmic from 1 on, and linear below.

    Parameters
    ----------
    evaluations : sequence of CountEvaluation
        At least one.
    """
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
    """Choose round counts to mark on an axis that is logarithmic above 1, seven or fewer.

    Parameters
    ----------
    low, high : float
        Ends of the axis.

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
        ticks = [*below, 0, *(value for value in values if value <= high)]
        if len(ticks) <= 7:
            break
    return ticks


def label_text(name: str) -> str:
    r"""Make a name safe as a chart's text: no formula begins, and no legend leaves it out.

    Parameters
    ----------
    name : str
        Of a model.
    """
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


def _color(k: int) -> tuple[float, ...]:
    return mpl.colormaps["tab10"](k % 10)


def measures_table(evaluations: Sequence[CountEvaluation]) -> pd.DataFrame:
    """Make a table of one row for each model and one column for each measure.

    Parameters
    ----------
    evaluations : sequence of CountEvaluation
        With different names.
    """
    return pd.DataFrame([{"model": e.name, **e.measures} for e in evaluations])


@dataclass(frozen=True, eq=False)
class CountReport:
    """Evaluations of one or several models as text, page and files.

    Parameters
    ----------
    evaluations : sequence of CountEvaluation
        At least one.
    comparison : CountComparison, optional
        Of these models, where they were compared.
    notes : sequence of str
        On all models.
    places : sequence of Localisation
        Of models that predicted points or density maps.
    """

    evaluations: Sequence[CountEvaluation]
    comparison: CountComparison | None = None
    notes: Sequence[str] = ()
    places: Sequence[Localisation] = ()

    def write(self, folder: Path) -> None:
        """Write ``report.html``, its tables and figures, ``bins.json`` and ``evaluation.json``.

        There is no ``bins.json`` where models have bins of their own, not that of an earlier
        evaluation either: ``evaluation.json`` has them.

        Parameters
        ----------
        folder : Path
            Where they are written.
        """
        first = self.evaluations[0].bins
        if all(e.bins == first for e in self.evaluations):
            first.save(folder / "bins.json")
        else:
            (folder / "bins.json").unlink(missing_ok=True)
        write_text(folder / "evaluation.json", self.to_json() + "\n")
        self.page().write_all(folder)

    def to_json(self) -> str:
        """Return everything but the single predictions as JSON."""
        content: dict[str, Any] = {"models": [e.to_dict() for e in self.evaluations]}
        content["notes"] = list(self.notes)
        if self.comparison is not None:
            content["pairs"] = self.comparison.pairs.to_dict("records")
        if self.places:
            content["localisation"] = {p.name: p.table.to_dict("records") for p in self.places}
        return json.dumps(plain(content), indent=1)

    def all_notes(self) -> list[str]:
        """Return the notes, those on several models once."""
        notes_by_model = [(e.name, e.notes) for e in self.evaluations]
        notes_by_model += [(place.name, place.notes) for place in self.places]
        bin_warnings = pooled_std_warnings(self.evaluations)
        return [*self.notes, *merged_notes(notes_by_model), *bin_warnings]

    def text(self) -> str:
        """Return what the terminal shows."""
        shown = [e.table[["bin", "n", "mean", "std", "bias"]] for e in self.evaluations]
        if self.comparison is not None:
            shown = [self.comparison.per_bin]
        tables = [_to_terminal(table, "{:.2f}") for table in shown]
        measures = measures_table(self.evaluations)[["model", *SHOWN, "TPER AUC relative"]]
        formats = dict.fromkeys(SHOWN, "{:.2f}") | {"TPER AUC relative": "{:.3f}"}
        tables.append(to_terminal(format_cells(measures, formats)))
        if self.comparison is not None:
            tables.append(_to_terminal(self.comparison.pairs, "{:.3g}"))
        if self.places:
            tables.append(_to_terminal(side_by_side(self.places), "{:.3f}"))
        notes = [f"note: {note}" for note in self.all_notes()]
        return "\n".join(["\n\n".join(tables), *notes])

    def page(self) -> FiledPage:
        """Build the page."""
        page = FiledPage(f"How well does it count? {', '.join(e.name for e in self.evaluations)}")
        for e in self.evaluations:
            interval, around = e.intervals["pooled MAE"], ""
            if not math.isnan(interval.low):
                around = f"95 % interval {_two(interval.low)} to {_two(interval.high)}; "
            note = (
                f"± {_two(e.measures['pooled std'])} within bins; {around}"
                f"{e.measures['counted']:.0f} images, global std {_two(e.measures['std'])}"
            )
            name, value = f"Pooled MAE, {e.name}", _two(e.measures["pooled MAE"])
            page.blocks.append(Headline(name, value, note))
        page.blocks.append(Warnings(self.all_notes()))
        _add_bins(page, self.evaluations, self.comparison)
        _add_errors(page, self.evaluations)
        if self.places:
            page.blocks.append(Heading("Where it counts"))
            page.file_table(
                "localisation",
                side_by_side(self.places),
                "Predicted against true points: matching at a distance, normalised average "
                "precision, and GAME(L), the count error summed over 4^L tiles of an image.",
                sortable=False,
            )
        return page


def _two(value: float) -> str:
    return cell_text(value, "{:.2f}")


def _to_terminal(table: pd.DataFrame, spec: str) -> str:
    floats = table.select_dtypes(float).columns
    return to_terminal(format_cells(table, dict.fromkeys(floats, spec)))


def _add_bins(
    page: FiledPage, evaluations: Sequence[CountEvaluation], comparison: CountComparison | None
) -> None:
    page.blocks.append(Heading("Error by bin of the true count"))
    page.file_rows("per_bin", pd.concat([e.table.assign(model=e.name) for e in evaluations]))
    caption = "Mean and standard deviation of the absolute error in each bin, logarithmic above 1."
    if comparison is None:
        for k, e in enumerate(evaluations):
            name = "bins" if len(evaluations) == 1 else f"bins_{k + 1}"
            page.file_figure(name, plot_bins([e]), caption)
            about = f"{e.name}: bins are (lo, hi], the first closed on both sides."
            columns = e.table[["bin", "n", "mean", "std", "bias"]]
            page.blocks.append(Table("", columns, caption=about, sortable=False))
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
    page.blocks.append(Heading("All images"))
    page.file_rows("measures", measures_table(evaluations))
    page.file_rows(
        "tper",
        pd.concat(
            [
                pd.DataFrame(
                    {
                        "model": e.name,
                        "convention": name,
                        "threshold": c.thresholds,
                        "share": c.ratio,
                    }
                )
                for e in evaluations
                for name, c in e.curves.items()
            ]
        ),
    )
    intervals = pd.DataFrame({"measure": [*evaluations[0].measures]})
    for e in evaluations:
        intervals[e.name] = [
            str(e.intervals.get(name, f"{value:.4g}")) for name, value in e.measures.items()
        ]
    caption = "Measures; 95 % bootstrap intervals in brackets."
    page.file_table("intervals", intervals, caption, sortable=False)
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
