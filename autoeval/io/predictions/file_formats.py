"""Which format a predictions file has, by what it begins with, or by the name of JSON lines."""

from __future__ import annotations

import codecs
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, NamedTuple

from autoeval.errors import InputError
from autoeval.io.coco import read_coco_images
from autoeval.io.image_folder import refuse_archive
from autoeval.io.json_file import read_json
from autoeval.io.labels.content import LabelledImage, normal_id
from autoeval.io.predictions.detector_run import DetectorRun, read_note
from autoeval.io.predictions.json_columns import columns_of_list, read_lines, read_list
from autoeval.io.predictions.raw_columns import SIDES, RawColumns, read_parquet
from autoeval.io.wording import printable

LINES, LONGEST_LINE = (".jsonl", ".ndjson"), 1 << 20
PICKLES, CHECKPOINTS = (".pkl", ".pickle"), (".pth", ".pt")
PARQUET, GZIP = b"PAR1", b"\x1f\x8b"
SPACE = b" \t\r\n"
READ = (
    "COCO results (.json), JSON lines (.jsonl), both also compressed by gzip, Parquet (.parquet), "
    "or a folder of YOLO text files"
)
ENCODINGS = {
    codecs.BOM_UTF8: "UTF-8 with a byte order mark",
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


class Content(NamedTuple):
    """What a predictions file holds.

    There are entries, some at a time, and where it has them its own list of images and words for
    numbers of categories, what of its images was left out, and which detector was run.
    """

    columns: Iterator[RawColumns]
    images: Sequence[LabelledImage] | None = None
    numbers: Mapping[str, str] = MappingProxyType({})
    warnings: tuple[str, ...] = ()
    run: DetectorRun | None = None


def read_columns(path: Path) -> Content:
    """Open a predictions file of any format, or raise `InputError` if it is missing or unknown."""
    name = printable(path)
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except FileNotFoundError:
        raise InputError(f"No predictions file {name}: check the path.") from None
    except OSError as error:
        raise InputError(f"Cannot read the predictions file {name}: {error.strerror}.") from error
    if path.suffix in CHECKPOINTS:
        raise InputError(
            f"{name} is a dump for PyTorch. Expected COCO results: Detectron2's COCOEvaluator "
            "writes them beside instances_predictions.pth, as coco_instances_results.json."
        )
    refuse_archive(path)
    if path.suffix in PICKLES:
        raise InputError(
            f"{name} is a Python dump, as MMDetection's `tools/test.py --out` writes it. Expected "
            "COCO results: leave --out away, and add `--cfg-options "
            f"test_evaluator.outfile_prefix={path.stem}`, which writes {path.stem}.bbox.json."
        )
    if start == PARQUET:
        return _parquet(path)
    zipped = start[:2] == GZIP
    _refuse_encoding(path, zipped=zipped)
    stem = path.stem if zipped and path.suffix == ".gz" else path.name
    if stem.endswith(LINES):
        return Content(_stream(path, zipped=zipped, lines=True))
    try:
        with _open(path, zipped=zipped) as stream:
            first = _first(stream)
            line = first + stream.readline(LONGEST_LINE) if first == b"{" else b""
    except (OSError, EOFError) as error:
        raise InputError(f"Cannot read the predictions file {name}: {error}.") from error
    try:
        lines = bool({"bbox", SIDES[0]} & set(json.loads(line)))
    except (TypeError, ValueError, RecursionError):
        lines = False
    if lines or first == b"[":
        return Content(_stream(path, zipped=zipped, lines=lines))
    if first != b"{":
        if path.suffix == ".txt":
            raise InputError(
                f"{name} is one text file. Predictions as text are a folder with one file an "
                "image: name the folder. Results of the VOC devkit (comp4_det_test_CLASS.txt), one "
                "file a class, are converted to COCO results first: a list of objects with "
                "file_name, category, bbox [left, top, width, height] and score."
            )
        raise InputError(
            f"{name} is not a COCO results file: expected a list of boxes, each with image_id or "
            f"file_name, category_id or category, bbox and score. Predictions are read as {READ}."
        )
    return _document(path)


def _parquet(path: Path) -> Content:
    """Open a Parquet file, with its list of images where `autoeval detect` wrote it."""
    noted = read_note(path)
    if noted is None:
        return Content(read_parquet(path))
    run, images = noted
    words = {str(k): word for k, word in enumerate(run.categories)}
    return Content(read_parquet(path), images, words, run=run)


def _refuse_encoding(path: Path, *, zipped: bool) -> None:
    """Name the encoding of a text that is not UTF-8, or begins with a byte order mark."""
    with _open(path, zipped=zipped) as stream:
        try:
            start = stream.read(4)
        except (OSError, EOFError):
            return  # which is said where it is read
    name = next((encoding for mark, encoding in ENCODINGS.items() if start.startswith(mark)), None)
    if name is None and 0 in start:
        name = "UTF-16"
    if name is not None:
        raise InputError(
            f"{printable(path)} is encoded as {name}. Expected UTF-8 without a byte order mark: "
            "write it again with encoding='utf-8'."
        )


def _open(path: Path, *, zipped: bool) -> IO[bytes]:
    if zipped:
        return gzip.open(path, "rb")  # type: ignore[return-value]
    return path.open("rb")


def _first(stream: IO[bytes]) -> bytes:
    """Read up to the first byte that is no space."""
    while (byte := stream.read(1)) and byte in SPACE:
        pass
    return byte


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
    return content_of_document(read_json(path, "predictions file"), path)


def content_of_document(document: Any, path: Path) -> Content:
    """Take the content of a COCO document with boxes as its annotations; `path` is for messages."""
    if not isinstance(document, Mapping) or not isinstance(document.get("annotations"), list):
        raise InputError(
            f"{path} is not a COCO results file: expected a list of boxes, or an object with such "
            "a list as 'annotations'."
        )
    try:
        numbers = {
            normal_id(str(c["id"]).strip()): str(c["name"])
            for c in document.get("categories") or []
        }
    except (TypeError, KeyError, AttributeError) as error:
        raise InputError(
            f"{path}: expected 'categories' as a list of objects with id and name ({error!r})."
        ) from error
    warnings = list[str]()
    images = read_coco_images(document, warnings, path=path) if document.get("images") else None
    return Content(columns_of_list(document["annotations"]), images, numbers, tuple(warnings))
