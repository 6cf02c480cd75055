"""Confidence in the best box of an image."""

from __future__ import annotations

import numpy as np

from autoeval.scores.base import ConfidenceScore
from autoeval.scores.direction import rising
from autoeval.scores.registry import register


@register
class BestBox(ConfidenceScore):
    r"""Mean over images of the highest score in each.

    .. math:: \frac{1}{M} \sum_{i=1}^{M} \max_j s_{ij}

    and 0 for an image without a box. Where `ConfidentImages` asks whether something is there, this
    asks how sure the detector is of it.
    """

    name = "best_box"
    meaning = "mean over images of the highest score"
    features = rising("best_box")
    source = "this project"

    def measure_images(
        self, scores: np.ndarray, image: np.ndarray, n_images: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the highest score of each image, and 1."""
        above = np.zeros((n_images, 1))
        np.maximum.at(above[:, 0], image, scores)
        return above, np.ones_like(above)
