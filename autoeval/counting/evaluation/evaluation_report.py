"""The evaluation of counts as tables, files and a page."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from autoeval.counting.evaluation.bin_charts import MOST_PANELS, plot_bins, plot_scatter, plot_tper
from autoeval.counting.evaluation.compare import CountComparison
from autoeval.counting.evaluation.localisation import Localisation, side_by_side
from autoeval.counting.evaluation.model_measures import CountEvaluation, pooled_std_caution
from autoeval.counting.filed_page import FiledPage, merged_notes
from autoeval.report.tables import number_text
from autoeval.runtime.files import write_text

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
    """Write ``report.html``, its tables as CSV, its figures, ``bins.json``, ``evaluation.json``.

    The tables are ``measures.csv``, ``intervals.csv``, ``per_bin.csv``, ``tper.csv``, with a
    comparison ``comparison.csv`` and ``pairs.csv``, with points ``localisation.csv``. There is no
    ``bins.json`` where models have bins of their own, which ``evaluation.json`` holds.
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
    return [*merged_notes(said), *pooled_std_caution((e.counted, e.bins) for e in evaluations)]


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
    page.tables["tper"] = _tper_table(evaluations)
    page.file_table(
        "intervals",
        _with_intervals(evaluations),
        "Measures; 95 % bootstrap intervals in brackets.",
        sortable=False,
    )
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


def _tper_table(evaluations: Sequence[CountEvaluation]) -> pd.DataFrame:
    """One row for each threshold of each curve."""
    return pd.concat(
        [
            pd.DataFrame(
                {"model": e.name, "convention": name, "threshold": c.thresholds, "share": c.ratio}
            )
            for e in evaluations
            for name, c in e.curves.items()
        ]
    )


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
