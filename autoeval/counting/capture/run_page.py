"""The report of a run: tables, charts, problems."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path

import pandas as pd

from autoeval.counting.capture.capture_charts import (
    LABELS,
    confusion_chart,
    factor_chart,
    reliability_chart,
)
from autoeval.counting.capture.capture_measures import (
    by_factor,
    confusion,
    measure,
    model_difference,
    paired_difference,
    reliability,
)
from autoeval.counting.capture.published_figures import published_table
from autoeval.counting.capture.results import TaskResult
from autoeval.counting.capture.split import OCCLUDED, ORIGINAL, CaptureSplit
from autoeval.counting.capture.tasks import CHOICE
from autoeval.counting.filed_page import FiledPage, merged_notes
from autoeval.counting.journal import folder_name

ABOUT = (
    "sMAPE = 100 · mean of |error| / (|truth| + |answer|): 0 is best, 100 worst. An item without "
    "an answer, skipped or missing, scores 100. The MAE is over answered items only. Intervals are "
    "95 % percentile bootstrap intervals over items."
)
FORMATS = dict.fromkeys(
    [
        *("sMAPE", "low", "high", "MAE", "exact %", "skipped %", "accuracy"),
        *("original", "occluded", "difference", "confidence", "of A", "of B"),
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


def model_table(results: Sequence[TaskResult]) -> pd.DataFrame:
    """Compare every two models on each task that both did; one row each."""
    return pd.DataFrame(
        [
            model_difference(a, b)
            for a, b in combinations(results, 2)
            if a.task == b.task and a.model != b.model
        ]
    )


def capture_page(split: CaptureSplit, results: Sequence[TaskResult]) -> FiledPage:
    """Build the report page of one or more models on one split.

    Parameters
    ----------
    split : CaptureSplit
    results : sequence of TaskResult
    """
    kind = split.items[0].split
    page = FiledPage(f"CAPTURe, {kind} split: counting behind an occluder")
    page.add_text(f"{len(split.items)} pairs of images.", ABOUT)
    page.add_warnings(merged_notes((f"{r.model}, {r.task.name}", r.problems) for r in results))
    _add_measures(page, results)
    differences = difference_table(results)
    if len(differences):
        page.add_heading("Original against occluded")
        caption = "sMAPE of the same items, paired"
        page.file_table("differences", differences, caption, formats=FORMATS)
    models = model_table(results)
    if len(models):
        page.add_heading("Model against model")
        caption = "The same items, paired: A - B with its 95 % interval"
        page.file_table("models", models, caption, formats=FORMATS, sortable=False)
    published = published_table(kind)
    page.file_table("published", published, "Published, for comparison", formats=FORMATS)
    for task in dict.fromkeys(result.task for result in results):
        _add_task(page, [result for result in results if result.task == task])
    return page


def write_report(
    split: CaptureSplit, results: Sequence[TaskResult], folder: str | os.PathLike[str]
) -> list[Path]:
    """Write ``report.html``, its tables as CSV, ``items.csv``, and its figures.

    Returns
    -------
    list of Path
        The files.
    """
    page = capture_page(split, results)
    items = [r.frame.assign(model=r.model, task=r.task.name) for r in results]
    page.tables["items"] = pd.concat(items, ignore_index=True)
    return page.write_all(Path(folder))


def _add_measures(page: FiledPage, results: Sequence[TaskResult]) -> None:
    page.tables["measures"] = measures_table(results)
    for title, choice in (("Counts", False), ("Patterns, accuracy in %", True)):
        chosen = [result for result in results if (result.task.kind == CHOICE) == choice]
        if chosen:
            page.add_table(measures_table(chosen), title, formats=FORMATS)


def _add_task(page: FiledPage, results: Sequence[TaskResult]) -> None:
    task = results[0].task
    page.add_heading(task.name)
    if task.kind != CHOICE:
        for factor in LABELS:
            _add_factor(page, results, factor)
    _add_reliability(page, results)
    for result in results:
        table = confusion(result)
        name = f"{task.name}_confusion_{folder_name(result.model)}"
        page.tables[name] = table.rename_axis(index="truth", columns=None)
        page.file_figure(
            name,
            confusion_chart(table),
            f"{result.model}: truth (rows) by answer (columns), number of items",
        )


def _add_factor(page: FiledPage, results: Sequence[TaskResult], factor: str) -> None:
    found = _tables(results, lambda result: by_factor(result, factor))
    if found:
        name = f"{results[0].task.name}_by_{factor}"
        page.tables[name] = pd.concat(found)
        caption = f"Error by {LABELS[factor]}, with 95 % intervals; one item has none"
        page.file_figure(name, factor_chart(found, factor), caption)


def _add_reliability(page: FiledPage, results: Sequence[TaskResult]) -> None:
    counted = [result for result in results if result.task.kind != CHOICE]
    found = _tables(counted, reliability)
    if found:
        name = f"{results[0].task.name}_by_confidence"
        page.tables[name] = pd.concat(found)
        caption = "Error by confidence, with the number of items; it should fall to the right"
        page.file_figure(name, reliability_chart(found), caption)


def _tables(
    results: Sequence[TaskResult], make: Callable[[TaskResult], pd.DataFrame]
) -> list[pd.DataFrame]:
    return [table for table in map(make, results) if len(table)]
