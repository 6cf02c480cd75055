"""The condition of a period, and what each image adds to its change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autoeval.monitoring.changes.image_numbers import MEANINGS, NUMBERS, OF_BOXES

FEW = 0.1  # boxes an image, added where a logarithm or a ratio of numbers of boxes is taken
SCORES = {
    "ac": "mean score of boxes over .05",
    "share": "share of an image's boxes over .3",
    "any": "share of images with a box over .2",
    "best": "best score of an image",
    "boxes": "log number of boxes over .3",
    "size": "log size of boxes over .3, relative to the image",
    "half": "log ratio of boxes over .3 at half the size to those at full size",
    "again": "share of boxes over .3 that are found again at half the size",
    "found": "log sum of squared scores of boxes over .05",
    "certain": "log number of boxes over .7",
    "half_boxes": "log number of boxes over .3 at half the size",
}
NEED_HALF_SIZE = ("half", "again", "half_boxes")
"""Scores of the pass at half the size."""
_AT = {name: NUMBERS.index(name) for name in NUMBERS}
OF_CLEAN_BOXES = tuple(name for name in SCORES if name not in NEED_HALF_SIZE)
AMOUNTS = ("found", "certain", "half_boxes")
"""Logarithms of amounts: what counts is by which share of what was there they change."""
CONDITION = (*SCORES, *MEANINGS)
BOUNDS = {"boxes": 1.5, "half": 1.5, "noise": 3.0}
BOUND = 1.0


def condition(means: np.ndarray) -> np.ndarray:
    """Turn means of `NUMBERS` over images into a condition.

    means (..., len(NUMBERS))
    Returned: (..., len(CONDITION)).

    >>> means = np.zeros(len(NUMBERS))
    >>> means[[_AT["boxes"], _AT["score"]]] = 4, 1
    >>> float(condition(means)[CONDITION.index("ac")])
    0.25
    """
    box_means = np.moveaxis(means[..., : len(OF_BOXES)], -1, 0)  # in the order of `OF_BOXES`
    low, score, share, some, best, sure, size, half, again, squares, certain = box_means
    scores = (
        score / np.maximum(low, 1e-9),
        share,
        some,
        best,
        np.log(sure + FEW),
        size / (sure + FEW),
        np.log((half + FEW) / (sure + FEW)),
        again / (sure + FEW),
        *(np.log(amount + FEW) for amount in (squares, certain, half)),
    )
    return np.concatenate([np.stack(scores, -1), means[..., len(OF_BOXES) :]], -1)


def bounds_of(names: Sequence[str] = CONDITION) -> np.ndarray:
    """Return the largest difference that counts, of each name of `CONDITION`, (P,)."""
    return np.array([BOUNDS.get(name, BOUND) for name in names])


def image_moves(numbers: np.ndarray, baseline: np.ndarray) -> np.ndarray:
    """Return how far each image's own condition is from the mean of a baseline's, bounded.

    numbers (N, len(NUMBERS))
    baseline (M, len(NUMBERS))
    Returned: (N, len(CONDITION)).
    """
    bounds = bounds_of()
    difference = condition(numbers) - condition(baseline).mean(axis=0)
    return bounds * np.tanh(difference / bounds)
