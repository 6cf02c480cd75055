"""Pseudo-labels: the boxes of a second detector on the images of a pool."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from autoeval.accuracy.coco_matching import top_detections
from autoeval.io.predictions import FoundBoxes, read_predictions
from autoeval.io.predictions.reading import file_of
from autoeval.runtime.files import PathLike
from autoeval.sites.labelled_set import LabelledSet


def read_pseudo_labels(
    file: PathLike, pool: FoundBoxes, words: Mapping[str, str] | None = None
) -> FoundBoxes:
    """Read the predictions of a second detector on the images of a pool, in its category_of_word.

    The file holds COCO results, see `read_predictions`; `words` has the category of the pool for
    each word of the second detector that counts, by default equal words. Raises InputError if the
    file cannot be read, is of other images, or has none of the words.
    """
    boxes = read_predictions(file, images=pool.images, where="the pool")
    words = words or {name: name for name in pool.categories}
    category_of_word = {word: name for word, name in words.items() if name in pool.categories}
    pseudo_labels = boxes.as_categories(pool.categories, category_of_word)
    return pseudo_labels.where(
        top_detections(pseudo_labels.image, pseudo_labels.label, pseudo_labels.scores)
    )


def with_pseudo_labels(
    labelled: LabelledSet, folder: Path, words: Mapping[str, str] | None = None
) -> LabelledSet:
    """Add the predictions of a second detector on the images of a labelled set.

    The folder holds, at any depth, one COCO results file a set: ``NAME.json``; InputError if there
    is none, or several. For `words` see `read_pseudo_labels`.
    """
    file = file_of(labelled.name, folder)
    return labelled.changed(pseudo_labels=read_pseudo_labels(file, labelled.pool.found, words))
