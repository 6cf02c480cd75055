"""The tables of CAPTURe from its metadata and the answers of models."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.counting.capture.capture_measures import measure
from autoeval.counting.capture.records import CaptureItem, read_items
from autoeval.counting.capture.results import TaskResult, collect, group_rows, read_answers
from autoeval.counting.capture.split import CaptureSplit
from autoeval.counting.capture.tasks import TASKS, get_task
from autoeval.counting.filed_page import merged_notes
from autoeval.counting.reproduce.printed_grid import beside, not_as_printed, printed_name
from autoeval.data.wording import listed
from autoeval.report.printed_beside import Beside

PathLike = str | os.PathLike[str]
REAL, SYNTHETIC = "real", "synthetic"
# The items that are measured, and those set aside for validation, which are part of the statistics.
MEASURED = {REAL: "real_metadata.json", SYNTHETIC: "synthetic_metadata.json"}
ASIDE = {REAL: "real_validation_metadata.json", SYNTHETIC: "synthetic_validation_metadata.json"}

_UNRELEASED = ASIDE[SYNTHETIC]


def read_metadata(folder: PathLike | None) -> tuple[dict[str, list[CaptureItem]], list[str]]:
    """Read the metadata files of a folder, by their names, and say which are missing."""
    names = [*MEASURED.values(), *ASIDE.values()]
    paths = {} if folder is None else {name: Path(folder) / name for name in names}
    there = {name: read_items(path) for name, path in paths.items() if path.is_file()}
    missing = [f"{name} is not there" for name in names if name not in {*there, _UNRELEASED}]
    return there, missing


def statistics_table(
    name: str, entry: Mapping[str, Any], items: Mapping[str, Sequence[CaptureItem]]
) -> Beside:
    """Count images, kinds of object, and objects, over measured and validation items (Table 1).

    Parameters
    ----------
    name : str
    entry : mapping
        The table in ``configs/papers/capture.py``.
    items : mapping of str to sequence of CaptureItem
        As `read_metadata` returns them.
    """
    own: dict[tuple[str, str], float] = {}
    counts, notes = [], []
    for column, split in enumerate((REAL, SYNTHETIC)):
        found = [item for files in (MEASURED, ASIDE) for item in items.get(files[split], ())]
        printed = int(entry["rows"]["images"][column])
        if found:
            values = _statistics(split, found)
            rows = zip(entry["rows"], values, strict=True)
            own |= {(row, split): value for row, value in rows}
            notes += _without_occluded(split, found)
        if len(found) != printed:
            counts.append(f"{len(found)} of {printed} {split} images")
    marks = not_as_printed(*counts)
    return beside(name, entry, own, row="statistic", marks=marks, notes=notes)


def model_table(
    name: str,
    entry: Mapping[str, Any],
    items: Mapping[str, Sequence[CaptureItem]],
    answers: Sequence[PathLike],
) -> tuple[Beside, list[str]]:
    """Measure the answers that a table of models is made of.

    Parameters
    ----------
    name : str
    entry : mapping
    items : mapping of str to sequence of CaptureItem
    answers : sequence of path-like
        Folders with ``real`` or ``synthetic``; within these ``.jsonl`` files as ``autoeval count
        capture run`` writes them, at any depth, or ``TASK/MODEL.json`` as the authors' scripts do.

    Returns
    -------
    table : Beside
    missing : list of str
    """
    tasks: Mapping[str, Sequence[str]] = entry["tasks"]
    entry = {**entry, "columns": dict.fromkeys(tasks, 2)}
    results: dict[tuple[str, str], TaskResult] = {}
    missing: list[str] = []
    for split in dict.fromkeys(split for split, _ in tasks.values()):
        found = items.get(MEASURED[split])
        rows = [row for folder in answers for row in _rows(Path(folder) / split)]
        if not found or not rows:
            missing.append(_lacking(split, bool(found), bool(rows)))
            continue
        whole = CaptureSplit(Path(), tuple(found))
        for (model, task), group in group_rows(rows).items():
            columns = [c for c, (s, t) in tasks.items() if (s, t) == (split, task)]
            shown = printed_name(model, entry["rows"])
            results |= {(shown, c): collect(whole, get_task(task), shown, group) for c in columns}
    own = {cell: _main(result) for cell, result in results.items()}
    problems = ((f"{r.model}, {r.task.name}", r.problems) for r in results.values())
    table = beside(
        name,
        entry,
        own,
        marks=_marks(entry["measured"], items, results),
        notes=merged_notes(problems),
    )
    return table, missing


def _statistics(split: str, items: Sequence[CaptureItem]) -> tuple[float, ...]:
    occluded = [item.num_occluded for item in items if item.num_occluded is not None]
    key = "dot_shape" if split == SYNTHETIC else "object"
    kinds = {item.record.get(key) for item in items}
    totals = [item.ground_truth for item in items]
    hidden = float(np.mean(occluded)) if occluded else np.nan
    return float(len(items)), float(len(kinds)), hidden, float(np.mean(totals))


def _without_occluded(split: str, items: Sequence[CaptureItem]) -> list[str]:
    names = [item.image_file for item in items if item.num_occluded is None]
    if not names:
        return []
    return [
        f"{split}: images without points, which the mean of occluded objects leaves out: "
        f"{len(names)} ({listed(names)})"
    ]


def _lacking(split: str, items: bool, answers: bool) -> str:
    parts = [*([] if items else [MEASURED[split]]), *([] if answers else [f"answers in {split}/"])]
    return f"{split}: no {' and no '.join(parts)}"


def _rows(folder: Path) -> list[dict[str, Any]]:
    rows = [row for path in sorted(folder.rglob("*.jsonl")) for row in read_answers(path)]
    for path in sorted(folder.glob("*/*.json")):
        if path.parent.name in TASKS:
            rows += read_answers(path, task=path.parent.name)
    return rows


def _main(result: TaskResult) -> float:
    measured = measure(result)
    return float(measured["accuracy"] if "accuracy" in measured else measured["sMAPE"])


def _marks(
    printed: Mapping[str, int],
    items: Mapping[str, Sequence[CaptureItem]],
    results: Mapping[tuple[str, str], TaskResult],
) -> str:
    """Compare the numbers of items, where there are answers."""
    splits = [split for split in printed if items.get(MEASURED[split])] if results else []
    counts = {split: len(items[MEASURED[split]]) for split in splits}
    return not_as_printed(
        *(
            f"{n} {split} items ({printed[split]} in print)"
            for split, n in counts.items()
            if n != printed[split]
        )
    )
