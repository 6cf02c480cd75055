"""The boxes of a pool beside the truth."""

from __future__ import annotations

import numpy as np

from autoeval.data.predictions import Predictions
from autoeval.estimation.labels.ranking import Ranking
from autoeval.estimation.predictions.coco_matching import match_all
from autoeval.estimation.predictions.truth import Truth


def judged(found: Predictions, truth: Truth) -> list[Ranking]:
    """Judge boxes as COCO's evaluation does, and rank those of each category.

    Parameters
    ----------
    found : Predictions
        As `best_of_each_image` gives them.
    truth : Truth
        Of the same images, in the same order, and the same categories.
    """
    right, ignored = match_all(found, truth)
    rankings = []
    for k in range(len(truth.categories)):
        mine, true = found.label == k, ~truth.crowd & (truth.label == k)
        n_true = np.bincount(truth.image[true], minlength=len(found.images))
        columns = (found.scores[mine], found.image[mine], right[:, mine], n_true)
        rankings.append(Ranking.of(*columns, ~ignored[:, mine]))
    return rankings
