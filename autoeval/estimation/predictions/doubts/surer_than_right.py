"""Whether a detector is surer of its boxes than they are right by the labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autoeval.data.predictions import Predictions
from autoeval.estimation.predictions.features import SURE
from autoeval.metrics.ranked_detections import RankedDetections

FEWEST_BOXES = 20
SURER = 0.1


def surer_than_right(found: Predictions, ranked: Sequence[RankedDetections]) -> tuple[str, ...]:
    """Compare the mean confidence of boxes over .3 with how many are right at an IoU of .5.

    Parameters
    ----------
    found : Predictions
    ranked : sequence of RankedDetections
        What `rank_categories` says of them, one a category.

    Returns
    -------
    tuple of str
        One doubt where confidence exceeds precision by more than .1 and by more than two standard
        errors, over 20 boxes or more.
    """
    sure = found.where(found.scores > np.float32(SURE))
    right, scores = [], []
    for k, of in enumerate(ranked):
        mine = np.sort(sure.scores[sure.label == k])[::-1]
        counts = of.counted[0, : len(mine)].astype(bool)
        right.append(of.hits[0, : len(mine)][counts])
        scores.append(mine[counts])
    n_boxes = sum(map(len, scores))
    if n_boxes < FEWEST_BOXES:
        return ()
    precision, confidence = (float(np.concatenate(of).mean()) for of in (right, scores))
    if confidence - precision <= max(SURER, 2 * np.sqrt(confidence * (1 - confidence) / n_boxes)):
        return ()
    return (
        f"{precision:.0%} of the {n_boxes} boxes over {SURE} are right by the labels (IoU .5), "
        f"while their mean score is {confidence:.2f}: do the labels miss objects, or are they "
        "drawn elsewhere, or of other images? If not, the detector is surer than it is right, and "
        "what its scores tell is doubtful",
    )
