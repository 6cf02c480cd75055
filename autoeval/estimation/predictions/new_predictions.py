"""A saved estimator on the predictions of new images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from autoeval.data.labels.content import LabelledImage
from autoeval.data.predictions import Predictions, read_image_list, read_predictions
from autoeval.data.predictions.same_boxes import copies
from autoeval.data.wording import listed
from autoeval.errors import InputError
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.predictions.doubts.unseen_range import unseen_share
from autoeval.estimation.predictions.fit_predictions import Files, PathLike
from autoeval.estimation.predictions.memory import check_floor
from autoeval.estimation.predictions.prediction_estimator import PredictionsEstimator
from autoeval.estimation.predictions.prediction_pairs import pairs_everywhere, pairs_where_found


@dataclass(frozen=True)
class Asked:
    """An estimate with what it was made from.

    Parameters
    ----------
    estimate : Estimate
    found : Predictions
        In the categories that were estimated.
    problems : tuple of str
        What was left out of the predictions.
    """

    estimate: Estimate
    found: Predictions
    problems: tuple[str, ...] = ()


def ask(
    estimator: PredictionsEstimator,
    files: Files,
    *,
    images: PathLike | None = None,
    categories: Mapping[str, Sequence[str]] | None = None,
) -> Asked:
    """Estimate the accuracy of a detector on new images from what it has found there.

    Parameters
    ----------
    estimator : PredictionsEstimator
    files : Files
    images : path-like, optional
        All images that the detector was run on; see `read_image_list`. By default those that the
        predictions name.
    categories : mapping of str to sequence of str, optional
        Categories that are to be expected in all images, each with the detector's words for it. By
        default every category that the detector is sure of once is estimated on the images where
        it sees any.

    Returns
    -------
    Asked

    Raises
    ------
    InputError
        If predictions cannot be read, are of another detector, or hold nothing to go by, or a
        category is none that the detector has a word for.
    """
    memory = estimator.memory_
    if memory.half_size != (files.half_size is not None):
        raise InputError(
            "This estimator was fitted with a pass at half the size: give that of these images, "
            "too, with --half-size-predictions."
            if memory.half_size
            else "This estimator was fitted without a pass at half the size: leave it out."
        )
    known = None if images is None else read_image_list(images)
    read = _read(files.clean, files, estimator, known, str(images))
    doubts = [*memory.doubts, *memory.differences(read)]
    doubts += check_floor(read, "the file", truncated=files.truncated)
    if known is None:
        doubts.append(
            "images without a box are not known, and count as if there were none: list all images"
        )
    unseen = unseen_share(read)
    half = None
    if files.half_size is not None:
        half = _read(files.half_size, files, estimator, read.images, str(files.clean))
    later = copies(read)
    if len(later):
        doubts.append(f"images with exactly the boxes of another, left out: {len(later)}")
        kept = np.setdiff1d(np.arange(len(read.images)), later)
        read, half = read.on_images(kept), half and half.on_images(kept)
    if categories:
        doubts += _check_words(categories, {*memory.categories, *read.categories})
        names, words = list(categories), _words(categories)
        read = read.as_categories(names, words)
        half = half and half.as_categories(names, words)
    elif half is not None:
        half = half.as_categories(read.categories, {word: word for word in read.categories})
    pairs = (pairs_everywhere if categories else pairs_where_found)(read, half)
    problems = (*read.problems, *(half.problems if half else ()))
    estimate = estimator.estimate(pairs, doubts=doubts, unseen=unseen)
    return Asked(estimate, read, problems)


def _read(
    path: PathLike,
    files: Files,
    estimator: PredictionsEstimator,
    images: Sequence[LabelledImage] | None,
    where: str,
) -> Predictions:
    numbers = files.names or estimator.memory_.numbers
    return read_predictions(path, images=images, where=where, numbers=numbers)


def _check_words(categories: Mapping[str, Sequence[str]], known: set[str]) -> list[str]:
    """Doubt words that no box has had; refuse a category that has no other."""
    doubts = []
    for name, words in categories.items():
        strange = [word for word in words or [name] if word not in known]
        if len(strange) == len(words or [name]):
            raise InputError(
                f"No box is called {listed(strange)}, neither here nor where the estimator was "
                f"fitted. The detector's words: {listed(sorted(known), most=100)}."
            )
        if strange:
            doubts.append(f"no box is called {listed(strange)}, here or in the fit: check the word")
    return doubts


def _words(categories: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {word: name for name, words in categories.items() for word in (words or [name])}
