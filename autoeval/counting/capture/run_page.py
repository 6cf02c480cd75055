"""The report of a CAPTURe run: tables, charts and warnings."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from autoeval.counting.capture.results import (
    TaskResult,
    by_factor,
    confusion,
    measure,
    model_difference,
    paired_difference,
    published_table,
    reliability,
)
from autoeval.counting.capture.split import OCCLUDED, ORIGINAL, CaptureSplit
from autoeval.counting.capture.task_run import CHOICE
from autoeval.counting.evaluation.evaluation_report import label_text
from autoeval.counting.filed_page import FiledPage, merged_notes
from autoeval.counting.prompting import folder_name
from autoeval.report.page import Heading, Table, Text, Warnings

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
LABELS = {
    "num_occluded": "objects behind the box",
    "ground_truth": "objects in all",
    "shape": "pattern",
}
_SHADE_OF_WHITE = 0.6


def difference_table(results: Sequence[TaskResult]) -> pd.DataFrame:
    """Compare original and occluded images, for models that have answers about both.

    Parameters
    ----------
    results : sequence of TaskResult
        Of any tasks and models, on one split.

    Returns
    -------
    DataFrame
        One row for each such model, see `paired_difference`.
    """
    totals = {(r.model, r.task.name): r for r in results}
    pairs = [
        [totals.get((model, f"total-{variant}")) for variant in (ORIGINAL, OCCLUDED)]
        for model in dict.fromkeys(result.model for result in results)
    ]
    return pd.DataFrame([paired_difference(a, b) for a, b in pairs if a and b])


def model_table(results: Sequence[TaskResult]) -> pd.DataFrame:
    """Compare every two models on each task that both did.

    Parameters
    ----------
    results : sequence of TaskResult
        Of any tasks and models, on one split.

    Returns
    -------
    DataFrame
        One row for every two, see `model_difference`.
    """
    return pd.DataFrame(
        [
            model_difference(a, b)
            for a, b in combinations(results, 2)
            if a.task == b.task and a.model != b.model
        ]
    )


def capture_page(
    split: CaptureSplit, results: Sequence[TaskResult], limited: Sequence[str] = ()
) -> FiledPage:
    """Build the report page of one or more models on one split.

    Its tables, by name, are ``measures``, ``differences``, ``models``, ``published``, ``items`` and
    those of each task.

    Parameters
    ----------
    split : CaptureSplit
        With at least one item.
    results : sequence of TaskResult
        Of at least one task and model.
    limited : sequence of str
        Sentences on tasks that were not run on all items.
    """
    kind = split.items[0].split
    page = FiledPage(f"CAPTURe, {kind} split: counting behind an occluder")
    page.blocks += map(Text, (*limited, f"{len(split.items)} pairs of images.", ABOUT))
    notes = merged_notes((f"{r.model}, {r.task.name}", r.warnings) for r in results)
    page.blocks.append(Warnings(notes))
    rows = [measure(result) for result in results]
    page.file_rows("measures", pd.DataFrame(rows))
    for title, main in (("Counts", "sMAPE"), ("Patterns, accuracy in %", "accuracy")):
        if chosen := [row for row in rows if main in row]:
            page.blocks.append(Table("", pd.DataFrame(chosen), None, FORMATS, title))
    differences, models = difference_table(results), model_table(results)
    if len(differences):
        page.blocks.append(Heading("Original against occluded"))
        caption = "sMAPE of the same items, paired"
        page.file_table("differences", differences, caption, formats=FORMATS)
    if len(models):
        page.blocks.append(Heading("Model against model"))
        caption = "The same items, paired: A - B with its 95 % interval"
        page.file_table("models", models, caption, formats=FORMATS, sortable=False)
    published = published_table(kind)
    page.file_table("published", published, "Published, for comparison", formats=FORMATS)
    for task in dict.fromkeys(result.task for result in results):
        _add_task(page, [result for result in results if result.task == task])
    items = [r.frame.assign(model=r.model, task=r.task.name) for r in results]
    page.file_rows("items", pd.concat(items, ignore_index=True))
    return page


def _add_task(page: FiledPage, results: Sequence[TaskResult]) -> None:
    task = results[0].task
    page.blocks.append(Heading(task.name))
    if task.kind != CHOICE:
        for factor in LABELS:
            tables = [table for r in results if len(table := by_factor(r, factor))]
            if tables:
                name = f"{task.name}_by_{factor}"
                page.file_rows(name, pd.concat(tables))
                caption = f"Error by {LABELS[factor]}, with 95 % intervals; one item has none"
                page.file_figure(name, factor_chart(tables, factor), caption)
        tables = [table for r in results if len(table := reliability(r))]
        if tables:
            name = f"{task.name}_by_confidence"
            page.file_rows(name, pd.concat(tables))
            caption = "Error by confidence, with the number of items; it should fall to the right"
            page.file_figure(name, reliability_chart(tables), caption)
    for result in results:
        table = confusion(result)
        name = f"{task.name}_confusion_{folder_name(result.model)}"
        page.file_rows(name, table.rename_axis(index="truth", columns=None))
        caption = f"{result.model}: truth (rows) by answer (columns), number of items"
        page.file_figure(name, confusion_chart(table), caption)


def factor_chart(tables: Sequence[pd.DataFrame], factor: str) -> Figure:
    """Draw the sMAPE of each model by a factor, with 95 % intervals and numbers (Fig. 6 and 7).

    Parameters
    ----------
    tables : sequence of DataFrame
        One for each model, see `by_factor`.
    factor : {"shape", "ground_truth", "num_occluded"}
        The column across.
    """
    figure = Figure(figsize=(7.2, 3.6), layout="constrained")
    axes = figure.subplots()
    levels = sorted({level for table in tables for level in table[factor]})
    for k, table in enumerate(tables):
        shift = 0.16 * (k - (len(tables) - 1) / 2)
        at = np.array([levels.index(level) for level in table[factor]]) + shift
        value = table["sMAPE"].to_numpy()
        reach = np.abs(table[["low", "high"]].to_numpy().T - value)
        style: dict[str, Any] = {"marker": "o", "ms": 4, "lw": 1.4, "capsize": 2, "elinewidth": 1}
        line = "none" if factor == "shape" else "-"
        axes.errorbar(at, value, reach, ls=line, label=label_text(table["model"].iloc[0]), **style)
    highest = max(table[["sMAPE", "high"]].max().max() for table in tables)
    names = [_level(tables, factor, level) for level in levels]
    every = max(1, len(levels) // 20)
    axes.set_xticks(range(0, len(levels), every), names[::every], fontsize=8)
    axes.set(xlabel=f"{LABELS[factor]}, number of items", ylabel="sMAPE, %")
    axes.set_ylim(0, None if highest > 1 else 1)
    _finish(axes)
    return figure


def confusion_chart(table: pd.DataFrame) -> Figure:
    """Draw the heat map of a `confusion` table, shaded by share of the row (Fig. 11).

    Parameters
    ----------
    table : DataFrame
        See `confusion`.
    """
    rows, columns = table.shape
    # No wider than a page shows without shrinking the numbers below legibility.
    size = (min(1.6 + 0.4 * columns, 10.5), 1.3 + 0.32 * rows)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    share = table.to_numpy() / np.maximum(table.to_numpy().sum(1, keepdims=True), 1)
    axes.imshow(share, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(columns), list(map(str, table.columns)), fontsize=8)
    axes.set_yticks(range(rows), list(map(str, table.index)), fontsize=8)
    axes.set(xlabel="answer", ylabel="truth")
    for (row, column), number in np.ndenumerate(table.to_numpy()):
        if number:
            shade = "white" if share[row, column] > _SHADE_OF_WHITE else "black"
            axes.text(column, row, str(number), ha="center", va="center", fontsize=7, color=shade)
    return figure


def reliability_chart(tables: Sequence[pd.DataFrame]) -> Figure:
    """Draw error against confidence, one mark a step with its number of items (Fig. 9 and 10).

    Parameters
    ----------
    tables : sequence of DataFrame
        One for each model, see `reliability`.
    """
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    for table in tables:
        name = label_text(table["model"].iloc[0])
        (line,) = axes.plot(table["confidence"], table["sMAPE"], "o-", ms=5, lw=1.4, label=name)
        for _, step in table.iterrows():
            place = (step["confidence"], step["sMAPE"])
            text: dict[str, Any] = {"textcoords": "offset points", "xytext": (4, 5), "fontsize": 7}
            axes.annotate(f"{step['n']:.0f}", place, color=line.get_color(), **text)
    axes.set(xlabel="confidence", ylabel="sMAPE, %", xlim=(-0.02, 1.06), ylim=(0, None))
    _finish(axes)
    return figure


def _level(tables: Sequence[pd.DataFrame], factor: str, level: Any) -> str:
    """Name a level and, below it, how many items it has."""
    numbers = sorted({int(n) for t in tables for n in t.loc[t[factor] == level, "n"]})
    name = level if isinstance(level, str) else f"{level:g}"
    return f"{name}\n{'–'.join(str(n) for n in dict.fromkeys((numbers[0], numbers[-1])))}"


def _finish(axes: Axes) -> None:
    axes.grid(axis="y", alpha=0.3)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
