"""The condition of a period: what its images have on average, in units that can be compared."""

from __future__ import annotations

import numpy as np

from autoeval.monitoring.changes.image_numbers import NUMBERS, OF_BOXES
from autoeval.monitoring.signal_names import MEANINGS

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
OF_CLEAN_BOXES = tuple(name for name in SCORES if name not in NEED_HALF_SIZE)
AMOUNTS = ("found", "certain", "half_boxes")
"""Logarithms of amounts: what counts is by which share of what was there they change."""
CONDITION = (*SCORES, *MEANINGS)
_AT = {name: NUMBERS.index(name) for name in NUMBERS}


def condition(means: np.ndarray) -> np.ndarray:
    """Turn means of `NUMBERS` over images into a condition.

    Parameters
    ----------
    means : ndarray of shape (..., len(NUMBERS))

    Returns
    -------
    ndarray of shape (..., len(CONDITION))

    Examples
    --------
    >>> means = np.zeros(len(NUMBERS))
    >>> means[[_AT["boxes"], _AT["score"]]] = 4, 1
    >>> float(condition(means)[CONDITION.index("ac")])
    0.25
    """
    of_boxes = np.moveaxis(means[..., : len(OF_BOXES)], -1, 0)
    low, score, share, some, best, sure, size, half, again, squares, certain = of_boxes
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
