"""Average thresholded confidence (ATC), as adapted to detection."""

from __future__ import annotations

import numpy as np

from autoeval.detections import Evidence
from autoeval.scores.base import RatioScore
from autoeval.scores.direction import rising
from autoeval.scores.feature_thresholds import exceed, feature_names
from autoeval.scores.registry import register


@register
class AverageThresholdedConfidence(RatioScore):
    r"""Mean score of the boxes over a threshold.

    .. math:: ATC(τ) = \sum_j s_j [s_j > τ] / \sum_j [s_j > τ]

    over the boxes of all images, for each τ of `THRESHOLDS`; NaN where no box is over it. For the
    original form see `SourceThreshold`.
    """

    name = "atc"
    meaning = "average thresholded confidence: mean score of the boxes over a threshold"
    features = rising(*feature_names("atc"))
    source = "Garg et al. 2022, adapted to boxes by Yang et al. 2024, section 5.1"

    def measure(self, evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of scores over each threshold and the numbers of them, (T,)."""
        scores = evidence.clean.above(self.score_thr).scores
        over = exceed(scores)
        return over @ scores.astype(np.float64), over.sum(axis=1)
