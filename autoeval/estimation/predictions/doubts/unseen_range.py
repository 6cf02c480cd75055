"""How much of the confidence that scores read does not reach a file."""

from __future__ import annotations

import numpy as np

from autoeval.data.predictions import Predictions
from autoeval.estimation.predictions.features import COUNTED, SURE

ENOUGH_BOXES = 20
MOSTLY = 0.5
TOLD = 0.05


def unseen_share(found: Predictions) -> float:
    r"""Say how much of the range of confidence that scores read is missing.

    Scores compare boxes over .3 with all over .05. Where an image's list begins at a confidence f,
    because low ones were cut off, only the best few were kept, or all confidences are inflated,

    .. math:: w = \min(\max((f - .05) / (.3 - .05), 0), 1)

    of that range is unseen. Images count by their boxes, as they do in average precision.

    Parameters
    ----------
    found : Predictions

    Returns
    -------
    float
        In [0, 1]: 0 for a full list, 1 where nothing but boxes over .3 is listed, or more than half
        of these have the same confidence, so that it ranks nothing.
    """
    if not len(found):
        return 0.0
    if same_score(found) > MOSTLY:
        return 1.0
    n_boxes = np.bincount(found.image, minlength=len(found.images))
    first = np.where(n_boxes == found.most_boxes, _lowest(found), found.floor)
    return float(np.average(np.clip((first - COUNTED) / (SURE - COUNTED), 0, 1), weights=n_boxes))


def same_score(found: Predictions) -> float:
    """Return the share of boxes over .3 that have the most common confidence; 0 for under 20."""
    sure = found.scores[found.scores > np.float32(SURE)]
    if len(sure) < ENOUGH_BOXES:
        return 0.0
    return float(np.unique(sure, return_counts=True)[1].max() / len(sure))


def told(share: float) -> tuple[str, ...]:
    """Say what an unseen share does to the interval; nothing under 5 %, which it hardly moves."""
    if share < TOLD:
        return ()
    return (
        f"{share:.0%} of the confidence that scores read (.05 to .3) is not in these predictions "
        "or in those of the fit: low scores or all but the best boxes were left out, or all scores "
        "are high or alike. The interval is wider by that share of how far accuracies differ; "
        "export all boxes from .01 on",
    )


def _lowest(found: Predictions) -> np.ndarray:
    lowest = np.full(len(found.images), np.inf, np.float32)
    np.minimum.at(lowest, found.image, found.scores)
    return np.where(np.isfinite(lowest), lowest, found.floor).astype(np.float64)
