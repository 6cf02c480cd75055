"""The files of a task for lmms-eval: a YAML file beside a Parquet file, and ``utils.py``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from autoeval.runtime.files import atomic_path, write_text

FEATURES: dict[type, tuple[str, Any]] = {
    str: ("string", pa.string()),
    int: ("int64", pa.int64()),
    bool: ("bool", pa.bool_()),
}
_UTILS = '''"""Needs this package: pip install --no-deps autoeval is enough."""

from {module} import (  # noqa: F401
    {names},
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
    aggregation: {aggregation}
    higher_is_better: {better}
"""


def write_task(
    folder: Path,
    name: str,
    rows: Sequence[Mapping[str, Any]],
    columns: Mapping[str, type],
    *,
    process: str,
    metrics: Mapping[str, tuple[str, bool]],
    max_tokens: int,
) -> None:
    """Write ``NAME.parquet`` and ``NAME.yaml``.

    Parameters
    ----------
    folder : Path
        The YAML file names the Parquet file by its path in this folder.
    name : str
        Of the task.
    rows : sequence of mapping
        One for each question; ``image``, where they have it, holds ``bytes`` and ``path``.
    columns : mapping of str to type
        The other fields: str, int or bool.
    process : str
        Function of ``utils.py`` that scores an answer.
    metrics : mapping of str to (str, bool)
        How lmms-eval aggregates each metric, and whether a larger value is better.
    max_tokens : int
        Most tokens of an answer.
    """
    data = folder / f"{name}.parquet"
    _write_parquet(data, rows, columns)
    listed = [
        _METRIC.format(name=metric, aggregation=how, better=str(better).lower())
        for metric, (how, better) in metrics.items()
    ]
    text = _YAML.format(
        data=json.dumps(str(data)),
        task=name,
        max_tokens=max_tokens,
        process=process,
        metrics="".join(listed),
    )
    write_text(folder / f"{name}.yaml", text)


def write_utils(folder: Path, module: str, names: Sequence[str]) -> None:
    """Write ``utils.py``, which takes the functions of a task from a module of this package."""
    write_text(folder / "utils.py", _UTILS.format(module=module, names=",\n    ".join(names)))


def _write_parquet(
    path: Path, rows: Sequence[Mapping[str, Any]], columns: Mapping[str, type]
) -> None:
    """Write a table whose metadata tell the ``datasets`` library what its columns are."""
    features: dict[str, dict[str, str]] = {}
    fields = []
    if "image" in rows[0]:
        features["image"] = {"_type": "Image"}
        fields.append(pa.field("image", pa.struct([("bytes", pa.binary()), ("path", pa.string())])))
    for name, kind in columns.items():
        dtype, arrow = FEATURES[kind]
        features[name] = {"dtype": dtype, "_type": "Value"}
        fields.append(pa.field(name, arrow))
    notes = {"huggingface": json.dumps({"info": {"features": features}})}
    table = pa.Table.from_pylist(list(rows), schema=pa.schema(fields, metadata=notes))
    with atomic_path(path) as temporary:
        pq.write_table(table, temporary)
