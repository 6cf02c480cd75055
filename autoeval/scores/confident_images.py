"""Share of images with a confident box."""

from __future__ import annotations

import numpy as np

from autoeval.scores.base import ConfidenceScore, count_over
from autoeval.scores.direction import rising
from autoeval.scores.feature_thresholds import feature_names
from autoeval.scores.registry import register


@register
class ConfidentImages(ConfidenceScore):
    r"""Share of the images that have a box with a score over a threshold.

    .. math:: \frac{1}{M} \sum_{i=1}^{M} [\max_j s_{ij} > t]

    for each t of `THRESHOLDS`. Where objects are to be expected everywhere it tells how often the
    detector saw nothing; it falls too where they are rare.
    """

    name = "confident_images"
    meaning = "share of images with a box over a threshold"
    features = rising(*feature_names("confident_images"))
    source = "this project"

    def measure_images(
        self, scores: np.ndarray, image: np.ndarray, n_images: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return whether each image has such a box, and 1."""
        above = (count_over(self.thresholds, scores, image, n_images) > 0).astype(np.float64)
        return above, np.ones_like(above)
