"""Predictions in JSON, a list or an object a line, read in a stream of pieces.

A piece is parsed by Arrow where all of its entries are regular. Where one is not (a string in the
place of a number, an integer in the place of a float, a syntax error), Python's `json` reads the
piece, which is slower and names what is wrong.
"""

from __future__ import annotations

import codecs
import io
import json
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.json

from autoeval.errors import InputError
from autoeval.io.predictions.raw_columns import (
    SIDES,
    RawColumns,
    box_array,
    code_array,
    columns_of_objects,
    float_array,
    used_word,
)
from autoeval.io.wording import printable

PIECE = 8 << 20
LONGEST_ENTRY = 64 << 20
LOOKED_AT = 100
AT_ONCE = 100_000
OUTLINE = b'"segmentation"'
SPACE = re.compile(r"[ \t\n\r]*")
BETWEEN_OBJECTS = re.compile(rb"\}[ \t\n\r]*,(?=[ \t\n\r]*\{)")


class _Fields:
    """Which columns of a file are read and of what type, by its first entries."""

    def __init__(self, rows: list[Any]) -> None:
        rows = rows[:LOOKED_AT]
        self.word = used_word(rows)
        names = ("image_id", "file_name", "category_id", self.word)
        types = {name: _type(rows, name) for name in names}
        self.boxes: tuple[str, ...] = ("bbox",)
        if not any(isinstance(row, dict) and "bbox" in row for row in rows):
            self.boxes = SIDES if _has_sides(rows) else self.boxes
        kind = pa.float64() if self.boxes == SIDES else pa.list_(pa.float64())
        types |= dict.fromkeys(self.boxes, kind) | {"score": pa.float64()}
        self.struct = pa.struct(list(types.items()))

    def parse_list(self, piece: bytes) -> RawColumns | None:
        """Parse entries with commas between them; None where they are not regular."""
        schema = pa.schema([("all", pa.list_(self.struct))])
        table = _parse(b'{"all":[%b]}' % piece, schema)
        return None if table is None else self._columns(table["all"].combine_chunks().values, piece)

    def parse_lines(self, piece: bytes) -> RawColumns | None:
        """Parse an object a line; None where they are not regular."""
        table = _parse(piece, pa.schema(list(self.struct)))
        if table is None:
            return None
        return self._columns(table.to_struct_array().combine_chunks(), piece)

    def _columns(self, entries: pa.StructArray, piece: bytes) -> RawColumns | None:
        *columns, scores = entries.flatten()
        if columns[-1].null_count and OUTLINE in piece:
            return None  # boxes around polygons and masks are found one by one
        coded, boxes = columns[: -len(self.boxes)], columns[-len(self.boxes) :]
        image_id, file_name, category_id, word = map(code_array, coded)
        if self.boxes == SIDES:
            xywh = np.stack([float_array(side) for side in boxes], axis=1)
        else:
            xywh = box_array(boxes[0])
        numbers = float_array(scores)
        return RawColumns(image_id, file_name, category_id, word, xywh, numbers)


def _has_sides(rows: list[Any]) -> bool:
    return any(isinstance(row, dict) and {*SIDES} <= row.keys() for row in rows)


def read_list(path: Path, stream: IO[bytes]) -> Iterator[RawColumns]:
    """Read the entries of a JSON list after its opening bracket, or raise `InputError`."""
    fields, rest, done = None, b"", 0
    while True:
        data = stream.read(PIECE)
        buffer = rest + data
        if fields is None:
            first = islice(_entries(buffer.decode(errors="replace")), LOOKED_AT)
            fields = _Fields([row for row, _ in first])
        end, after = _cut(buffer, at_end=not data)
        piece = buffer[:end]
        columns = fields.parse_list(piece) if piece.strip() else None
        if columns is None:
            rows, after = _decode(path, buffer, done, at_end=not data)
            columns = columns_of_objects(rows, fields.word)
        if len(columns):
            yield columns
        if not data:
            return
        rest, done = buffer[after:], done + after
        if len(rest) > LONGEST_ENTRY:
            _decode(path, rest, done, at_end=True)  # says what is wrong


def read_lines(path: Path, stream: IO[bytes]) -> Iterator[RawColumns]:
    """Read entries, an object a line; `InputError` if a line is no JSON."""
    fields, n_lines = None, 0
    for piece in _whole_lines(stream):
        if piece.strip():
            fields = fields or _Fields(_lines(path, piece, 0, LOOKED_AT))
            columns = fields.parse_lines(piece)
            if columns is None:
                columns = columns_of_objects(_lines(path, piece, n_lines), fields.word)
            yield columns
        n_lines += piece.count(b"\n")


def _whole_lines(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield pieces that end where a line does."""
    rest = b""
    while data := stream.read(PIECE):
        end = data.rfind(b"\n") + 1
        if end:
            yield rest + data[:end]
        rest = data[end:] if end else rest + data
    yield rest


def columns_of_list(rows: list[Any]) -> Iterator[RawColumns]:
    """Take the columns out of a list that was decoded whole."""
    word = used_word(rows[:LOOKED_AT])
    for start in range(0, len(rows), AT_ONCE):
        yield columns_of_objects(rows[start : start + AT_ONCE], word)


def _type(rows: list[Any], name: str) -> pa.DataType:
    values = (row.get(name) for row in rows if isinstance(row, dict))
    value = next((value for value in values if value is not None), "")
    return pa.string() if isinstance(value, str) else pa.int64()


def _parse(text: bytes, schema: pa.Schema) -> pa.Table | None:
    try:
        text.isascii() or codecs.utf_8_decode(text, "strict", True)
        return pyarrow.json.read_json(
            io.BytesIO(text),
            pyarrow.json.ReadOptions(use_threads=False, block_size=len(text) + 1),
            pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        )
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return None


def _cut(buffer: bytes, *, at_end: bool) -> tuple[int, int]:
    """Return where the last whole entry probably ends, and where the next one begins.

    A wrong guess is no danger: a part of an entry is no JSON.
    """
    if at_end:
        whole = buffer.rstrip()
        return (len(whole) - 1 if whole.endswith(b"]") else 0), len(buffer)
    width = 1 << 12
    while True:
        start = max(len(buffer) - width, 0)
        ends = list(BETWEEN_OBJECTS.finditer(buffer, start))
        if ends:
            return ends[-1].start() + 1, ends[-1].end()
        if not start:
            return 0, 0
        width *= 8


def _entries(text: str) -> Iterator[tuple[Any, int]]:
    """Yield the entries of a list, as far as they are whole, with the place of the comma behind."""
    decoder, position = json.JSONDecoder(), 0
    while True:
        try:
            row, end = decoder.raw_decode(text, _skip(text, position))
        except (ValueError, RecursionError):
            return
        position = _skip(text, end)
        yield row, position
        position += 1


def _decode(path: Path, buffer: bytes, done: int, *, at_end: bool) -> tuple[list[Any], int]:
    """Decode the whole entries of a list, and return where the next one begins.

    The last entry is left for the end of the file, where it is known that nothing follows.
    """
    before = "[0," if done else "["  # the number stands for the entries before
    try:
        text, _ = codecs.utf_8_decode(buffer, "strict", at_end)
        if at_end:
            return json.loads(before + text)[bool(done) :], len(buffer)
    except json.JSONDecodeError as error:
        position = error.pos - len(before)
        place = done + len(text[:position].encode())
        what = f"{error.msg} after {place} bytes, near {text[position : position + 20]!r}"
        raise InputError(f"{printable(path)} is not a JSON file ({what}).") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{printable(path)} is not a JSON file ({error}).") from error
    rows, after = [], 0
    for row, end in _entries(text):
        if text[end : end + 1] != ",":
            break
        rows.append(row)
        after = end + 1
    return rows, len(text[:after].encode())


def _skip(text: str, position: int) -> int:
    space = SPACE.match(text, position)
    return space.end() if space else position


def _lines(path: Path, piece: bytes, n_before: int, most: int | None = None) -> list[Any]:
    rows = []
    for number, line in enumerate(piece.split(b"\n", -1 if most is None else most)[:most]):
        if line.strip():
            try:
                rows.append(json.loads(line))
            except (ValueError, RecursionError) as error:
                raise InputError(
                    f"{printable(path)}, line {n_before + number + 1}, is no JSON ({error}). "
                    "Expected one object a line."
                ) from error
    return rows
