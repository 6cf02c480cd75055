"""CAPTURe's metadata (Table 1, figures 3 and 4), and its tables 2 to 7 from files of answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from autoeval.counting.capture.making import with_points
from autoeval.counting.capture.results import (
    TaskResult,
    collect,
    group_rows,
    measure,
    read_answers,
)
from autoeval.counting.capture.split import (
    CaptureItem,
    CaptureSplit,
    read_records,
    to_items,
)
from autoeval.counting.capture.task_run import TASKS, get_task
from autoeval.counting.filed_page import merged_notes
from autoeval.counting.prompting import is_done
from autoeval.counting.reproduce.printed_grid import (
    DrawnFigure,
    compare_with_print,
    printed_name,
)
from autoeval.counting.true_counts import read_truth
from autoeval.errors import InputError
from autoeval.report.compared_with_print import ComparedWithPrint
from autoeval.report.page import Table
from autoeval.runtime.files import PathLike, read_json
from autoeval.words import listed

REAL = "real"
SYNTHETIC = "synthetic"
# The items that are measured, and those set aside for validation, which are part of the statistics.
MEASURED = {REAL: "real_metadata.json", SYNTHETIC: "synthetic_metadata.json"}
ASIDE = {REAL: "real_validation_metadata.json", SYNTHETIC: "synthetic_validation_metadata.json"}
ANNOTATIONS = "annotation_FSC147_384.json"
SPLIT_FILE = "Train_Test_Val_FSC_147.json"
BACKOFF = "back-off"
Rows = list[dict[str, Any]]
Key = tuple[str, str, str, bool]
"""Split, model, task, and whether the answers were asked for with a back-off."""
# Names in the authors' scripts and in print.
MODELS = {"gpt": "GPT-4o", "intern": "InternVL2", "molmo": "Molmo", "qwen2": "Qwen2VL"}
FOLDERS = {"occ_results": "total-occluded", "unocc_results": "total-original"}
SPLITS = {"real": "real", "syn": "synthetic"}
_NAME = re.compile(rf"(.+)_({'|'.join(SPLITS)})_results\.json")


@dataclass(frozen=True)
class CaptureData:
    """What a folder holds of CAPTURe's metadata.

    Parameters
    ----------
    items : mapping of str to sequence of CaptureItem
        By file name.
    test_images : frozenset of str, optional
        FSC-147's test split; None where it is not known.
    missing : sequence of str
        Files that are not there.
    notes : sequence of str
        Where the metadata and FSC-147 differ.
    """

    items: Mapping[str, Sequence[CaptureItem]] = field(default_factory=dict)
    test_images: frozenset[str] | None = None
    missing: Sequence[str] = ()
    notes: Sequence[str] = ()

    def of(self, split: str) -> list[CaptureItem]:
        """Return measured and validation items of a split.

        Parameters
        ----------
        split : str
            `REAL` or `SYNTHETIC`.
        """
        return [item for files in (MEASURED, ASIDE) for item in self.items.get(files[split], ())]


def read_capture_data(folder: PathLike | None) -> CaptureData:
    """Read CAPTURe's metadata, and FSC-147's points and splits where they lie beside it.

    Parameters
    ----------
    folder : path-like, optional
        None for no data.

    Raises
    ------
    InputError
        If a file is malformed.
    """
    names = [*MEASURED.values(), *ASIDE.values()]
    wanted = [name for name in (*names, ANNOTATIONS, SPLIT_FILE) if name != ASIDE[SYNTHETIC]]
    if folder is None:
        return CaptureData(missing=[f"{name} is not there" for name in wanted])
    folder = Path(folder)
    missing = [f"{name} is not there" for name in wanted if not (folder / name).is_file()]
    points = read_truth(folder / ANNOTATIONS) if (folder / ANNOTATIONS).is_file() else None
    items, notes = {}, []
    for name in names:
        if (folder / name).is_file():
            records = read_records(folder / name)
            if points is not None and name in (MEASURED[REAL], ASIDE[REAL]):
                records, warnings = with_points(records, points)
                notes += warnings
            items[name] = to_items(records)
    test_images = None
    if (folder / SPLIT_FILE).is_file():
        try:
            test_images = frozenset(read_json(folder / SPLIT_FILE)["test"])
        except (KeyError, TypeError) as error:
            raise InputError(
                f"Expected the splits of FSC-147 in {folder / SPLIT_FILE}: {error!r}."
            ) from None
    return CaptureData(items, test_images, missing, notes)


def statistics_table(name: str, entry: Mapping[str, Any], data: CaptureData) -> ComparedWithPrint:
    """Count images, kinds of object, and objects, over measured and validation items (Table 1).

    FSC-147's test split is counted among the measured items, as in the comparison with CountGD.

    Parameters
    ----------
    name : str
        Of the table.
    entry : mapping
        What print has; see `compare_with_print`.
    data : CaptureData
    """
    figures: dict[tuple[str, str], float] = {}
    counts, notes = [], []
    for column, split in enumerate((REAL, SYNTHETIC)):
        items = data.of(split)
        printed = int(entry["rows"]["images"][column])
        if items:
            occluded = [item.num_occluded for item in items if item.num_occluded is not None]
            key = "dot_shape" if split == SYNTHETIC else "object"
            figures |= {
                ("images", split): len(items),
                ("object types", split): len({item.record.get(key) for item in items}),
                ("occluded objects, mean", split): float(np.mean(occluded)) if occluded else np.nan,
                ("objects, mean", split): float(np.mean([i.ground_truth for i in items])),
            }
            if without := [item.image_file for item in items if item.num_occluded is None]:
                notes.append(
                    f"{split}: images without points, which the mean of occluded objects leaves "
                    f"out: {len(without)} ({listed(without)})"
                )
        if len(items) != printed:
            counts.append(f"{len(items)} of {printed} {split} images")
    measured = data.items.get(MEASURED[REAL])
    if measured and data.test_images is not None:
        n_test = sum(item.image_file in data.test_images for item in measured)
        figures["images of FSC-147's test split", REAL] = n_test
    if data.notes:
        notes.append(f"{len(data.notes)} differences from FSC-147: {listed(data.notes)}")
    return compare_with_print(name, entry, figures, *counts, row="statistic", notes=notes)


def histogram_figure(
    name: str, entry: Mapping[str, Any], data: CaptureData
) -> tuple[DrawnFigure, list[str]]:
    """Count images by their number of objects, or of occluded ones (figures 3 and 4).

    Parameters
    ----------
    name : str
        Of the figure.
    entry : mapping
        ``split``; ``value``, what is counted; ``step`` and ``last`` of the ranges; ``usual``, the
        range that print calls so.
    data : CaptureData

    Returns
    -------
    tuple of DrawnFigure and list of str
        The second says what is missing.
    """
    items = data.of(entry["split"])
    attribute = "ground_truth" if entry["value"] == "objects" else "num_occluded"
    read = [getattr(item, attribute) for item in items]
    values = np.array([value for value in read if value is not None], int)
    # Ranges of `step` integers; the numbers from `last` on share one.
    step, last, value_name = entry["step"], entry["last"], entry["value"]
    starts = np.arange(0, last + 1, step)
    counts = np.bincount(np.minimum(values, last) // step, minlength=len(starts))
    labels = [str(s) if step == 1 else f"{s} to {s + step - 1}" for s in starts[:-1]]
    table = pd.DataFrame({value_name: [*labels, f"{last} or more"], "images": counts})
    notes = []
    if len(values):
        low, high = entry["usual"]
        share = np.mean((values >= low) & (values <= high))
        notes.append(
            f"{100 * share:.1f} % of {len(values)} images have {low} to {high} {value_name}; "
            f"the fewest are {values.min()}, the most {values.max()}; "
            f"the most objects in an image are {max(i.ground_truth for i in items)}."
        )
    tables = [Table(f"figure_{name}", table)] if len(values) else []
    figure = DrawnFigure(f"figure_{name}", entry, tables, partial(_draw, table), notes=notes)
    return figure, [] if len(values) else [f"no {value_name} of {entry['split']} items"]


def _draw(table: pd.DataFrame) -> Figure:
    name = table.columns[0]
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    axes = figure.subplots()
    axes.bar(range(len(table)), table["images"])
    axes.set_xticks(range(len(table)), table[name], rotation=60)
    axes.set(xlabel=name, ylabel="images")
    return figure


def model_table(
    name: str, entry: Mapping[str, Any], data: CaptureData, answers: Mapping[Key, Rows]
) -> tuple[ComparedWithPrint, list[str]]:
    """Measure the answers that a table of models is made of, their differences and their mean.

    Parameters
    ----------
    name : str
        Of the table.
    entry : mapping
        What print has, with the ``tasks`` of its columns; see `compare_with_print`.
    data : CaptureData
    answers : mapping of tuple to sequence of mapping
        Of `read_all_answers`.

    Returns
    -------
    tuple of ComparedWithPrint and list of str
        The second says what is missing.
    """
    results: dict[tuple[str, str], TaskResult] = {}
    named: dict[tuple[str, str], str] = {}
    left_out = list[str]()
    for (split, model, task, backoff), rows in answers.items():
        items = data.items.get(MEASURED[split])
        wanted = [split, task, *[BACKOFF] * backoff]
        columns = [column for column, key in entry["tasks"].items() if list(key) == wanted]
        if items and columns:
            shown = printed_name(model, entry["rows"])
            first = named.setdefault((shown, columns[0]), model)
            if first != model:
                left_out.append(f"{shown}, {columns[0]}: answers of {model} left out, {first} read")
                continue
            whole = CaptureSplit(Path(), tuple(items))
            results[shown, columns[0]] = collect(whole, get_task(task), shown, rows)
    figures = {}
    for cell, result in results.items():
        measures = measure(result)
        figures[cell] = float(measures["accuracy"] if "accuracy" in measures else measures["sMAPE"])
    differing, missing = [], []
    for split, printed in entry["measured"].items():
        n = len(data.items.get(MEASURED[split], ()))
        if results and n not in (0, printed):
            differing.append(f"{n} {split} items ({printed} in print)")
    measured_columns = {column for _, column in results}
    for split in dict.fromkeys(task[0] for task in entry["tasks"].values()):
        lacking = [
            c
            for c, task in entry["tasks"].items()
            if task[0] == split and c not in measured_columns
        ]
        if MEASURED[split] not in data.items:
            missing.append(f"{split}: no {MEASURED[split]}")
        elif lacking:
            missing.append(f"{split}: no answers for {'; '.join(lacking)}")
    warnings = ((f"{r.model}, {r.task.name}", r.warnings) for r in results.values())
    table = compare_with_print(
        name,
        {**entry, "columns": dict.fromkeys(entry["columns"], 2)},
        _with_differences(entry, figures),
        *differing,
        notes=[*left_out, *merged_notes(warnings)],
    )
    return table, missing


def _with_differences(
    entry: Mapping[str, Any], measured: Mapping[tuple[str, str], float]
) -> dict[tuple[str, str], float]:
    """Add the mean over the models of each column that all have, then the differences."""
    figures = dict(measured)
    for column in entry["tasks"]:
        values = [
            figures[model, column] for model in entry["averaged"] if (model, column) in figures
        ]
        if len(values) == len(entry["averaged"]):
            figures[entry["average"], column] = float(np.mean(values))
    for column, (minuend, subtrahend) in entry.get("differences", {}).items():
        for model in {model for model, _ in figures}:
            if (model, minuend) in figures and (model, subtrahend) in figures:
                figures[model, column] = figures[model, minuend] - figures[model, subtrahend]
    return figures


def read_all_answers(folders: Sequence[PathLike]) -> dict[Key, Rows]:
    """Read answers in folders, ours and the authors'.

    Parameters
    ----------
    folders : sequence of path-like

    Returns
    -------
    dict of tuple to list of mapping
        By split, model, task, and whether there was back-off.

    Raises
    ------
    InputError
        If a file is malformed.
    """
    answers: dict[Key, Rows] = {}
    for folder in map(Path, folders):
        for split, rows in [*_own(folder), *_of_authors(folder)]:
            for (model, task), group in group_rows(rows).items():
                cooled = {row.get("temperature") is not None for row in group if is_done(row)}
                for row in group:
                    # a question that failed has no temperature: it is of the run of its file
                    backoff = (
                        row.get("temperature") is not None if is_done(row) else cooled == {True}
                    )
                    answers.setdefault((split, model, task, backoff), []).append(dict(row))
    return answers


def _own(folder: Path) -> Iterator[tuple[str, Rows]]:
    """Yield the split and the rows of each file."""
    for split in SPLITS.values():
        for path in sorted((folder / split).rglob("*.jsonl")):
            yield split, read_answers(path)
        for path in sorted((folder / split).glob("*/*.json")):
            if path.parent.name in TASKS:
                yield split, read_answers(path, task=path.parent.name)


def _of_authors(folder: Path) -> Iterator[tuple[str, Rows]]:
    for path in sorted(folder.rglob("*_results.json")):
        if path.parent.name in FOLDERS and (match := _NAME.fullmatch(path.name)):
            rows = read_answers(path, task=FOLDERS[path.parent.name])
            model = MODELS.get(match[1], match[1])
            yield SPLITS[match[2]], [{**row, "model": model} for row in rows]
