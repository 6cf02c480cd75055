"""The report of a run: tables, charts, problems."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from autoeval.counting.capture.charts import (
    LABELS,
    confusion_chart,
    factor_chart,
    reliability_chart,
)
from autoeval.counting.capture.measures import (
    by_factor,
    confusion,
    measure,
    paired_difference,
    reliability,
)
from autoeval.counting.capture.published import published_table
from autoeval.counting.capture.results import TaskResult
from autoeval.counting.capture.split import OCCLUDED, ORIGINAL, CaptureSplit
from autoeval.counting.capture.tasks import CHOICE
from autoeval.report.page import Page
from autoeval.runtime.files import atomic_path

ABOUT = (
    "sMAPE = 100 · mean of |error| / (|truth| + |answer|): 0 is best, 100 worst. An item without "
    "an answer, skipped or missing, scores 100. The MAE is over answered items only. Intervals are "
    "95 % percentile bootstrap intervals over items."
)
FORMATS = dict.fromkeys(
    [
        *("sMAPE", "low", "high", "MAE", "exact %", "skipped %", "accuracy"),
        *("original", "occluded", "difference", "confidence"),
    ],
    "{:.2f}",
)


def measures_table(results: Sequence[TaskResult]) -> pd.DataFrame:
    """Measure every result; one row each."""
    return pd.DataFrame([measure(result) for result in results])


def difference_table(results: Sequence[TaskResult]) -> pd.DataFrame:
    """Compare original and occluded images, for models that have answers about both."""
    totals = {(r.model, r.task.name): r for r in results}
    models = dict.fromkeys(result.model for result in results)
    rows = [
        paired_difference(totals[model, f"total-{ORIGINAL}"], totals[model, f"total-{OCCLUDED}"])
        for model in models
        if (model, f"total-{ORIGINAL}") in totals and (model, f"total-{OCCLUDED}") in totals
    ]
    return pd.DataFrame(rows)


def capture_page(split: CaptureSplit, results: Sequence[TaskResult]) -> Page:
    """Build the report page of one or more models on one split.

    Parameters
    ----------
    split : CaptureSplit
    results : sequence of TaskResult
    """
    kind = split.items[0].split
    page = Page(f"CAPTURe, {kind} split: counting behind an occluder")
    page.add_text(f"{len(split.items)} pairs of images.", ABOUT)
    page.add_warnings(f"{r.model}, {r.task.name}: {text}" for r in results for text in r.problems)
    _add_measures(page, results)
    differences = difference_table(results)
    if len(differences):
        page.add_heading("Original against occluded")
        page.add_table(differences, "sMAPE of the same items, paired", formats=FORMATS)
    page.add_table(published_table(kind), "Published, for comparison", formats=FORMATS)
    for task in dict.fromkeys(result.task for result in results):
        _add_task(page, [result for result in results if result.task == task])
    return page


def write_report(
    split: CaptureSplit, results: Sequence[TaskResult], folder: str | os.PathLike[str]
) -> list[Path]:
    """Write ``report.html``, ``measures.csv``, ``differences.csv`` and ``items.csv``.

    Returns
    -------
    list of Path
        The files.
    """
    folder = Path(folder)
    items = [r.frame.assign(model=r.model, task=r.task.name) for r in results]
    tables = {
        "measures.csv": measures_table(results),
        "differences.csv": difference_table(results),
        "items.csv": pd.concat(items, ignore_index=True),
    }
    written = [folder / "report.html"]
    capture_page(split, results).write(written[0])
    for name, table in tables.items():
        if len(table):
            with atomic_path(folder / name) as temporary:
                table.to_csv(temporary, index=False)
            written.append(folder / name)
    return written


def _add_measures(page: Page, results: Sequence[TaskResult]) -> None:
    for title, choice in (("Counts", False), ("Patterns, accuracy in %", True)):
        chosen = [result for result in results if (result.task.kind == CHOICE) == choice]
        if chosen:
            page.add_table(measures_table(chosen), title, formats=FORMATS)


def _add_task(page: Page, results: Sequence[TaskResult]) -> None:
    task = results[0].task
    page.add_heading(task.name)
    if task.kind != CHOICE:
        for factor in LABELS:
            _add_factor(page, results, factor)
    _add_reliability(page, results)
    for result in results:
        page.add_figure(
            confusion_chart(confusion(result)),
            f"{result.model}: truth (rows) by answer (columns), number of items",
        )


def _add_factor(page: Page, results: Sequence[TaskResult], factor: str) -> None:
    found = _tables(results, lambda result: by_factor(result, factor))
    if found:
        caption = f"Error by {LABELS[factor]}, with 95 % intervals"
        page.add_figure(factor_chart(found, factor), caption)


def _add_reliability(page: Page, results: Sequence[TaskResult]) -> None:
    counted = [result for result in results if result.task.kind != CHOICE]
    found = _tables(counted, reliability)
    if found:
        caption = "Error by confidence, with the number of items; it should fall to the right"
        page.add_figure(reliability_chart(found), caption)


def _tables(
    results: Sequence[TaskResult], make: Callable[[TaskResult], pd.DataFrame]
) -> list[pd.DataFrame]:
    return [table for table in map(make, results) if len(table)]
