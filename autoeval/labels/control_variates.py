"""Predicted influence of each image on average precision: control variates of a sample estimate."""

from __future__ import annotations

import numpy as np

from autoeval.data.labels.truth import Truth
from autoeval.data.predictions import Predictions
from autoeval.metrics.average_precision import RankedDetections
from autoeval.metrics.coco_matching import rank_categories
from autoeval.metrics.influence import influence_function

MODEL, PSEUDO = "model", "pseudo"
CONFIDENT = 0.3  # pseudo-labels over it count as labels


def control_variates(
    expected: RankedDetections, by_pseudo_labels: RankedDetections | None = None
) -> dict[str, np.ndarray]:
    """Predict the influence of each image on the average precision of a category.

    Parameters
    ----------
    expected : RankedDetections
        The boxes on M images, with probabilities in place of labels; see
        `autoeval.labels.box_model.BoxModel.rankings`.
    by_pseudo_labels : RankedDetections, optional
        The same boxes, with the confident ones of another detector in place of labels; see
        `rank_by_pseudo_labels`. The second prediction gets the standard deviation of the first:
        where that detector finds little, each of its boxes would count for too much.

    Returns
    -------
    dict of str to ndarray of shape (10, M)
        `MODEL`, and `PSEUDO` where there are pseudo-labels, at each IoU threshold; 0 where no
        object is expected.
    """
    first = np.nan_to_num(influence_function(expected))
    if by_pseudo_labels is None:
        return {MODEL: first}
    second = np.nan_to_num(influence_function(by_pseudo_labels))
    own = second.mean(axis=0).std()
    return {MODEL: first, PSEUDO: second * (first.mean(axis=0).std() / own if own > 0 else 0.0)}


def rank_by_pseudo_labels(found: Predictions, pseudo_labels: Predictions) -> list[RankedDetections]:
    """Rank the boxes of each category, with the confident ones of another detector as labels.

    Parameters
    ----------
    found : Predictions
    pseudo_labels : Predictions
        On the same images, in the same order and categories.
    """
    sure = pseudo_labels.where(pseudo_labels.scores > CONFIDENT)
    boxes, crowd = sure.boxes.astype(np.float64), np.zeros(len(sure), bool)
    truth = Truth(sure.images, sure.categories, sure.image, sure.label, boxes, crowd)
    return rank_categories(found, truth)
