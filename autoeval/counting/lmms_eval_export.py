"""PrACo's negative-label test and CAPTURe as lmms-eval tasks: YAML, Parquet and ``utils.py``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from autoeval.counting.capture.split import INPAINTED, CaptureSplit
from autoeval.counting.capture.task_run import (
    CHOICE,
    FOUND,
    HIDDEN,
    PATTERN_CHOICES,
    CaptureTask,
    PromptBook,
)
from autoeval.counting.praco.data import CountingSet
from autoeval.errors import InputError
from autoeval.runtime.files import PathLike, atomic_path, write_text

INTEGER = ("int64", pa.int64())
TRUTH = ("bool", pa.bool_())
# Fields of rows that are no text, as the ``datasets`` library and Arrow call their types.
TYPES = {"count": INTEGER, "ground_truth": INTEGER, "num_occluded": INTEGER, "own": TRUTH}
_UTILS = '''"""Needs this package: pip install --no-deps autoeval is enough."""

from autoeval.counting.lmms_eval_tasks import *  # noqa: F403
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
    aggregation: {aggregation}
    higher_is_better: {better}
"""
_CAPTURE_METRICS = {"smape": ("mean", False), "exact": ("mean", True), "skipped": ("mean", False)}
QUESTION = "How many {} are there in the image? Answer with a number; 0 if there are none."
_PRACO_METRICS = {
    "nmn": ("!function utils.aggregate_nmn", False),
    "pccn": ("!function utils.aggregate_pccn", True),
    "pccn_released": ("!function utils.aggregate_pccn_released", True),
    "mae": ("!function utils.aggregate_mae", False),
    "rmse": ("!function utils.aggregate_rmse", False),
    "skipped": ("mean", False),
}


def write_task(
    folder: Path,
    name: str,
    rows: Sequence[Mapping[str, Any]],
    *,
    process: str,
    metrics: Mapping[str, tuple[str, bool]],
    max_tokens: int,
) -> None:
    """Write ``NAME.parquet``, ``NAME.yaml`` and ``utils.py``.

    Parameters
    ----------
    folder : Path
    name : str
        Of the task.
    rows : sequence of mapping
        One a question; at least one, all with the same columns.
    process : str
        Function of ``utils.py`` that scores an answer.
    metrics : mapping of str to tuple of str and bool
        How lmms-eval aggregates each, and whether a larger value is better.
    max_tokens : int
        Longest answer.
    """
    data = folder / f"{name}.parquet"
    # The metadata name the types of the columns for the ``datasets`` library.
    features: dict[str, dict[str, str]] = {}
    fields = []
    for column in rows[0]:
        dtype, arrow = TYPES.get(column, ("string", pa.string()))
        features[column] = {"dtype": dtype, "_type": "Value"}
        if column == "image":
            arrow = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
            features[column] = {"_type": "Image"}
        fields.append(pa.field(column, arrow))
    notes = {"huggingface": json.dumps({"info": {"features": features}})}
    table = pa.Table.from_pylist(list(rows), schema=pa.schema(fields, metadata=notes))
    with atomic_path(data) as temporary:
        pq.write_table(table, temporary)
    listed = [
        _METRIC.format(name=metric, aggregation=aggregation, better=str(better).lower())
        for metric, (aggregation, better) in metrics.items()
    ]
    text = _YAML.format(
        data=json.dumps(str(data)),
        task=name,
        max_tokens=max_tokens,
        process=process,
        metrics="".join(listed),
    )
    write_text(folder / f"{name}.yaml", text)
    write_text(folder / "utils.py", _UTILS)


def export_lmms_eval(
    split: CaptureSplit,
    tasks: Sequence[CaptureTask],
    book: PromptBook,
    folder: PathLike,
    *,
    max_tokens: int,
) -> list[str]:
    """Write lmms-eval tasks of CAPTURe, for ``lmms-eval --include_path FOLDER --tasks NAME``.

    Parameters
    ----------
    split : CaptureSplit
    tasks : sequence of CaptureTask
        Without inpainting or what another counter found, and with one answer a question.
    book : PromptBook
        Prompts.
    folder : path-like
    max_tokens : int
        Longest answer.

    Returns
    -------
    list of str
        Names of the tasks.

    Raises
    ------
    InputError
        If a task cannot be exported, or no item has what it needs.
    """
    folder = Path(folder).resolve()
    names = []
    for task in tasks:
        if task.variant == INPAINTED or task.samples > 1 or task.oracle_fact == FOUND:
            raise InputError(f"The task {task.name} cannot be exported.")
        choice = task.kind == CHOICE
        rows = [
            {
                "image": {
                    "bytes": split.image_path(item, task.variant).read_bytes(),
                    "path": item.image_file,
                },
                "image_file": item.image_file,
                "question": task.question(item, book),
                "target": str(task.truth(item)),
                "choices": ", ".join(PATTERN_CHOICES) if choice else "",
                "object": item.object_name,
                "shape": item.shape or "",
                "ground_truth": item.ground_truth,
                "num_occluded": item.num_occluded,
            }
            for item in task.items(split.items)
        ]
        if not rows:
            raise InputError(f"No item of {split.folder} has what the task {task.name} needs.")
        process = "process_hidden" if task.answer == HIDDEN else "process_count"
        name = f"capture_{split.items[0].split}_{task.name}".replace("-", "_")
        write_task(
            folder,
            name,
            rows,
            process="process_choice" if choice else process,
            metrics={
                n: aggregation
                for n, aggregation in _CAPTURE_METRICS.items()
                if not choice or n != "smape"
            },
            max_tokens=max_tokens,
        )
        names.append(name)
    return names


def export_praco(
    counting_set: CountingSet,
    folder: PathLike,
    *,
    question: str,
    max_tokens: int,
) -> str:
    """Write the task, for ``lmms-eval --include_path FOLDER --tasks NAME``.

    Every class is put to every measured image. Paths are absolute: export again after moving data
    or images.

    Parameters
    ----------
    counting_set : CountingSet
        Of one class an image.
    folder : path-like
    question : str
        With ``{}`` for the class.
    max_tokens : int
        Longest answer.

    Returns
    -------
    str
        Name of the task.

    Raises
    ------
    InputError
        If the question has no ``{}``.
    """
    if "{}" not in question:
        raise InputError(f"The question needs {{}} where the class goes, but got {question!r}.")
    folder = Path(folder).resolve()
    rows = [
        {
            "image_path": str(image.path.resolve()),
            "image_id": image.image_id,
            "class": name,
            "question": question.replace("{}", name),
            "target": str(image.count if name == image.category else 0),
            "own": name == image.category,
            "count": image.count,
        }
        for image in counting_set.kept
        for name in counting_set.classes
    ]
    name = "praco_" + "".join(c if c.isalnum() else "_" for c in counting_set.name)
    write_task(
        folder,
        name,
        rows,
        process="process_praco",
        metrics=_PRACO_METRICS,
        max_tokens=max_tokens,
    )
    return name
