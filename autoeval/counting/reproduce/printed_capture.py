"""Tables 2 to 7 of CAPTURe from files of answers."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.counting.capture.capture_measures import measure
from autoeval.counting.capture.results import TaskResult, collect, read_answers
from autoeval.counting.capture.split import CaptureSplit
from autoeval.counting.capture.tasks import TASKS, get_task
from autoeval.counting.filed_page import merged_notes
from autoeval.counting.reproduce.capture_data import MEASURED, CaptureData
from autoeval.counting.reproduce.printed_grid import beside, not_as_printed, printed_name
from autoeval.report.printed_beside import Beside

BACKOFF = "back-off"
PathLike = str | os.PathLike[str]
Rows = list[dict[str, Any]]
Key = tuple[str, str, str, bool]
"""Split, model, task, and whether the answers were asked for with a back-off."""
# Names in the authors' scripts and in print.
MODELS = {"gpt": "GPT-4o", "intern": "InternVL2", "molmo": "Molmo", "qwen2": "Qwen2VL"}
FOLDERS = {"occ_results": "total-occluded", "unocc_results": "total-original"}
SPLITS = {"real": "real", "syn": "synthetic"}
_NAME = re.compile(rf"(.+)_({'|'.join(SPLITS)})_results\.json")


def model_table(
    name: str, entry: Mapping[str, Any], data: CaptureData, answers: Mapping[Key, Rows]
) -> tuple[Beside, list[str]]:
    """Measure the answers that a table of models is made of, their differences and their mean.

    Parameters
    ----------
    name : str
    entry : mapping
        The table in ``configs/papers/capture.py``.
    data : CaptureData
    answers : mapping
        As `read_all_answers` returns them.
    """
    results: dict[tuple[str, str], TaskResult] = {}
    for (split, model, task, backoff), rows in answers.items():
        items = data.items.get(MEASURED[split])
        wanted = [split, task, *[BACKOFF] * backoff]
        columns = [column for column, each in entry["tasks"].items() if list(each) == wanted]
        if items and columns:
            shown = printed_name(model, entry["rows"])
            whole = CaptureSplit(Path(), tuple(items))
            results[shown, columns[0]] = collect(whole, get_task(task), shown, rows)
    own = {cell: _main(result) for cell, result in results.items()}
    problems = ((f"{r.model}, {r.task.name}", r.problems) for r in results.values())
    table = beside(
        name,
        {**entry, "columns": dict.fromkeys(entry["columns"], 2)},
        _with_differences(entry, own),
        marks=_marks(entry["measured"], data, bool(results)),
        notes=merged_notes(problems),
    )
    return table, _missing(entry, data, {column for _, column in results})


def _main(result: TaskResult) -> float:
    measured = measure(result)
    return float(measured["accuracy"] if "accuracy" in measured else measured["sMAPE"])


def _with_differences(
    entry: Mapping[str, Any], measured: Mapping[tuple[str, str], float]
) -> dict[tuple[str, str], float]:
    """Add the mean over the models of each column that all have, then the differences."""
    own = dict(measured)
    for column in entry["tasks"]:
        values = [own[model, column] for model in entry["averaged"] if (model, column) in own]
        if len(values) == len(entry["averaged"]):
            own[entry["average"], column] = float(np.mean(values))
    for column, (minuend, subtrahend) in entry.get("differences", {}).items():
        for model in {model for model, _ in own}:
            if (model, minuend) in own and (model, subtrahend) in own:
                own[model, column] = own[model, minuend] - own[model, subtrahend]
    return own


def _missing(entry: Mapping[str, Any], data: CaptureData, there: set[str]) -> list[str]:
    missing = []
    for split in dict.fromkeys(task[0] for task in entry["tasks"].values()):
        lacking = [c for c, task in entry["tasks"].items() if task[0] == split and c not in there]
        if MEASURED[split] not in data.items:
            missing.append(f"{split}: no {MEASURED[split]}")
        elif lacking:
            missing.append(f"{split}: no answers for {'; '.join(lacking)}")
    return missing


def _marks(printed: Mapping[str, int], data: CaptureData, answered: bool) -> str:
    """Compare the numbers of items, where there are answers."""
    counts: Sequence[tuple[str, int]] = [
        (split, len(data.items[MEASURED[split]]))
        for split in printed
        if answered and MEASURED[split] in data.items
    ]
    return not_as_printed(
        *(
            f"{n} {split} items ({printed[split]} in print)"
            for split, n in counts
            if n != printed[split]
        )
    )


def read_all_answers(folders: Sequence[PathLike]) -> dict[Key, Rows]:
    """Read the answers in folders, sorted by split, model, task and back-off.

    Raises
    ------
    InputError
        If a file does not hold answers.
    """
    found: dict[Key, Rows] = {}
    for folder in map(Path, folders):
        for split in SPLITS.values():
            for row in _own(folder / split):
                found.setdefault(_key(split, row), []).append(row)
        for split, row in _of_authors(folder):
            found.setdefault(_key(split, row), []).append(row)
    return found


def _key(split: str, row: Mapping[str, Any]) -> Key:
    return split, str(row.get("model", "model")), row["task"], row.get("temperature") is not None


def _own(folder: Path) -> Rows:
    rows = [row for path in sorted(folder.rglob("*.jsonl")) for row in read_answers(path)]
    for path in sorted(folder.glob("*/*.json")):
        if path.parent.name in TASKS:
            rows += read_answers(path, task=path.parent.name)
    return rows


def _of_authors(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    return [
        (SPLITS[match[2]], {**row, "model": MODELS.get(match[1], match[1])})
        for path in sorted(folder.rglob("*_results.json"))
        if path.parent.name in FOLDERS and (match := _NAME.fullmatch(path.name))
        for row in read_answers(path, task=FOLDERS[path.parent.name])
    ]
