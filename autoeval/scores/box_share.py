"""Share of boxes over a threshold, image by image."""

from __future__ import annotations

import numpy as np

from autoeval.detections import Evidence
from autoeval.scores.base import RatioScore
from autoeval.scores.direction import rising
from autoeval.scores.feature_thresholds import feature_names
from autoeval.scores.prediction_score import count_confident
from autoeval.scores.registry import register


@register
class BoxShare(RatioScore):
    r"""Mean over images of the share of an image's boxes with a score over a threshold.

    .. math:: share(t) = \frac{1}{M} \sum_{i=1}^{M} \#\{s_{ij} > t\} / \#\{s_{ij}\}

    for each t of `THRESHOLDS`. An image without boxes adds 0. The share over the boxes of the whole
    set, in which crowded images weigh more, is `PredictionScore`.
    """

    name = "box_share"
    meaning = "share of an image's boxes over a threshold, mean over images"
    features = rising(*feature_names("box_share"))
    source = "Hendrycks & Gimpel 2017, taken image by image"

    def measure(self, evidence: Evidence) -> tuple[np.ndarray, int]:
        """Return the shares of one image (T,), and 1."""
        scores = evidence.clean.above(self.score_thr).scores
        return count_confident(scores) / max(len(scores), 1), 1
