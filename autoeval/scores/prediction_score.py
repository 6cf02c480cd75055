"""Prediction score (PS): how many boxes are confident."""

from __future__ import annotations

import numpy as np

from autoeval.scores.base import ConfidenceScore, count_over
from autoeval.scores.direction import rising
from autoeval.scores.feature_thresholds import feature_names
from autoeval.scores.registry import register


@register
class PredictionScore(ConfidenceScore):
    r"""Share of a set's boxes with a score over a threshold.

    .. math:: PS(τ) = \#\{s > τ\} / \#\{s\}

    over all boxes of all images, for each τ of `THRESHOLDS`.
    """

    name = "ps"
    meaning = "prediction score: share of boxes over a threshold"
    features = rising(*feature_names("ps"))
    source = "Hendrycks & Gimpel 2017, adapted to boxes by Yang et al. 2024, section 5.1"

    def measure_images(
        self, scores: np.ndarray, image: np.ndarray, n_images: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of confident boxes, and of all boxes."""
        above = count_over(self.thresholds, scores, image, n_images)
        return above, np.repeat(count_over([0.0], scores, image, n_images), above.shape[1], axis=1)
