"""Which format a predictions file has, by what it begins with, or by the name of JSON lines."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import IO, NamedTuple

from autoeval.data.archives import refuse_archive
from autoeval.data.coco import read_coco_images
from autoeval.data.json_file import read_json
from autoeval.data.labels.content import LabelledImage
from autoeval.data.predictions.json_columns import columns_of_list, read_lines, read_list
from autoeval.data.predictions.parquet_columns import read_parquet
from autoeval.data.predictions.raw_columns import RawColumns
from autoeval.data.wording import printable
from autoeval.errors import InputError

LINES, LONGEST_LINE = (".jsonl", ".ndjson"), 1 << 20
PICKLES = (".pkl", ".pickle")
PARQUET, GZIP = b"PAR1", b"\x1f\x8b"
SPACE = b" \t\r\n"


class Content(NamedTuple):
    """What a predictions file holds.

    Parameters
    ----------
    columns : iterator of RawColumns
        Its entries, some at a time.
    images : sequence of LabelledImage or None
        Its own list of images.
    numbers : mapping of str to str
        Its own words for numbers of categories.
    problems : tuple of str
        What of its images was left out.
    """

    columns: Iterator[RawColumns]
    images: Sequence[LabelledImage] | None = None
    numbers: Mapping[str, str] = MappingProxyType({})
    problems: tuple[str, ...] = ()


def read_columns(path: Path) -> Content:
    """Open a predictions file of any format.

    Raises
    ------
    InputError
        If it is missing, cannot be opened or is of no known format.
    """
    name = printable(path)
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except FileNotFoundError:
        raise InputError(f"No predictions file {name}: check the path.") from None
    except OSError as error:
        raise InputError(f"Cannot read the predictions file {name}: {error.strerror}.") from error
    refuse_archive(path)
    if path.suffix in PICKLES:
        raise InputError(
            f"{name} is a Python dump, as MMDetection's `tools/test.py --out` writes it. Expected "
            "COCO results: leave --out away, and add `--cfg-options "
            f"test_evaluator.outfile_prefix={path.stem}`, which writes {path.stem}.bbox.json."
        )
    if start == PARQUET:
        return Content(read_parquet(path))
    zipped = start[:2] == GZIP
    stem = path.stem if zipped and path.suffix == ".gz" else path.name
    if stem.endswith(LINES):
        return Content(_stream(path, zipped=zipped, lines=True))
    try:
        with _open(path, zipped=zipped) as stream:
            first = _first(stream)
            lines = first == b"{" and _is_box(first + stream.readline(LONGEST_LINE))
    except (OSError, EOFError) as error:
        raise InputError(f"Cannot read the predictions file {name}: {error}.") from error
    if lines or first == b"[":
        return Content(_stream(path, zipped=zipped, lines=lines))
    return _document(path)


def _open(path: Path, *, zipped: bool) -> IO[bytes]:
    if zipped:
        return gzip.open(path, "rb")  # type: ignore[return-value]
    return path.open("rb")


def _first(stream: IO[bytes]) -> bytes:
    """Read up to the first byte that is no space."""
    while (byte := stream.read(1)) and byte in SPACE:
        pass
    return byte


def _is_box(line: bytes) -> bool:
    try:
        return "bbox" in json.loads(line)
    except (ValueError, RecursionError):
        return False


def _stream(path: Path, *, zipped: bool, lines: bool) -> Iterator[RawColumns]:
    try:
        with _open(path, zipped=zipped) as stream:
            if lines:
                yield from read_lines(path, stream)
            else:
                _first(stream)
                yield from read_list(path, stream)
    except (OSError, EOFError) as error:
        name = printable(path)
        raise InputError(f"Cannot read the predictions file {name}: {error}.") from error


def _document(path: Path) -> Content:
    """Read an object of the form of an annotation file, whole."""
    document = read_json(path, "predictions file")
    if not isinstance(document, dict) or not isinstance(document.get("annotations"), list):
        raise InputError(
            f"{path} is not a COCO results file: expected a list of boxes, or an object with such "
            "a list as 'annotations'."
        )
    try:
        numbers = {str(c["id"]): str(c["name"]) for c in document.get("categories") or []}
    except (TypeError, KeyError, AttributeError) as error:
        raise InputError(
            f"{path}: expected 'categories' as a list of objects with id and name ({error!r})."
        ) from error
    problems = list[str]()
    images = read_coco_images(path, problems) if document.get("images") else None
    return Content(columns_of_list(document["annotations"]), images, numbers, tuple(problems))
