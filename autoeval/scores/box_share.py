"""Share of boxes over a threshold, image by image."""

from __future__ import annotations

import numpy as np

from autoeval.scores.base import ConfidenceScore, count_over
from autoeval.scores.direction import rising
from autoeval.scores.feature_thresholds import feature_names
from autoeval.scores.registry import register


@register
class BoxShare(ConfidenceScore):
    r"""Mean over images of the share of an image's boxes with a score over a threshold.

    .. math:: share(t) = \frac{1}{M} \sum_{i=1}^{M} \#\{s_{ij} > t\} / \#\{s_{ij}\}

    for each t of `THRESHOLDS`. An image without boxes adds 0. The share over the boxes of the whole
    set, in which crowded images weigh more, is `PredictionScore`.
    """

    name = "box_share"
    meaning = "share of an image's boxes over a threshold, mean over images"
    features = rising(*feature_names("box_share"))
    source = "Hendrycks & Gimpel 2017, taken image by image"

    def measure_images(
        self, scores: np.ndarray, image: np.ndarray, n_images: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the shares of boxes over each threshold, and 1."""
        n_boxes = np.bincount(image, minlength=n_images)[:, None]
        above = count_over(self.thresholds, scores, image, n_images) / np.maximum(n_boxes, 1)
        return above, np.ones_like(above)
