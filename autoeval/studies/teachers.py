"""Boxes of a second detector on labelled places, from prediction files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from autoeval.data.predictions import read_predictions
from autoeval.errors import InputError
from autoeval.estimation.labels.places import LabelledPlace
from autoeval.estimation.predictions.coco_matching import best_of_each_image


def with_teacher(place: LabelledPlace, folder: Path, words: Mapping[str, str]) -> LabelledPlace:
    """Add what a second detector has found on the images of a place.

    Parameters
    ----------
    place : LabelledPlace
    folder : Path
        Holds, at any depth, one COCO results file a place: ``NAME.json``.
    words : mapping of str to str
        Category of the place for each word of the second detector that counts.

    Raises
    ------
    InputError
        If there is no such file, or several.
    """
    files = sorted(folder.rglob(f"{place.name}.json"))
    if len(files) != 1:
        raise InputError(
            f"Expected one file {place.name}.json under {folder}, with a second detector's boxes, "
            f"but found {len(files)}."
        )
    found = read_predictions(files[0], images=place.pool.found.images)
    known = {word: name for word, name in words.items() if name in place.truth.categories}
    teacher = found.as_categories(place.truth.categories, known)
    return replace(place, teacher=best_of_each_image(teacher))
