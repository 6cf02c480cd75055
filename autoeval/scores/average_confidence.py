"""Average confidence (AC)."""

from __future__ import annotations

import numpy as np

from autoeval.scores.base import ConfidenceScore, count_over
from autoeval.scores.direction import rising
from autoeval.scores.registry import register


@register
class AverageConfidence(ConfidenceScore):
    r"""Mean score of the boxes of a set.

    .. math:: AC = \frac{1}{N} \sum_{j=1}^{N} s_j

    over the N boxes of all images.
    """

    name = "ac"
    meaning = "average confidence: mean score of the boxes"
    features = rising("ac")
    source = "Guillory et al. 2021, adapted to boxes by Yang et al. 2024, section 5.1"

    def measure_images(
        self, scores: np.ndarray, image: np.ndarray, n_images: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the sum of the scores of each image and the number of its boxes."""
        above = np.bincount(image, scores.astype(np.float64), minlength=n_images)
        return above[:, None], count_over([0.0], scores, image, n_images)
