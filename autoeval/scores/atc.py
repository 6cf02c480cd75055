"""Average thresholded confidence (ATC), as adapted to detection."""

from __future__ import annotations

import numpy as np

from autoeval.detections import Evidence
from autoeval.scores.base import RatioScore
from autoeval.scores.thresholds import exceed, feature_names


class AverageThresholdedConfidence(RatioScore):
    r"""Mean score of the boxes over a threshold.

    .. math:: ATC(τ) = \sum_j s_j [s_j > τ] / \sum_j [s_j > τ]

    over the boxes of all images. Feature ``atc@τ`` for each τ of `THRESHOLDS`; NaN where no box is
    over it. Needs scores only. Source: Garg et al. 2022, adapted to boxes by Yang et al. 2024,
    section 5.1; for the original form see `SourceThreshold`.

    Parameters
    ----------
    score_thr : float
        Only boxes with a score above it count.
    """

    def __init__(self, *, score_thr: float = 0.05) -> None:
        super().__init__(feature_names("atc"))
        self.score_thr = score_thr

    def measure(self, evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of scores over each threshold and the numbers of them, (T,)."""
        scores = evidence.clean.above(self.score_thr).scores
        over = exceed(scores)
        return over @ scores.astype(np.float64), over.sum(axis=1)
