"""Boxes of a second detector, from prediction files: what they say of a place, or of a pool."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from autoeval.data.predictions import Predictions, read_predictions
from autoeval.data.predictions.of_place import file_of
from autoeval.estimation.labels.places import LabelledPlace
from autoeval.metrics.coco_matching import top_detections


def read_pseudo_labels(
    file: str | os.PathLike[str], pool: Predictions, words: Mapping[str, str] | None = None
) -> Predictions:
    """Read what a second detector has found on the images of a pool.

    Parameters
    ----------
    file : path-like
        COCO results, see `autoeval.data.predictions.read_predictions`.
    pool : Predictions
    words : mapping of str to str, optional
        Category of the pool for each word of the second detector that counts; by default equal
        words.

    Returns
    -------
    Predictions
        Of the images and categories of the pool.

    Raises
    ------
    InputError
        If the file cannot be read, is of other images, or has none of the words.
    """
    found = read_predictions(file, images=pool.images, where="the pool")
    words = words or {name: name for name in pool.categories}
    known = {word: name for word, name in words.items() if name in pool.categories}
    own = found.as_categories(pool.categories, known)
    return own.where(top_detections(own.image, own.label, own.scores))


def with_pseudo_labels(
    place: LabelledPlace, folder: Path, words: Mapping[str, str] | None = None
) -> LabelledPlace:
    """Add what a second detector has found on the images of a place.

    Parameters
    ----------
    place : LabelledPlace
    folder : Path
        Holds, at any depth, one COCO results file a place: ``NAME.json``.
    words : mapping of str to str, optional
        See `read_pseudo_labels`.

    Raises
    ------
    InputError
        If there is no such file, or several.
    """
    file = file_of(place.name, folder)
    return replace(place, pseudo_labels=read_pseudo_labels(file, place.pool.found, words))
