"""The evaluation of counts as tables, files and a page."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from autoeval.counting.evaluation.charts import MOST_PANELS, plot_bins, plot_scatter, plot_tper
from autoeval.counting.evaluation.compare import CountComparison
from autoeval.counting.evaluation.evaluate import CountEvaluation
from autoeval.report.page import Page
from autoeval.runtime.files import atomic_path, write_text

SHOWN = ("pooled MAE", "pooled std", "MAE", "std", "RMSE", "bias", "MAPE", "sMAPE")
MANY_MARKS = 2000


def measures_table(evaluations: Sequence[CountEvaluation]) -> pd.DataFrame:
    """One row for each model, one column for each measure."""
    return pd.DataFrame([{"model": e.name, **e.measures} for e in evaluations])


def write_files(
    folder: Path,
    evaluations: Sequence[CountEvaluation],
    comparison: CountComparison | None,
    notes: Sequence[str] = (),
) -> None:
    """Write ``measures.csv``, ``per_bin.csv``, ``bins.json``, ``evaluation.json``, ``report.html``.

    With a comparison also ``comparison.csv`` and ``pairs.csv``; without ``bins.json`` where models
    have bins of their own, which ``evaluation.json`` holds.

    Parameters
    ----------
    folder : Path
        Made where needed.
    evaluations : sequence of CountEvaluation
        At least one.
    comparison : CountComparison or None
        Of several models on the same images.
    notes : sequence of str
        On the evaluation as a whole.
    """
    per_bin = pd.concat([e.table.assign(model=e.name) for e in evaluations])
    tables = {"measures": measures_table(evaluations), "per_bin": per_bin}
    if comparison is not None:
        tables |= {"comparison": comparison.per_bin, "pairs": comparison.pairs}
    for name, table in tables.items():
        with atomic_path(folder / f"{name}.csv") as temporary:
            table.to_csv(temporary, index=False)
    if all(e.bins == evaluations[0].bins for e in evaluations):
        evaluations[0].bins.save(folder / "bins.json")
    content: dict[str, Any] = {"models": [e.to_dict() for e in evaluations], "notes": list(notes)}
    if comparison is not None:
        content["pairs"] = comparison.pairs.to_dict("records")
    write_text(folder / "evaluation.json", json.dumps(_plain(content), indent=1) + "\n")
    evaluation_page(evaluations, comparison, notes).write(folder / "report.html")


def evaluation_page(
    evaluations: Sequence[CountEvaluation],
    comparison: CountComparison | None = None,
    notes: Sequence[str] = (),
) -> Page:
    """Build the report page; the parameters are those of `write_files`."""
    names = ", ".join(e.name for e in evaluations)
    page = Page(f"How well does it count? {names}")
    for e in evaluations:
        interval = e.intervals["pooled MAE"]
        page.add_headline(
            f"Pooled MAE ± std, {e.name}",
            f"{e.measures['pooled MAE']:.2f} ± {e.measures['pooled std']:.2f}",
            f"95 % interval of the mean {interval.low:.2f} to {interval.high:.2f}; "
            f"{e.measures['counted']:.0f} images, global std {e.measures['std']:.2f}",
        )
    page.add_warnings([*notes, *(f"{e.name}: {n}" for e in evaluations for n in e.notes)])
    _add_bins(page, evaluations, comparison)
    _add_errors(page, evaluations)
    return page


def _add_bins(
    page: Page, evaluations: Sequence[CountEvaluation], comparison: CountComparison | None
) -> None:
    page.add_heading("Error by bin of the true count")
    caption = "Mean and standard deviation of the absolute error in each bin, logarithmic above 1."
    if comparison is None:
        for e in evaluations:
            page.add_figure(plot_bins([e]), caption)
            table = e.table[["bin", "n", "mean", "std", "bias"]]
            page.add_table(table, f"{e.name}: bins are (lo, hi], the first closed on both sides.")
        return
    caption += " A square below a bin has the colour of the model that is better there."
    page.add_figure(plot_bins(evaluations, comparison), caption)
    page.add_table(comparison.per_bin, "Mean and std of |error| in each bin, and who is better.")
    page.add_table(
        comparison.pairs,
        "Two models on the same images: mean difference of their absolute errors (below 0: A is "
        "better) with its 95 % bootstrap interval, and Wilcoxon's signed-rank test.",
    )


def _add_errors(page: Page, evaluations: Sequence[CountEvaluation]) -> None:
    page.add_heading("All images")
    page.add_table(
        _with_intervals(evaluations),
        "Measures; 95 % bootstrap intervals in brackets.",
        sortable=False,
    )
    curves = [(e.name, e.curves["relative"]) for e in evaluations]
    page.add_figure(
        plot_tper(curves),
        "Thresholded percentage error ratio: the share of images whose error is at least so many "
        "percent of the true count. A small area below the curve is good.",
    )
    marks = sum(len(e.counted) for e in evaluations)
    caption = "Predicted against true counts; the line is a perfect count."
    if len(evaluations) > MOST_PANELS:
        caption += f" Only the first {MOST_PANELS} of {len(evaluations)} models are drawn."
    page.add_figure(
        plot_scatter(evaluations), caption, image_format="png" if marks > MANY_MARKS else "svg"
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
