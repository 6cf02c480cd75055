"""Entries of a predictions file as columns, before anything is checked; Parquet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from autoeval.errors import InputError
from autoeval.io.json_file import MALFORMED
from autoeval.io.predictions.detector_run import LONGEST_NOTE
from autoeval.io.shapes import box_of_segmentation
from autoeval.io.wording import listed, printable

WORDS = ("category", "category_name", "label", "name")
"""Columns that may hold the word of a category; the first that a file uses counts."""
SIDES = ("x", "y", "w", "h")
"""Columns that may stand for ``bbox``."""

ROWS = 1 << 19
STRINGS = ("image_id", "file_name", *WORDS)


class Coded(NamedTuple):
    """A column of N values that repeat: `codes` (N,) int64 index into `values`, -1 for none."""

    codes: np.ndarray
    values: list[Any]


@dataclass(frozen=True, eq=False)
class RawColumns:
    """N consecutive entries of a file.

    `xywh` (N, 4) float64 is left, top, width, height; it and `scores` (N,) are NaN where there is
    no number.
    """

    image_id: Coded
    file_name: Coded
    category_id: Coded
    word: Coded
    xywh: np.ndarray
    scores: np.ndarray

    def __len__(self) -> int:
        return len(self.scores)


def used_word(rows: Sequence[Any]) -> str:
    """Return the name of the column with the words of categories, judging by some entries."""
    used = (w for w in WORDS if any(isinstance(e, dict) and e.get(w) is not None for e in rows))
    return next(used, WORDS[0])


def columns_of_objects(rows: Sequence[Any], word: str) -> RawColumns:
    """Take the columns out of decoded JSON; what is no object has no value."""
    objects: list[dict] = [row if isinstance(row, dict) else {} for row in rows]
    names = ("image_id", "file_name", "category_id", word)
    image_id, file_name, category_id, named = (
        _code([row.get(name) for row in objects]) for name in names
    )
    xywh = _numbers([_bbox(row) for row in objects], _box, 4)
    scores = _numbers([row.get("score") for row in objects], _number)
    return RawColumns(image_id, file_name, category_id, named, xywh, scores)


def _bbox(row: dict[str, Any]) -> Any:
    """Return the box of an entry: a list, in fields of its own, or around its segmentation."""
    bbox = row.get("bbox")
    if bbox is None and SIDES[0] in row:
        return [row.get(side) for side in SIDES]
    if not bbox and row.get("segmentation"):
        try:
            return box_of_segmentation(row["segmentation"])
        except MALFORMED:
            return None
    return bbox


def code_array(column: pa.Array) -> Coded:
    """Code an Arrow column; whole floats, as pandas writes numbers with gaps, count as integers."""
    if pa.types.is_dictionary(column.type) and column.dictionary.null_count:
        column = column.dictionary_decode()
    if pa.types.is_floating(column.type):
        column = _whole(column)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    codes = column.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return Coded(codes, column.dictionary.to_pylist())


def float_array(column: pa.Array) -> np.ndarray:
    """Return an Arrow column as float64, NaN for what is missing."""
    return column.cast(pa.float64()).to_numpy(zero_copy_only=False)


def box_array(column: pa.Array) -> np.ndarray:
    """Return an Arrow column of lists as (N, 4) float64, NaN for lists that are not of four."""
    boxes = np.full((len(column), 4), np.nan)
    four = pc.equal(pc.list_value_length(column), 4).fill_null(False)
    flat = float_array(pc.list_flatten(column.filter(four)))
    boxes[four.to_numpy(zero_copy_only=False)] = flat.reshape(-1, 4)
    return boxes


def _whole(column: pa.Array) -> pa.Array:
    column = pc.if_else(pc.is_nan(column), None, column)
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column


def _code(values: list[Any]) -> Coded:
    index: dict[Any, int] = {}
    codes = [
        index.setdefault(value, len(index)) if isinstance(value, str | int | float) else -1
        for value in values
    ]
    return Coded(np.array(codes, np.int64), list(index))


def _numbers(values: list[Any], parse: Callable[[Any], Any], width: int = 1) -> np.ndarray:
    """Turn a column into floats, NaN for what is none; one by one only where something is odd."""
    shape = (len(values), width) if width > 1 else (len(values),)
    try:
        column = np.array(values, np.float64)
    except (TypeError, ValueError):
        column = np.zeros(0)
    if column.shape != shape:
        column = np.array([parse(value) for value in values], np.float64)
    return column.reshape(shape)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def _box(value: Any) -> list[float]:
    if isinstance(value, list) and len(value) == 4:
        return [_number(number) for number in value]
    return [float("nan")] * 4


def read_parquet(path: Path) -> Iterator[RawColumns]:
    """Read the rows of a file, some at a time.

    Columns are as the fields of COCO results; ``x``, ``y``, ``w``, ``h`` may stand for ``bbox``.
    """
    try:
        with pyarrow.parquet.ParquetFile(path, thrift_string_size_limit=LONGEST_NOTE) as file:
            schema = file.schema_arrow
        names = _needed(path, schema)
        text = [n for n in names if n in STRINGS and pa.types.is_string(schema.field(n).type)]
        with pyarrow.parquet.ParquetFile(
            path, read_dictionary=text, thrift_string_size_limit=LONGEST_NOTE
        ) as file:
            for batch in file.iter_batches(ROWS, columns=names):
                yield _columns(batch)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"Cannot read the predictions file {printable(path)}: {error}.") from error


def columns_of_batch(name: Path, batch: pa.RecordBatch) -> RawColumns:
    """Take the columns of a table in memory, as those of a Parquet file; `name` is for messages."""
    return _columns(batch.select(_needed(name, batch.schema)))


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
    of_lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(is_one(kind) for is_one in of_lists)


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
