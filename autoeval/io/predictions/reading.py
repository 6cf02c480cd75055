"""Reading a predictions file of any detector: COCO results, JSON lines, Parquet, text files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import NamedTuple

import numpy as np

from autoeval.errors import InputError
from autoeval.io.image_folder import former_name, stored_name
from autoeval.io.labels.content import LabelledImage
from autoeval.io.predictions.box_columns import FoundBoxes
from autoeval.io.predictions.category_words import find_words, numbering_conflict
from autoeval.io.predictions.entries import NoBoxError, read_entries
from autoeval.io.predictions.file_formats import Content, read_columns, read_text_folder
from autoeval.io.predictions.prediction_checks import unusual_boxes, within_images
from autoeval.io.wording import listed
from autoeval.notices import Notice
from autoeval.runtime.files import PathLike

FEWEST_PLACED = 0.5
MISSING, AMBIGUOUS = -1, -2
PLAIN = re.compile(r"[^./\\][^/\\]*(/[^./\\][^/\\]*)*").fullmatch
"""Says of a path whether it is in the form that `PurePath` would give it; for many, faster."""

Key = Callable[[str], str]
SUFFIXES = (".json", ".jsonl", ".ndjson", ".parquet", ".json.gz", ".jsonl.gz", ".ndjson.gz")


class Named(NamedTuple):
    """An image as a predictions file names it."""

    image_id: str | None
    file_name: str | None

    @property
    def text(self) -> str:
        """A name for messages."""
        return str(self.file_name if self.image_id is None else self.image_id)


def place_images(
    named: Sequence[Named], listed_images: Sequence[LabelledImage], where: str
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Find each image of a predictions file among those that are known.

    The convention is one for the whole file: the one that places most of its images, the first of
    them being file names, image ids, and stems of file names, which Ultralytics writes as
    ``image_id`` (as a number where they are one). `where` is what lists the known images, for
    messages. Returns indices into `listed_images`, -1 for an image that is not there, and which
    those are. Raises `InputError` if the images could be several of those known, or if not half of
    them are among those known, nor half of those known among them (predictions of a whole folder,
    labels of a part).

    Examples
    --------
    >>> names = {"139": "street/000139.jpg", "7": "street/b.jpg"}
    >>> known = [LabelledImage(number, name, None) for number, name in names.items()]
    >>> place_images([Named("b", None), Named("139", None)], known, "val.json")[0]
    array([1, 0])
    """
    index = np.full(len(named), MISSING)
    shared = np.zeros(len(named), bool)
    for convention in CONVENTIONS:
        placed = _place(named, listed_images, convention)
        shared |= placed == AMBIGUOUS
        if np.count_nonzero(placed >= 0) > np.count_nonzero(index >= 0):
            index = placed
        if (index >= 0).all():
            break
    several = [named[k].text for k in np.flatnonzero(shared & (index < 0)).tolist()]
    lost = [named[k].text for k in np.flatnonzero(~shared & (index < 0)).tolist()]
    index = np.maximum(index, MISSING)
    if len(several) > FEWEST_PLACED * len(named):
        raise InputError(
            f"{len(several)} of {len(named)} images of the predictions could each be several of "
            f"{where} ({listed(several)}): file names repeat in its folders. Write the path of the "
            "image as 'file_name', or give the labels of one split or folder alone."
        )
    covered = len(np.unique(index[index >= 0])) >= FEWEST_PLACED * len(listed_images)
    if not covered and len(lost) + len(several) > FEWEST_PLACED * len(named):
        there = listed([f"{image.image_id} ({image.file_name})" for image in listed_images], 3)
        lost += several
        raise InputError(
            f"The predictions are of other images than {where}: {len(lost)} of their {len(named)} "
            f"images are not there ({listed(lost)}), neither by file name nor by id nor by the "
            f"stem of a file name. There are: {there}."
        )
    kinds = {
        f"images of the predictions that are not in {where}": lost,
        f"images of the predictions that could be several of {where}, left out": several,
    }
    return index, tuple(
        Notice("images-not-placed", f"{kind}: {len(names)} ({listed(names)})")
        for kind, names in kinds.items()
        if names
    )


def _path(name: str) -> str:
    return name if PLAIN(name) else PurePath(name).as_posix()


def _base(name: str) -> str:
    return name.rpartition("/")[2] if PLAIN(name) else PurePath(name).name


def _number(name: str) -> str:
    """Drop leading zeros, as a stem loses them that is written as a number."""
    return str(int(name)) if name.isdecimal() else name


class Convention(NamedTuple):
    """How predictions may name images: a field and its key there, and of the listed images."""

    name_found: str
    key_found: Key
    name_listed: str
    key_listed: Key


CONVENTIONS = (
    Convention("file_name", _path, "file_name", _path),
    Convention("file_name", _base, "file_name", _base),
    Convention("image_id", str, "image_id", str),
    Convention("image_id", _number, "file_name", lambda name: _number(PurePath(_base(name)).stem)),
    Convention("image_id", _base, "file_name", _base),
    Convention("file_name", stored_name, "file_name", former_name),
    Convention(
        "image_id", _number, "file_name", lambda name: _number(PurePath(former_name(name)).stem)
    ),
)


def _place(
    named: Sequence[Named],
    listed_images: Sequence[LabelledImage],
    convention: Convention,
) -> np.ndarray:
    """Place images by a key; one that several listed images share is `AMBIGUOUS`."""
    names = [getattr(image, convention.name_found) for image in named]
    if all(name is None for name in names):
        return np.full(len(named), MISSING)
    places: dict[str, int] = {}
    for k, image in enumerate(listed_images):
        key = convention.key_listed(getattr(image, convention.name_listed))
        places[key] = AMBIGUOUS if key in places else k
    keys = (None if name is None else convention.key_found(name) for name in names)
    return np.array(
        [MISSING if key is None else places.get(key, MISSING) for key in keys], np.int64
    )


def _nothing_found(
    path: Path, images: Sequence[LabelledImage] | None, words: tuple[str, ...]
) -> FoundBoxes:
    if not images:
        raise NoBoxError(
            f"{path} holds no box and names no image: list all images that the detector was run on "
            "(--images-list), so that it is known in how many it found nothing."
        )
    none = np.zeros(0, np.int64)
    boxes, scores = np.zeros((0, 4), np.float32), np.zeros(0, np.float32)
    return FoundBoxes(tuple(images), words, none, none, boxes, scores, {})


def file_of(place: str, folder: Path) -> Path:
    """Return the one predictions file, ``PLACE.json`` or another of `SUFFIXES`, in a folder.

    It may lie at any depth. Raises `InputError` if there is no such file, or several.
    """
    files = sorted(path for suffix in SUFFIXES for path in folder.rglob(f"{place}{suffix}"))
    if len(files) != 1:
        raise InputError(
            f"Expected one file {place}.json (or {', '.join(SUFFIXES[1:])}) under {folder}, with a "
            f"second detector's boxes, but found {len(files)}."
        )
    return files[0]


def files_by_place(folder: Path) -> dict[str, Path]:
    """Return a folder's predictions files by place, or raise `InputError` if a place has two."""
    file_of: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        suffix = next((suffix for suffix in SUFFIXES if path.name.endswith(suffix)), None)
        if suffix is None:
            continue
        place = path.name.removesuffix(suffix)
        if place in file_of:
            raise InputError(
                f"{folder} holds two files of {place}: {file_of[place].name} and {path.name}. "
                "Expected one."
            )
        file_of[place] = path
    return file_of


def read_predictions(
    path: PathLike,
    *,
    images: Sequence[LabelledImage] | None = None,
    where: str = "the list of images",
    numbers: Mapping[str, str] | None = None,
    on_canvas: bool = False,
    words: Sequence[str] | None = None,
) -> FoundBoxes:
    """Read what a detector has found on a set of images.

    Parameters
    ----------
    path : path-like
        COCO results: a JSON file with a list of boxes, each with ``image_id`` or ``file_name``,
        ``category_id`` or a word for it (``category``, ``category_name``, ``label`` or ``name``),
        ``bbox`` as left, top, width and height in pixels, and ``score``. Or an object that holds
        such a list as ``annotations``, with ``images`` and ``categories`` as in a COCO annotation
        file. Or a file with one such box a line (``.jsonl``, ``.ndjson``). Lists and lines may be
        compressed by gzip. Or a Parquet file with one row a box, of the same columns or with
        ``x``, ``y``, ``w`` and ``h`` for ``bbox``. All but the object are read in a stream. Or a
        folder of text files, one an image; see `read_text_folder`.
    images : sequence of LabelledImage, optional
        All images that the detector was run on; by default those that the file names, and no image
        is without a box unless the file lists its ``images``.
    where : str
        What lists them, for messages.
    numbers : mapping of str to str, optional
        Word for each number of a category, where the file has neither words nor `categories`.
    on_canvas : bool
        Whether images were shown on a larger canvas; see `within_images`.
    words : sequence of str, optional
        The words of the detector: with them a file without a box, of images that are known, is read
        as nothing found.

    Returns
    -------
    FoundBoxes
        `left_out` counts what was left out; a warning where its own `categories` are not `numbers`.

    Raises
    ------
    InputError
        If the file is missing, malformed, without a usable box, of other images than `images`, or
        its categories have no words; if it holds each object twice.
    """
    path = Path(path)
    if path.is_dir():
        content = Content(read_text_folder(path, images, list(numbers or {})))
    else:
        content = read_columns(path)
    columns, own_images, given, left_out = content
    if images is None and own_images is not None:
        images, where = own_images, "its own list of images"
    try:
        entries = read_entries(path, columns)
    except NoBoxError:
        if words is None:
            raise
        return _nothing_found(path, images, tuple(words))
    named = [
        Named(*(None if part is None else str(part) for part in key)) for key in entries.images
    ]
    lost: tuple[str, ...] = ()
    if images is None:
        images = tuple(LabelledImage(n.text, n.file_name or n.text, None) for n in named)
        place = np.arange(len(named))
    else:
        place, lost = place_images(named, images, where)
    named_words = find_words(path, entries.categories, given or numbers or {})
    by_number = any(word is None for _, word in entries.categories)
    read = FoundBoxes(
        tuple(images),
        named_words.categories,
        place[entries.image],
        named_words.label[entries.category],
        entries.boxes,
        entries.scores,
        named_words.numbers,
        left_out + entries.warnings + lost,
        named_words.warnings
        + (numbering_conflict(path, given, numbers or {}) if by_number else ()),
        int(np.count_nonzero(place < 0)),
    )
    del entries
    if lost:
        read = read.where(read.image >= 0)
    if on_canvas:
        read = within_images(read)
    return replace(read, left_out=read.left_out + unusual_boxes(path, read))
