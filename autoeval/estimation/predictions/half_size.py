"""Agreement of a second pass at half the size, from a second predictions file."""

from __future__ import annotations

import numpy as np

from autoeval.data.labels.truth import Truth
from autoeval.data.predictions import Predictions
from autoeval.errors import InputError
from autoeval.metrics.by_category import rank_categories
from autoeval.metrics.ranked_detections import RankedDetections

AGREEMENT = "scale_ap@0.30"
CONFIDENT = 0.3


def rank_half_size(found: Predictions, half: Predictions) -> list[RankedDetections]:
    """Judge the boxes found at half the size, the confident ones of the clean pass being the truth.

    Parameters
    ----------
    found, half : Predictions
        Of the same images and categories, both in pixels of the image at its full size.

    Returns
    -------
    list of RankedDetections
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


def agreement(ranked: RankedDetections, times: np.ndarray) -> np.ndarray:
    """Average precision of sets of images in which each counts so often, as `ScaleAP` has it.

    Parameters
    ----------
    ranked : RankedDetections
    times : ndarray of shape (B, n_images)

    Returns
    -------
    ndarray of shape (B,)
        0 where nothing is confident.
    """
    values = [ranked.average_precision(row, interpolation="all-point").mean() for row in times]
    return np.nan_to_num(np.array(values))
