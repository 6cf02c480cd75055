"""Control variates: the influence of images, predicted by a box model or by pseudo-labels."""

from __future__ import annotations

import numpy as np

from autoeval.data.labels.truth import Truth
from autoeval.data.predictions import FoundBoxes
from autoeval.metrics.average_precision import RankedDetections, influence_function
from autoeval.metrics.coco_matching import rank_categories

MODEL, PSEUDO = "model", "pseudo"
CONFIDENT = 0.3  # pseudo-labels over it count as labels


def control_variates(
    expected: RankedDetections, by_pseudo_labels: RankedDetections | None = None
) -> dict[str, np.ndarray]:
    """Predict the influence of M images on the average precision of a category, (10, M) each.

    `expected` ranks the boxes with probabilities in place of labels, see `BoxModel.rankings`, the
    second with the confident ones of another detector, see `rank_by_pseudo_labels`; that prediction
    gets the standard deviation of the first: where that detector finds little, each of its boxes
    would count for too much. Returns `MODEL`, and `PSEUDO` where there are pseudo-labels; 0 where
    no object is expected.
    """
    first = np.nan_to_num(influence_function(expected))
    if by_pseudo_labels is None:
        return {MODEL: first}
    second = np.nan_to_num(influence_function(by_pseudo_labels))
    own = second.mean(axis=0).std()
    return {MODEL: first, PSEUDO: second * (first.mean(axis=0).std() / own if own > 0 else 0.0)}


def rank_by_pseudo_labels(found: FoundBoxes, pseudo_labels: FoundBoxes) -> list[RankedDetections]:
    """Rank the boxes of each category, with the confident ones of another detector as labels.

    Those are on the same images, in the same order and categories.
    """
    sure = pseudo_labels.where(pseudo_labels.scores > CONFIDENT)
    boxes, crowd = sure.boxes.astype(np.float64), np.zeros(len(sure), bool)
    truth = Truth(sure.images, sure.categories, sure.image, sure.label, boxes, crowd)
    return rank_categories(found, truth)


def true_influence(ranking: RankedDetections) -> np.ndarray:
    """Influence of each image on mAP, (N,)."""
    return influence_function(ranking).mean(axis=0)
