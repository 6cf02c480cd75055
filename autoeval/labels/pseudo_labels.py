"""Boxes of a second detector from prediction files, as pseudo-labels of a site or a pool."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from autoeval.data.predictions import Predictions, read_predictions
from autoeval.data.predictions.reading import file_of
from autoeval.labels.labelled_site import LabelledSite
from autoeval.metrics.coco_matching import top_detections


def read_pseudo_labels(
    file: str | os.PathLike[str], pool: Predictions, words: Mapping[str, str] | None = None
) -> Predictions:
    """Read the predictions of a second detector on the images of a pool.

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
    site: LabelledSite, folder: Path, words: Mapping[str, str] | None = None
) -> LabelledSite:
    """Add the predictions of a second detector on the images of a site.

    Parameters
    ----------
    site : LabelledSite
    folder : Path
        Holds, at any depth, one COCO results file a site: ``NAME.json``.
    words : mapping of str to str, optional
        See `read_pseudo_labels`.

    Raises
    ------
    InputError
        If there is no such file, or several.
    """
    file = file_of(site.name, folder)
    return replace(site, pseudo_labels=read_pseudo_labels(file, site.pool.found, words))
