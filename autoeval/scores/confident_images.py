"""Share of images with a confident box."""

from __future__ import annotations

import numpy as np

from autoeval.detections import Evidence
from autoeval.scores.base import RatioScore
from autoeval.scores.direction import rising
from autoeval.scores.feature_thresholds import feature_names
from autoeval.scores.prediction_score import count_confident
from autoeval.scores.registry import register


@register
class ConfidentImages(RatioScore):
    r"""Share of the images that have a box with a score over a threshold.

    .. math:: \frac{1}{M} \sum_{i=1}^{M} [\max_j s_{ij} > t]

    for each t of `THRESHOLDS`. Where objects are to be expected everywhere it tells how often the
    detector saw nothing; it falls too where they are rare.
    """

    name = "confident_images"
    meaning = "share of images with a box over a threshold"
    features = rising(*feature_names("confident_images"))
    source = "this project"

    def measure(self, evidence: Evidence) -> tuple[np.ndarray, int]:
        """Return whether one image has such a box (T,), and 1."""
        scores = evidence.clean.above(self.score_thr).scores
        return count_confident(scores) > 0, 1
