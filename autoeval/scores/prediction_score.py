"""Prediction score (PS): how many boxes are confident."""

from __future__ import annotations

import numpy as np

from autoeval.detections import Evidence
from autoeval.scores.base import RatioScore
from autoeval.scores.direction import rising
from autoeval.scores.feature_thresholds import exceed, feature_names
from autoeval.scores.registry import register


def count_confident(scores: np.ndarray) -> np.ndarray:
    """Count the boxes over each threshold.

    Parameters
    ----------
    scores : ndarray of shape (N,)

    Returns
    -------
    ndarray of shape (T,), int64

    Examples
    --------
    >>> count_confident(np.array([.2, .6, .97]))[[0, 10, 19]]
    array([3, 2, 1])
    """
    return exceed(scores).sum(axis=1)


@register
class PredictionScore(RatioScore):
    r"""Share of a set's boxes with a score over a threshold.

    .. math:: PS(τ) = \#\{s > τ\} / \#\{s\}

    over all boxes of all images, for each τ of `THRESHOLDS`.
    """

    name = "ps"
    meaning = "prediction score: share of boxes over a threshold"
    features = rising(*feature_names("ps"))
    source = "Hendrycks & Gimpel 2017, adapted to boxes by Yang et al. 2024, section 5.1"

    def measure(self, evidence: Evidence) -> tuple[np.ndarray, int]:
        """Return the numbers of confident boxes (T,) and of all boxes."""
        scores = evidence.clean.above(self.score_thr).scores
        return count_confident(scores), len(scores)
