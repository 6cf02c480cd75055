"""Predictions in Parquet, one row a box."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from autoeval.data.predictions.raw_columns import (
    WORDS,
    Coded,
    RawColumns,
    box_array,
    code_array,
    float_array,
)
from autoeval.data.wording import listed, printable
from autoeval.errors import InputError

ROWS = 1 << 19
SIDES = ("x", "y", "w", "h")
STRINGS = ("image_id", "file_name", *WORDS)


def read_parquet(path: Path) -> Iterator[RawColumns]:
    """Read the rows of a file, some at a time.

    Parameters
    ----------
    path : Path
        Columns as the fields of COCO results; ``x``, ``y``, ``w``, ``h`` may stand for ``bbox``.

    Raises
    ------
    InputError
        If it is no Parquet file, a column is missing, or one that should hold numbers does not.
    """
    try:
        schema = pyarrow.parquet.read_schema(path)
        names = _needed(path, schema)
        text = [n for n in names if n in STRINGS and pa.types.is_string(schema.field(n).type)]
        with pyarrow.parquet.ParquetFile(path, read_dictionary=text) as file:
            for batch in file.iter_batches(ROWS, columns=names):
                yield _columns(batch)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"Cannot read the predictions file {printable(path)}: {error}.") from error


def _needed(path: Path, schema: pa.Schema) -> list[str]:
    """Return the names of the columns to read."""
    there = schema.names
    groups = {
        "image_id or file_name": [n for n in ("image_id", "file_name") if n in there],
        "category_id or category": [n for n in ("category_id", *WORDS) if n in there],
        "x, y, w and h, or bbox": [*SIDES] if {*SIDES} <= {*there} else ["bbox"],
        "score": ["score"],
    }
    lost = [what for what, names in groups.items() if not names or not {*names} <= {*there}]
    if lost:
        raise InputError(
            f"{printable(path)} has no column {'; no column '.join(lost)}. It has: "
            f"{listed(there, 20)}. Expected one row a box, with left, top, width and height in "
            "pixels."
        )
    numbers = [*groups["x, y, w and h, or bbox"], "score"]
    for name in numbers:
        kind = schema.field(name).type
        if name == "bbox":
            kind = kind.value_type if _is_list(kind) else pa.null()
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            expected = "lists of four numbers" if name == "bbox" else "numbers"
            raise InputError(
                f"{printable(path)}: column {name} is of type {schema.field(name).type}, expected "
                f"{expected}."
            )
    words = [name for name in WORDS if name in there][:1]
    named = [*groups["image_id or file_name"], *(n for n in ("category_id",) if n in there)]
    return [*named, *words, *numbers]


def _is_list(kind: pa.DataType) -> bool:
    return (
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def _columns(batch: pa.RecordBatch) -> RawColumns:
    names = batch.schema.names
    nothing = Coded(np.full(len(batch), -1), [])
    word = next((name for name in WORDS if name in names), None)
    image_id, file_name, category_id, named = (
        code_array(batch[name]) if name in names else nothing
        for name in ("image_id", "file_name", "category_id", word)
    )
    if "bbox" in names:
        xywh = box_array(batch["bbox"])
    else:
        xywh = np.stack([float_array(batch[name]) for name in SIDES], axis=1)
    scores = float_array(batch["score"])
    return RawColumns(image_id, file_name, category_id, named, xywh, scores)
