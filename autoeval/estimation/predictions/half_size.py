"""Agreement of a second pass at half the size, from a second predictions file."""

from __future__ import annotations

import numpy as np

from autoeval.data.predictions import Predictions
from autoeval.errors import InputError
from autoeval.estimation.predictions.category_precision import rank_categories
from autoeval.estimation.predictions.ranking import Ranking
from autoeval.estimation.predictions.truth import Truth
from autoeval.scores.average_precision import average_precision

AGREEMENT = "scale_ap@0.30"
CONFIDENT = 0.3


def rank_half_size(found: Predictions, half: Predictions) -> list[Ranking]:
    """Judge the boxes found at half the size, the confident ones of the clean pass being the truth.

    Parameters
    ----------
    found, half : Predictions
        Of the same images and categories, both in pixels of the image at its full size.

    Returns
    -------
    list of Ranking
        One a category.

    Raises
    ------
    InputError
        If the images or categories differ.
    """
    if found.images != half.images or found.categories != half.categories:
        raise InputError("The half-size predictions are of other images or categories.")
    sure = found.where(found.scores > np.float32(CONFIDENT))
    crowd = np.zeros(len(sure), bool)
    truth = Truth(
        sure.images, sure.categories, sure.image, sure.label, sure.boxes.astype(np.float64), crowd
    )
    return rank_categories(half, truth)


def agreement(ranked: Ranking, times: np.ndarray) -> np.ndarray:
    """Average precision of sets of images in which each counts so often, as `ScaleAP` has it.

    Parameters
    ----------
    ranked : Ranking
    times : ndarray of shape (B, n_images)

    Returns
    -------
    ndarray of shape (B,)
        0 where nothing is confident.
    """
    hits = ranked.right[None]
    values = [
        average_precision(hits, row[None] @ ranked.n_true, row[ranked.image]).mean()
        for row in times
    ]
    return np.nan_to_num(np.array(values))
