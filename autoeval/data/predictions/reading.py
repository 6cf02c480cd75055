"""Reading a predictions file of any detector: COCO results, JSON lines, Parquet, text files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.data.labels.content import LabelledImage
from autoeval.data.predictions.box_columns import Predictions
from autoeval.data.predictions.category_words import find_words, numbering_conflict
from autoeval.data.predictions.entries import Entries, read_entries
from autoeval.data.predictions.file_formats import Content, read_columns, read_text_folder
from autoeval.data.predictions.half_size import within_images
from autoeval.data.predictions.matching_images import Named, place_images
from autoeval.data.predictions.oddities import oddities
from autoeval.errors import InputError

SUFFIXES = (".json", ".jsonl", ".ndjson", ".parquet", ".json.gz", ".jsonl.gz", ".ndjson.gz")


def file_of(place: str, folder: Path) -> Path:
    """Return the one predictions file of a place that a folder holds, at any depth.

    Parameters
    ----------
    place : str
    folder : Path
        With ``PLACE.json``, or another of `SUFFIXES`.

    Raises
    ------
    InputError
        If there is no such file, or several.
    """
    files = sorted(path for suffix in SUFFIXES for path in folder.rglob(f"{place}{suffix}"))
    if len(files) != 1:
        raise InputError(
            f"Expected one file {place}.json (or {', '.join(SUFFIXES[1:])}) under {folder}, with a "
            f"second detector's boxes, but found {len(files)}."
        )
    return files[0]


def files_by_place(folder: Path) -> dict[str, Path]:
    """Return the predictions files that lie in a folder, by the name of their place.

    Raises
    ------
    InputError
        If there are two of one place.
    """
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        suffix = next((suffix for suffix in SUFFIXES if path.name.endswith(suffix)), None)
        if suffix is None:
            continue
        place = path.name.removesuffix(suffix)
        if place in found:
            raise InputError(
                f"{folder} holds two files of {place}: {found[place].name} and {path.name}. "
                "Expected one."
            )
        found[place] = path
    return found


def read_predictions(
    path: str | os.PathLike[str],
    *,
    images: Sequence[LabelledImage] | None = None,
    where: str = "the list of images",
    numbers: Mapping[str, str] | None = None,
    on_canvas: bool = False,
) -> Predictions:
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

    Returns
    -------
    Predictions
        Its problems count what was left out; it warns where its own `categories` are not `numbers`.

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
    columns, own, given, problems = content
    entries = read_entries(path, columns)
    if images is None and own is not None:
        images, where = own, "its own list of images"
    place, known, lost = _place(entries.images, images, where)
    words = find_words(path, entries.categories, given or numbers or {})
    read = Predictions(
        known,
        words.categories,
        place[entries.image],
        words.label[entries.category],
        entries.boxes,
        entries.scores,
        words.numbers,
        problems + entries.problems + lost,
        numbering_conflict(path, given, numbers or {}) if _by_number(entries) else (),
        int(np.count_nonzero(place < 0)),
    )
    del entries
    if lost:
        read = read.where(read.image >= 0)
    if on_canvas:
        read = within_images(read)
    return replace(read, problems=read.problems + oddities(path, read))


def _by_number(entries: Entries) -> bool:
    return any(word is None for _, word in entries.categories)


def _place(
    keys: list[tuple[Any, Any]], images: Sequence[LabelledImage] | None, where: str
) -> tuple[np.ndarray, tuple[LabelledImage, ...], tuple[str, ...]]:
    """Return the number of each image, all images, and which are lost."""
    named = [Named(*(None if part is None else str(part) for part in key)) for key in keys]
    if images is None:
        known = tuple(LabelledImage(n.text, n.file_name or n.text, None) for n in named)
        return np.arange(len(known)), known, ()
    place, lost = place_images(named, images, where)
    return place, tuple(images), lost
