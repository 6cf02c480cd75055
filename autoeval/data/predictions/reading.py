"""Reading a COCO results file of any detector."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.data.coco import read_coco
from autoeval.data.json_file import read_json
from autoeval.data.labels.content import LabelledImage
from autoeval.data.predictions.box_columns import Predictions
from autoeval.data.predictions.category_words import find_words
from autoeval.data.predictions.entries import read_entries
from autoeval.data.predictions.matching_images import Named, place_images
from autoeval.data.predictions.oddities import oddities
from autoeval.errors import InputError


def read_predictions(
    path: str | os.PathLike[str],
    *,
    images: Sequence[LabelledImage] | None = None,
    where: str = "the list of images",
    numbers: Mapping[str, str] | None = None,
) -> Predictions:
    """Read what a detector has found on a set of images.

    Parameters
    ----------
    path : path-like
        JSON file with a list of boxes, each with ``image_id`` or ``file_name``, ``category_id`` or
        a word for it (``category``, ``category_name``, ``label`` or ``name``), ``bbox`` as left,
        top, width and height in pixels, and ``score``. Or an object that holds such a list as
        ``annotations``, with ``images`` and ``categories`` as in a COCO annotation file.
    images : sequence of LabelledImage, optional
        All images that the detector was run on; by default those that the file names, and no image
        is without a box unless the file lists its ``images``.
    where : str
        What lists them, for messages.
    numbers : mapping of str to str, optional
        Word for each number of a category, where the file has no words.

    Returns
    -------
    Predictions
        Its problems count what was left out.

    Raises
    ------
    InputError
        If the file is missing, malformed, without a usable box, of other images than `images`, or
        its categories have no words; if it holds each object twice.
    """
    path = Path(path)
    document = _read_json(path)
    entries = read_entries(path, document["annotations"])
    if images is None and document.get("images"):
        images, where = read_coco(path).images, "its own list of images"
    keys = list(dict.fromkeys(entries.images))
    place, known, lost = _place(keys, images, where)
    index = {key: k for key, k in zip(keys, place, strict=True)}
    image = np.fromiter((index[key] for key in entries.images), np.int64, len(entries.images))
    words = find_words(path, entries.categories, {**_numbers(document), **(numbers or {})})
    read = Predictions(
        known,
        words.categories,
        image,
        words.label,
        entries.boxes,
        entries.scores,
        words.numbers,
        entries.problems + lost,
    ).where(image >= 0)
    return replace(read, problems=read.problems + oddities(path, read))


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


def _numbers(document: dict[str, Any]) -> dict[str, str]:
    """Return the words that a file of the form of an annotation file gives its numbers."""
    return {str(c["id"]): str(c["name"]) for c in document.get("categories") or []}


def _read_json(path: Path) -> dict[str, Any]:
    document = read_json(path, "predictions file")
    if isinstance(document, list):
        document = {"annotations": document}
    if not isinstance(document, dict) or not isinstance(document.get("annotations"), list):
        raise InputError(
            f"{path} is not a COCO results file: expected a list of boxes, or an object with such "
            "a list as 'annotations'."
        )
    return document
