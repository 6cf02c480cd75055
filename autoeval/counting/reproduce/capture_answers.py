"""Answers of models to CAPTURe's tasks, from this program's files and from those of the authors."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from autoeval.counting.capture.results import read_answers
from autoeval.counting.capture.tasks import TASKS

PathLike = str | os.PathLike[str]
Rows = list[dict[str, Any]]
Key = tuple[str, str, str, bool]
"""Split, model, task, and whether the answers were asked for with a back-off."""

# Names in the authors' scripts and in print.
MODELS = {"gpt": "GPT-4o", "intern": "InternVL2", "molmo": "Molmo", "qwen2": "Qwen2VL"}
FOLDERS = {"occ_results": "total-occluded", "unocc_results": "total-original"}
SPLITS = {"real": "real", "syn": "synthetic"}
_NAME = re.compile(rf"(.+)_({'|'.join(SPLITS)})_results\.json")


def read_all_answers(folders: Sequence[PathLike]) -> dict[Key, Rows]:
    """Read the answers in folders, sorted by split, model, task and back-off.

    Parameters
    ----------
    folders : sequence of path-like
        With ``real`` or ``synthetic``, and in these, at any depth, ``.jsonl`` files as ``autoeval
        count capture run`` writes them, or JSON lists ``TASK/MODEL.json``; or, at any depth, the
        files of the authors' scripts, such as ``occ_results/gpt_real_results.json`` and
        ``unocc_results/gpt_syn_results.json``.

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
