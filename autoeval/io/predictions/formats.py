"""The formats of predictions files, each read in a stream of columns: JSON, JSON lines, Parquet.

`read_columns`, called by `autoeval.io.predictions.reading`, recognises a file by what it begins
with, or by the name of JSON lines, and returns its `Content`: entries as `RawColumns`, before
anything is checked. Pieces of JSON are parsed by Arrow where all of their entries are regular.
Where one is not (a string in the place of a number, an integer in the place of a float, a syntax
error), Python's `json` reads the piece, which is slower and names what is wrong.
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
import pyarrow.parquet

from autoeval.boxes import DetectorRun, LabelledImage
from autoeval.errors import InputError
from autoeval.io.coco import box_of_segmentation
from autoeval.io.image_lists import coco_categories, coco_images, refuse_archive
from autoeval.io.predictions.detector_run import LONGEST_NOTE, read_note
from autoeval.io.predictions.pipeline_results import document_of_pipeline, is_of_pipeline_by_name
from autoeval.runtime.files import GZIP, MALFORMED, read_json
from autoeval.words import Notice, listed, printable

WORDS = ("category", "category_name", "label", "name")
"""Columns that may hold the word of a category; the first that a file uses counts."""
SIDES = ("x", "y", "w", "h")  # columns that may stand for ``bbox``
CORNERS = ("x1", "y1", "x2", "y2")  # the same, in tables alone
COLUMNS = {
    "image_id": ("image_id",),
    "file_name": ("file_name", "filename", "image_path"),
    "category_id": ("category_id", "class_id"),
    "category": (*WORDS, "class_name"),
    "score": ("score", "confidence", "conf"),
}
"""Fields, each with the columns of a table that may hold it, the first of which counts: those of
COCO results, and as supervision, YOLOv5, torchvision and tables of labels call them."""
BOX_COLUMNS = (
    (SIDES, SIDES),
    (("bbox",), ("bbox",)),
    (CORNERS, CORNERS),
    (CORNERS, ("xmin", "ymin", "xmax", "ymax")),
    (CORNERS, ("x_min", "y_min", "x_max", "y_max")),
)
"""The same of the fields of a box, those of which all columns are there."""
CLASS = "class"
"""A column of numbers or of words of categories, by its type."""
LINES = (".jsonl", ".ndjson")
LONGEST_LINE = 1 << 20
TABLES = (".csv", ".tsv", ".xlsx")
PICKLES = (".pkl", ".pickle")
CHECKPOINTS = (".pth", ".pt")
PARQUET = b"PAR1"
ZIP = b"PK"
SUFFIXES = (".json", ".jsonl", ".ndjson", ".parquet", ".json.gz", ".jsonl.gz", ".ndjson.gz")
"""Ends of the names of predictions files that are found in a folder, one file a site."""
READ = (
    "COCO results (.json), JSON lines (.jsonl), both also compressed by gzip, Parquet (.parquet), "
    "or a folder of YOLO text files"
)
ENCODINGS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
PIECE = 8 << 20  # bytes of JSON that are parsed at once
LONGEST_ENTRY = 64 << 20
LOOKED_AT = 100  # entries that decide which columns a file has
ROWS_AT_ONCE = 100_000  # of decoded JSON
PARQUET_ROWS_AT_ONCE = 1 << 19
OUTLINE = b'"segmentation"'
SPACE = re.compile(r"[ \t\n\r]*")
# `pa.array`, `pa.scalar`, `to_numpy` and numbers of Python as arguments of Arrow import pandas,
# which takes longer than to read most files.
NAN = pa.Array.from_buffers(pa.float64(), 1, [None, pa.py_buffer(np.array([np.nan]))])[0]
NO_CODE = pa.Array.from_buffers(pa.int64(), 1, [None, pa.py_buffer(np.array([-1]))])[0]
BETWEEN_OBJECTS = re.compile(rb"\}[ \t\n\r]*,(?=[ \t\n\r]*\{)")


class Coded(NamedTuple):
    """A column of N values that repeat.

    Parameters
    ----------
    codes : ndarray of shape (N,), int64
        Indices into `values`, -1 for none.
    values : list
        Each once.
    """

    codes: np.ndarray
    values: list[Any]

    @classmethod
    def of(cls, column: Iterable[Any]) -> Coded:
        """Code words and numbers; what is neither has no code.

        Parameters
        ----------
        column : iterable of length N
            Of decoded values.
        """
        index: dict[Any, int] = {}
        codes = [
            index.setdefault(value, len(index))
            if isinstance(value, str | int) or (isinstance(value, float) and not math.isnan(value))
            else -1
            for value in column
        ]
        # half a character, as "\\ud800" is, cannot be written
        values = [printable(value) if isinstance(value, str) else value for value in index]
        return cls(np.array(codes, np.int64), values)


@dataclass(frozen=True, eq=False)
class RawColumns:
    """N consecutive entries of a file, before anything is checked.

    Parameters
    ----------
    image_id, file_name, category_id, word : Coded
        Names of image and category, as far as the entries have them.
    xywh : ndarray of shape (N, 4), float64
        Left, top, width, height; NaN where there is no number.
    scores : ndarray of shape (N,), float64
        NaN where there is no number.
    """

    image_id: Coded
    file_name: Coded
    category_id: Coded
    word: Coded
    xywh: np.ndarray
    scores: np.ndarray


class Content(NamedTuple):
    """What a predictions file holds.

    Parameters
    ----------
    columns : iterator of RawColumns
        Entries, some at a time.
    images : sequence of LabelledImage, optional
        The file's own list, where it has one.
    numbers : mapping of str to str
        Its own words for numbers of categories.
    warnings : tuple of Notice
        What of its images was left out, and of boxes that were read before why they may be misread.
    run : DetectorRun, optional
        Which detector was run, where `autoeval detect` wrote the file.
    positions : bool
        Whether category numbers are positions in a list of categories, counted from 0.
    """

    columns: Iterator[RawColumns]
    images: Sequence[LabelledImage] | None = None
    numbers: Mapping[str, str] = MappingProxyType({})
    warnings: tuple[Notice, ...] = ()
    run: DetectorRun | None = None
    positions: bool = False


def read_columns(path: Path) -> Content:
    """Open a predictions file of any format.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    Content
        Whose entries are read when they are asked for.

    Raises
    ------
    InputError
        If the file is missing, a pipe, or of no format that is read; the message says how to write
        one.
    """
    if path.is_fifo():  # what one look at it takes, the next one lacks
        raise InputError(
            f"{printable(path)} is a pipe. Expected a predictions file, which is read more than "
            "once: write the boxes into a file, and name that."
        )
    try:
        with path.open("rb") as file:
            magic = file.read(4)
        zipped = magic.startswith(GZIP)
        with gzip.open(path, "rb") if zipped else path.open("rb") as stream:
            start = stream.read(LONGEST_LINE)
    except FileNotFoundError:
        raise InputError(f"No predictions file {printable(path)}: check the path.") from None
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"Cannot read the predictions file {printable(path)}: {reason}."
        ) from error
    if magic == PARQUET:
        noted = read_note(path)
        if noted is None:
            return Content(_read_parquet(path))
        run, images = noted
        numbers = {str(number): word for number, word in enumerate(run.categories)}
        return Content(_read_parquet(path), images, numbers, run=run)
    line = start.removeprefix(codecs.BOM_UTF8).lstrip(b" \t\r\n").partition(b"\n")[0]
    first = line[:1]
    stem = path.stem if zipped and path.suffix == ".gz" else path.name
    in_lines = stem.endswith(LINES)
    is_text = 0 not in start[:4] and not magic.startswith(ZIP)
    if not is_text or not (in_lines or first in (b"[", b"{")):
        raise _not_read(path, start)
    if first == b"{" and not in_lines:
        with suppress(ValueError, RecursionError):
            in_lines = bool({"bbox", SIDES[0]} & set(json.loads(line)))
    if in_lines:
        return Content(_read_lines(path, zipped=zipped))
    if first == b"[":
        return Content(_read_list(path, zipped=zipped))
    return content_of_document(read_json(path, "predictions file"), path)


def _not_read(path: Path, start: bytes) -> InputError:
    """Make the refusal of a file that is of no format that is read, with what to do about it.

    Parameters
    ----------
    path : Path
        The file.
    start : bytes
        What it begins with, without gzip.
    """
    name = printable(path)
    if path.suffix in CHECKPOINTS:
        return InputError(
            f"{name} is a dump for PyTorch. Expected COCO results: Detectron2's COCOEvaluator "
            "writes them beside instances_predictions.pth, as coco_instances_results.json."
        )
    refuse_archive(path)
    if path.suffix in PICKLES:
        return InputError(
            f"{name} is a Python dump, as MMDetection's `tools/test.py --out` writes it. Expected "
            "COCO results: leave --out away, and add `--cfg-options "
            f"test_evaluator.outfile_prefix={path.stem}`, which writes {path.stem}.bbox.json. In "
            "Python the list that pickle loads from it is read, too."
        )
    encoding = next((ENCODINGS[mark] for mark in ENCODINGS if start.startswith(mark)), None)
    if encoding or 0 in start[:4]:
        return InputError(
            f"{name} is encoded as {encoding or 'UTF-16'}. Expected UTF-8: write it again with "
            "encoding='utf-8'."
        )
    if path.suffix == ".txt":
        return InputError(
            f"{name} is one text file. Predictions as text are a folder with one file an "
            "image: name the folder. Results of the VOC devkit (comp4_det_test_CLASS.txt), one "
            "file a class, are converted to COCO results first: a list of objects with "
            "file_name, category, bbox [left, top, width, height] and score."
        )
    table = ""
    if path.suffix.lower() in TABLES:
        table = (
            f" Of a table write Parquet: pandas.read_csv('{path.name}').to_parquet('{path.stem}."
            "parquet'), with sep=';', decimal=',' where it has these."
        )
    return InputError(
        f"{name} is not a COCO results file: expected a list of boxes, each with image_id or "
        f"file_name, category_id or category, bbox and score. Predictions are read as {READ}."
        f"{table}"
    )


def content_of_document(document: Any, path: Path) -> Content:
    """Take the content of a COCO document with boxes as its annotations.

    Parameters
    ----------
    document : mapping
        With ``annotations``, and maybe ``images`` and ``categories``; or the results of a pipeline
        of transformers by the file names of the images.
    path : Path
        Where it is from, for messages.

    Raises
    ------
    InputError
        If it has no such list.
    """
    if is_of_pipeline_by_name(document):
        document = document_of_pipeline(document)
    if not isinstance(document, Mapping) or not isinstance(document.get("annotations"), list):
        keys = f", and it has {listed([*document], 5)}" if isinstance(document, Mapping) else ""
        raise InputError(
            f"{path} is not a COCO results file: expected a list of boxes, or an object with such "
            f"a list as 'annotations'{keys}."
        )
    warnings = list[Notice]()
    numbers = coco_categories(path, document, warnings)
    images = coco_images(path, document, warnings) if document.get("images") else None
    return Content(columns_of_list(document["annotations"]), images, numbers, tuple(warnings))


# Decoded JSON.


def columns_of_list(rows: list[Any]) -> Iterator[RawColumns]:
    """Yield the columns of a list of rows that was decoded whole, `ROWS_AT_ONCE` at a time.

    Parameters
    ----------
    rows : list
        With the fields of COCO results.
    """
    word = _form_of(rows[:LOOKED_AT]).word
    for start in range(0, len(rows), ROWS_AT_ONCE):
        yield _columns_of_objects(rows[start : start + ROWS_AT_ONCE], word)


def _columns_of_objects(rows: Sequence[Any], word: str) -> RawColumns:
    """Take the columns out of decoded entries; what is no object has no value.

    Parameters
    ----------
    rows : sequence
        Entries.
    word : str
        The field that holds the word of a category.
    """
    objects: list[dict] = [row if isinstance(row, dict) else {} for row in rows]
    return RawColumns(
        image_id=Coded.of(row.get("image_id") for row in objects),
        file_name=Coded.of(row.get("file_name") for row in objects),
        category_id=Coded.of(row.get("category_id") for row in objects),
        word=Coded.of(row.get(word) for row in objects),
        xywh=_numbers([_bbox(row) for row in objects], _box, 4),
        scores=_numbers([row.get("score") for row in objects], _number),
    )


def _bbox(row: dict[str, Any]) -> Any:
    """Return the box of an entry: a list, in fields of its own, or around its segmentation."""
    bbox = row.get("bbox")
    if isinstance(bbox, float):  # NaN, as pandas has it for none
        bbox = None
    if bbox is None and SIDES[0] in row:
        return [row.get(side) for side in SIDES]
    if not bbox and row.get("segmentation"):
        try:
            return box_of_segmentation(row["segmentation"])
        except MALFORMED:
            return None
    return bbox


def _numbers(values: list[Any], parse: Callable[[Any], Any], width: int = 1) -> np.ndarray:
    """Turn a column into floats, NaN for what is none; one by one only where something is odd.

    values: N values, or lists of `width` values
    parse: from one of them to what counts in its place, where something is odd
    width: 1 for a column of single numbers
    """
    shape = (len(values), width) if width > 1 else (len(values),)
    try:
        column = np.array(values, np.float64)
    except (TypeError, ValueError):
        column = np.zeros(0)
    if column.shape != shape:
        column = np.array([parse(value) for value in values], np.float64)
    return column.reshape(shape)


def _number(value: Any) -> float:
    """Return a value as a number, NaN for what is none."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def _box(value: Any) -> list[float]:
    """Return four numbers of a box, NaN for what is none."""
    if isinstance(value, list | tuple) and len(value) == 4:
        return [_number(number) for number in value]
    return [float("nan")] * 4


# Streams of JSON: a list, or an object a line.


def _blocks(path: Path, *, zipped: bool) -> Iterator[bytes]:
    """Yield the bytes of a file in pieces, the last of which is empty."""
    try:
        with gzip.open(path, "rb") if zipped else path.open("rb") as stream:
            data = stream.read(PIECE).removeprefix(codecs.BOM_UTF8)
            while data:
                yield data
                data = stream.read(PIECE)
    except (OSError, EOFError) as error:
        name = printable(path)
        raise InputError(f"Cannot read the predictions file {name}: {error}.") from error
    yield b""


class _Form(NamedTuple):
    """What regular entries of JSON have.

    Parameters
    ----------
    fields : Schema
        Fields and their types.
    word : str
        Which of them holds the word of a category.
    """

    fields: pa.Schema
    word: str


def _form_of(rows: Sequence[Any]) -> _Form:
    """Return the form of regular entries, by some of them."""
    objects = [row for row in rows if isinstance(row, dict)]
    words = (word for word in WORDS if any(row.get(word) is not None for row in objects))
    word = next(words, WORDS[0])
    fields: list[tuple[str, pa.DataType]] = []
    for name in ("image_id", "file_name", "category_id", word):
        value = next((row[name] for row in objects if row.get(name) is not None), "")
        fields.append((name, pa.string() if isinstance(value, str) else pa.int64()))
    in_sides = any({*SIDES} <= row.keys() for row in objects)
    if in_sides and not any("bbox" in row for row in objects):
        fields += [(side, pa.float64()) for side in SIDES]
    else:
        fields.append(("bbox", pa.list_(pa.float64())))
    return _Form(pa.schema([*fields, ("score", pa.float64())]), word)


def _parse(piece: bytes, form: _Form, *, in_lines: bool) -> RawColumns | None:
    """Parse entries, one a line or with commas between them; None if some is not regular.

    Parameters
    ----------
    piece : bytes
        Whole entries, without the brackets of their list.
    form : _Form
        What regular entries have.
    in_lines : bool
        Whether they are one a line.
    """
    text, schema = piece, form.fields
    if not in_lines:
        text = b'{"all":[%b]}' % piece
        schema = pa.schema([("all", pa.list_(pa.struct(list(form.fields))))])
    try:
        text.isascii() or codecs.utf_8_decode(text, "strict", True)
        table = pyarrow.json.read_json(
            io.BytesIO(text),
            pyarrow.json.ReadOptions(use_threads=False, block_size=len(text) + 1),
            pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        )
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return None
    if in_lines:
        entries = table.to_struct_array().combine_chunks()
    else:
        entries = table["all"].combine_chunks().values
    names = ["category" if name == form.word else name for name in form.fields.names]
    columns = dict(zip(names, entries.flatten(), strict=True))
    raw = _columns_of_arrow(columns)
    if OUTLINE in piece and np.isnan(raw.xywh).all(axis=1).any():
        return None  # boxes around polygons and masks are found one by one
    return raw


def _read_list(path: Path, *, zipped: bool) -> Iterator[RawColumns]:
    """Read the entries of a JSON list in pieces that probably end where an entry does.

    A wrong guess is no danger: a part of an entry is no JSON.
    """
    form, rest, done = None, b"", 0
    for data in _blocks(path, zipped=zipped):
        buffer = rest + data
        if form is None:
            buffer = buffer.lstrip(b" \t\r\n")[1:]  # the opening bracket
            first = islice(_whole_entries(buffer.decode(errors="replace")), LOOKED_AT)
            form = _form_of([row for row, _ in first])
        end = after = 0  # of the piece, and where the next one begins
        if data:
            ends: list[re.Match[bytes]] = []
            start, width = len(buffer), 1 << 12
            while start and not ends:
                start = max(len(buffer) - width, 0)
                ends = list(BETWEEN_OBJECTS.finditer(buffer, start))
                width *= 8
            if ends:
                end, after = ends[-1].start() + 1, ends[-1].end()
        else:
            whole = buffer.rstrip()
            end, after = len(whole) - 1 if whole.endswith(b"]") else 0, len(buffer)
        piece = buffer[:end]
        columns = _parse(piece, form, in_lines=False) if piece.strip() else None
        if columns is None:
            rows, after = _decode(path, buffer, done, at_end=not data)
            columns = _columns_of_objects(rows, form.word)
        if len(columns.scores):
            yield columns
        rest, done = buffer[after:], done + after
        if len(rest) > LONGEST_ENTRY:
            _decode(path, rest, done, at_end=True)  # says what is wrong


def _whole_entries(text: str) -> Iterator[tuple[Any, int]]:
    """Yield the entries of a list, as far as they are whole, with the place of the comma behind."""
    decoder, position = json.JSONDecoder(), 0
    while True:
        try:
            row, end = decoder.raw_decode(text, SPACE.match(text, position).end())  # type: ignore[union-attr]
        except (ValueError, RecursionError):
            return
        position = SPACE.match(text, end).end()  # type: ignore[union-attr]
        yield row, position
        position += 1


def _decode(path: Path, buffer: bytes, done: int, *, at_end: bool) -> tuple[list[Any], int]:
    """Decode the whole entries of a list, and return where the next one begins.

    The last entry is left for the end of the file, where it is known that nothing follows.

    Parameters
    ----------
    path : Path
        Of the file, for messages.
    buffer : bytes
        What follows the entries that were read, without the opening bracket.
    done : int
        Bytes that were read before.
    at_end : bool
        Whether the file ends with the buffer.

    Raises
    ------
    InputError
        If it is no JSON.
    """
    before = "[0," if done else "["  # the number stands for the entries before
    try:
        text, _ = codecs.utf_8_decode(buffer, "strict", at_end)
        if at_end:
            return json.loads(before + text)[bool(done) :], len(buffer)
    except json.JSONDecodeError as error:
        position = error.pos - len(before)
        place = done + len(text[:position].encode())
        reason = f"{error.msg} after {place} bytes, near {text[position : position + 20]!r}"
        raise InputError(f"{printable(path)} is not a JSON file ({reason}).") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{printable(path)} is not a JSON file ({error}).") from error
    rows, after = [], 0
    for row, end in _whole_entries(text):
        if text[end : end + 1] != ",":
            break
        rows.append(row)
        after = end + 1
    return rows, len(text[:after].encode())


def _read_lines(path: Path, *, zipped: bool) -> Iterator[RawColumns]:
    """Read entries, an object a line."""
    form, n_lines, rest = None, 0, b""
    for data in _blocks(path, zipped=zipped):
        end = data.rfind(b"\n") + 1
        if data and not end:
            rest += data
            continue
        piece, rest = rest + data[:end], data[end:]  # ends where a line does
        if piece.strip():
            form = form or _form_of(_decode_lines(path, piece, 0, LOOKED_AT))
            columns = _parse(piece, form, in_lines=True)
            if columns is None:
                columns = _columns_of_objects(_decode_lines(path, piece, n_lines), form.word)
            yield columns
        n_lines += piece.count(b"\n")


def _decode_lines(path: Path, piece: bytes, n_before: int, most: int | None = None) -> list[Any]:
    """Decode entries one a line, at most so many lines; `n_before` lines were read before.

    Raises
    ------
    InputError
        If a line is no JSON.
    """
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


# Arrow: Parquet, tables in memory, and regular JSON.


def _columns_of_arrow(columns: Mapping[str, pa.Array]) -> RawColumns:
    """Take the columns out of those of Arrow, each by the name of its field in `COLUMNS`.

    Whole floats, as pandas writes numbers with gaps, count as integers. Corners become sides.
    """
    n = len(columns["score"])
    nothing = Coded(np.full(n, -1), [])
    coded = dict.fromkeys(("image_id", "file_name", "category_id", "category"), nothing)
    for name in coded.keys() & columns.keys():
        column = columns[name]
        if pa.types.is_dictionary(column.type) and column.dictionary.null_count:
            column = column.dictionary_decode()
        if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
            column = column.cast(pa.string())  # of writers that do not say that it is text
        if pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_nan(column), None, column)
            with suppress(pa.ArrowInvalid):  # numbers with decimals name no image that is known
                column = column.cast(pa.int64())
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        coded[name] = Coded(_values(column.indices, NO_CODE), column.dictionary.to_pylist())
    if "bbox" in columns:
        lists = columns["bbox"]
        four = _values(pc.list_value_length(lists), NO_CODE) == 4
        if four.all():
            xywh = _values(pc.list_flatten(lists), NAN).reshape(-1, 4)
        else:
            xywh = np.full((n, 4), np.nan)
            xywh[four] = _values(pc.list_flatten(lists.filter(pa.array(four))), NAN).reshape(-1, 4)
    else:
        sides = SIDES if SIDES[0] in columns else CORNERS
        xywh = np.stack([_values(columns[side], NAN) for side in sides], axis=1)
        if sides == CORNERS:
            xywh[:, 2:] -= xywh[:, :2]
    scores = _values(columns["score"], NAN)
    return RawColumns(
        image_id=coded["image_id"],
        file_name=coded["file_name"],
        category_id=coded["category_id"],
        word=coded["category"],
        xywh=xywh,
        scores=scores,
    )


def _values(column: pa.Array, missing: pa.Scalar) -> np.ndarray:
    """Return a column as an array of the type of the value that stands for what is missing."""
    return np.from_dlpack(pc.coalesce(column.cast(missing.type), missing))


def _read_parquet(path: Path) -> Iterator[RawColumns]:
    """Read the rows of a file, some at a time; for its columns see `known_columns`.

    Raises
    ------
    InputError
        If a column is missing or of another type.
    """
    try:
        with pyarrow.parquet.ParquetFile(path, thrift_string_size_limit=LONGEST_NOTE) as file:
            schema = file.schema_arrow
        names = [*_needed(path, schema).values()]
        text = [name for name in names if pa.types.is_string(schema.field(name).type)]
        with pyarrow.parquet.ParquetFile(
            path, read_dictionary=text, thrift_string_size_limit=LONGEST_NOTE
        ) as file:
            for batch in file.iter_batches(PARQUET_ROWS_AT_ONCE, columns=names):
                yield columns_of_batch(path, batch)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"Cannot read the predictions file {printable(path)}: {error}.") from error


def columns_of_batch(name: Path, batch: pa.RecordBatch) -> RawColumns:
    """Take the columns of rows of Parquet or a table in memory.

    Parameters
    ----------
    name : Path
        Of the file or the object, for messages.
    batch : RecordBatch
        The rows.

    Raises
    ------
    InputError
        If a column is missing or of another type.
    """
    return _columns_of_arrow(
        {field: batch[column] for field, column in _needed(name, batch.schema).items()}
    )


def known_columns(schema: pa.Schema) -> dict[str, str]:
    """Return the column of a table for each field of `COLUMNS` and of a box that it has.

    Parameters
    ----------
    schema : Schema
        Of the table.

    Examples
    --------
    >>> known_columns(pa.schema([(name, pa.int64()) for name in ("image_id", "class", "conf")]))
    {'image_id': 'image_id', 'score': 'conf', 'category_id': 'class'}
    """
    columns: dict[str, str] = {}
    for field, names in COLUMNS.items():
        for name in names:
            if name in schema.names:
                columns.setdefault(field, name)
    if CLASS in schema.names:
        kind = schema.field(CLASS).type
        is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        columns.setdefault("category_id" if is_number else "category", CLASS)
    for fields, names in BOX_COLUMNS:
        if {*names} <= {*schema.names}:
            return columns | dict(zip(fields, names, strict=True))
    return columns


def _needed(path: Path, schema: pa.Schema) -> dict[str, str]:
    """Return the columns to read by field, or raise `InputError` where some is not there."""
    columns = known_columns(schema)
    needed = {
        "image_id or file_name": ("image_id", "file_name"),
        "category_id or category": ("category_id", "category"),
        "x, y, w and h, or bbox, or x1, y1, x2 and y2": (SIDES[0], "bbox", CORNERS[0]),
        "score": ("score",),
    }
    lost = [requirement for requirement, fields in needed.items() if not {*fields} & columns.keys()]
    if lost:
        raise InputError(
            f"{printable(path)} has no column {'; no column '.join(lost)}. It has: "
            f"{listed(schema.names, 20)}. Expected one row a box, with left, top, width and height "
            "(or the corners) in pixels."
        )
    for field, column in columns.items():
        if schema.names.count(column) > 1:
            raise InputError(
                f"{printable(path)} has several columns that are called {column}: expected one. "
                "Leave the others out, or rename them."
            )
        kind = schema.field(column).type
        if field in ("image_id", "file_name", "category_id", "category"):
            if pa.types.is_nested(kind):
                raise InputError(
                    f"{printable(path)}: column {column} is of type {kind}, expected numbers or "
                    "texts."
                )
            continue
        if field == "bbox":
            is_list = (
                pa.types.is_list(kind)
                or pa.types.is_large_list(kind)
                or pa.types.is_fixed_size_list(kind)
            )
            kind = kind.value_type if is_list else pa.null()
        is_number = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
        if not any(is_kind(kind) for is_kind in is_number):
            expected = "lists of four numbers" if field == "bbox" else "numbers"
            raise InputError(
                f"{printable(path)}: column {column} is of type {schema.field(column).type}, "
                f"expected {expected}."
            )
    return columns
