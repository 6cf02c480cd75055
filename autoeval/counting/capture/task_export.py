"""Tasks for lmms-eval: a YAML file, a Parquet file with images and questions, and ``utils.py``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from autoeval.counting.capture.split import INPAINTED, CaptureSplit
from autoeval.counting.capture.tasks import CHOICE, PATTERN_CHOICES, CaptureTask, PromptBook
from autoeval.counting.lmms_eval.task_files import write_task, write_utils
from autoeval.errors import InputError

_TEXTS = ("image_file", "question", "target", "choices", "object", "shape")
_NUMBERS = ("ground_truth", "num_occluded")
_COLUMNS = {**dict.fromkeys(_TEXTS, str), **dict.fromkeys(_NUMBERS, int)}
_METRICS = {"smape": ("mean", False), "exact": ("mean", True), "skipped": ("mean", False)}
_MODULE = "autoeval.counting.capture.lmms_eval_task"
_FUNCTIONS = ("doc_to_text", "doc_to_visual", "process_choice", "process_count")


def export_lmms_eval(
    split: CaptureSplit,
    tasks: Sequence[CaptureTask],
    book: PromptBook,
    folder: str | os.PathLike[str],
    *,
    max_tokens: int = 4096,
) -> list[str]:
    """Write lmms-eval tasks, for ``lmms-eval --include_path FOLDER --tasks NAME``.

    Raises
    ------
    InputError
        If a task cannot be exported, or no item has it.
    """
    folder = Path(folder).resolve()
    names = []
    for task in tasks:
        if task.variant == INPAINTED or task.samples > 1:
            raise InputError(f"The task {task.name} cannot be exported.")
        rows = [_row(split, task, book, item) for item in task.items(split.items)]
        if not rows:
            raise InputError(f"No item of {split.folder} has what the task {task.name} needs.")
        name = f"capture_{split.items[0].split}_{task.name}".replace("-", "_")
        choice = task.kind == CHOICE
        write_task(
            folder,
            name,
            rows,
            _COLUMNS,
            process="process_choice" if choice else "process_count",
            metrics={n: how for n, how in _METRICS.items() if not choice or n != "smape"},
            max_tokens=max_tokens,
        )
        names.append(name)
    write_utils(folder, _MODULE, _FUNCTIONS)
    return names


def _row(split: CaptureSplit, task: CaptureTask, book: PromptBook, item: Any) -> dict[str, Any]:
    return {
        "image": {
            "bytes": split.image_path(item, task.variant).read_bytes(),
            "path": item.image_file,
        },
        "image_file": item.image_file,
        "question": task.question(item, book),
        "target": str(task.truth(item)),
        "choices": ", ".join(PATTERN_CHOICES) if task.kind == CHOICE else "",
        "object": item.object_name,
        "shape": item.shape or "",
        "ground_truth": item.ground_truth,
        "num_occluded": item.num_occluded,
    }
