"""Average thresholded confidence (ATC), as adapted to detection."""

from __future__ import annotations

import numpy as np

from autoeval.scores.base import ConfidenceScore, count_over, feature_names, rising
from autoeval.scores.registry import register


@register
class AverageThresholdedConfidence(ConfidenceScore):
    r"""Mean score of the boxes over a threshold.

    .. math:: ATC(τ) = \sum_j s_j [s_j > τ] / \sum_j [s_j > τ]

    over the boxes of all images, for each τ of `THRESHOLDS`; NaN where no box is over it. For the
    original form see `SourceThreshold`.
    """

    name = "atc"
    meaning = "average thresholded confidence: mean score of the boxes over a threshold"
    features = rising(*feature_names("atc"))
    source = "Garg et al. 2022, adapted to boxes by Yang et al. 2024, section 5.1"

    def measure_images(
        self, scores: np.ndarray, image: np.ndarray, n_images: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of scores over each threshold and the numbers of them."""
        above = np.empty((n_images, len(self.names)))
        for k, threshold in enumerate(self.thresholds):
            over = scores > scores.dtype.type(threshold)
            weights = scores[over].astype(np.float64)
            above[:, k] = np.bincount(image[over], weights, minlength=n_images)
        return above, count_over(self.thresholds, scores, image, n_images)
