"""Tasks for lmms-eval: a YAML file, a Parquet file with images and questions, and ``utils.py``."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from autoeval.counting.capture.prompts import PromptBook
from autoeval.counting.capture.split import INPAINTED, CaptureSplit
from autoeval.counting.capture.tasks import CHOICE, PATTERN_CHOICES, CaptureTask
from autoeval.errors import InputError
from autoeval.runtime.files import atomic_path, write_text

_TEXTS = ("image_file", "question", "target", "choices", "object", "shape")
_NUMBERS = ("ground_truth", "num_occluded")
_UTILS = '''"""Needs this package: pip install --no-deps autoeval is enough."""

from autoeval.counting.capture.lmms_eval_task import (  # noqa: F401
    doc_to_text,
    doc_to_visual,
    process_choice,
    process_count,
)
'''
_YAML = """dataset_path: parquet
dataset_kwargs:
  data_files:
    test: {data}
task: {task}
test_split: test
output_type: generate_until
doc_to_visual: !function utils.doc_to_visual
doc_to_text: !function utils.doc_to_text
doc_to_target: target
generation_kwargs:
  max_new_tokens: {max_tokens}
  temperature: 0
  do_sample: false
process_results: !function utils.{process}
metric_list:
{metrics}metadata:
  - version: 1.0
"""
_METRIC = """  - metric: {name}
    aggregation: mean
    higher_is_better: {better}
"""


def export_lmms_eval(
    split: CaptureSplit,
    tasks: Sequence[CaptureTask],
    book: PromptBook,
    folder: str | os.PathLike[str],
    *,
    max_tokens: int = 4096,
) -> list[str]:
    """Write lmms-eval tasks, for ``lmms-eval --include_path FOLDER --tasks NAME``.

    Parameters
    ----------
    split : CaptureSplit
    tasks : sequence of CaptureTask
        Inpainted and sampled ones cannot be exported.
    book : PromptBook
        Questions are written out with its model's prompts.
    folder : path-like
        The YAML files name it by its absolute path: export again after moving it.
    max_tokens : int
        Most tokens of an answer.

    Returns
    -------
    list of str
        Names of the tasks.

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
        data = folder / f"{name}.parquet"
        _write_parquet(data, rows)
        write_text(folder / f"{name}.yaml", _yaml(name, data, task, max_tokens))
        names.append(name)
    write_text(folder / "utils.py", _UTILS)
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


def _write_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write a table whose metadata tell the ``datasets`` library that ``image`` is a picture."""
    features: dict[str, dict[str, str]] = {"image": {"_type": "Image"}}
    features |= {name: {"dtype": "string", "_type": "Value"} for name in _TEXTS}
    features |= {name: {"dtype": "int64", "_type": "Value"} for name in _NUMBERS}
    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    columns = [pa.field("image", image), *(pa.field(name, pa.string()) for name in _TEXTS)]
    columns += [pa.field(name, pa.int64()) for name in _NUMBERS]
    notes = {"huggingface": json.dumps({"info": {"features": features}})}
    table = pa.Table.from_pylist(rows, schema=pa.schema(columns, metadata=notes))
    with atomic_path(path) as temporary:
        pq.write_table(table, temporary)


def _yaml(name: str, data: Path, task: CaptureTask, max_tokens: int) -> str:
    better = {"smape": "false", "exact": "true", "skipped": "false"}
    if task.kind == CHOICE:
        del better["smape"]
    return _YAML.format(
        data=json.dumps(str(data)),
        task=name,
        max_tokens=max_tokens,
        process="process_choice" if task.kind == CHOICE else "process_count",
        metrics="".join(_METRIC.format(name=key, better=value) for key, value in better.items()),
    )
