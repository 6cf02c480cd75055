"""COCO average precision of every category of a predictions file."""

from __future__ import annotations

import numpy as np

from autoeval.data.predictions import Predictions
from autoeval.estimation.predictions.coco_matching import best_of_each_image, match_all
from autoeval.estimation.predictions.ranking import Ranking
from autoeval.estimation.predictions.truth import Truth

MEASURES = ("mAP", "mAP50", "mAP75")


def rank_categories(found: Predictions, truth: Truth) -> list[Ranking]:
    """Judge all boxes as COCO's evaluation does, and rank those of each category.

    Parameters
    ----------
    found : Predictions
    truth : Truth
        Of the same images, in the same order, and the same categories.

    Returns
    -------
    list of Ranking
        One a category, with ten IoU thresholds.
    """
    best = best_of_each_image(found)
    right, ignored = match_all(best, truth)
    order = np.lexsort((-best.scores, best.label))
    ends = np.searchsorted(best.label[order], np.arange(len(truth.categories) + 1))
    n_images, true = len(found.images), ~truth.crowd
    return [
        Ranking(
            best.image[rows],
            right[:, rows],
            ~ignored[:, rows],
            np.bincount(truth.image[true & (truth.label == k)], minlength=n_images),
        )
        for k, rows in enumerate(np.split(order, ends[1:-1]))
    ]


def summarise(precision: np.ndarray) -> dict[str, float]:
    """Name what average precisions at ten overlaps come to."""
    return dict(zip(MEASURES, (precision.mean(), precision[0], precision[5]), strict=True))
