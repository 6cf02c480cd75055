"""Mean entropy of box scores."""

from __future__ import annotations

import numpy as np

from autoeval.detections import Evidence
from autoeval.scores.base import RatioScore
from autoeval.scores.direction import falling
from autoeval.scores.entropy_score import binary_entropy
from autoeval.scores.feature_thresholds import exceed, feature_names
from autoeval.scores.registry import register


@register
class EntropyMean(RatioScore):
    r"""Mean binary entropy of the scores of a set's boxes over a threshold.

    .. math:: \sum_j H_2(s_j) [s_j > τ] / \sum_j [s_j > τ]

    over the boxes of all images, for each τ of `THRESHOLDS`; NaN where no box is over it. See
    `binary_entropy`.
    """

    name = "es_mean"
    meaning = "mean entropy of the scores over a threshold"
    features = falling(*feature_names("es_mean"))
    source = "Saito et al. 2019, as a mean"

    def measure(self, evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of entropies over each threshold and the numbers of boxes, (T,)."""
        scores = evidence.clean.above(self.score_thr).scores
        over = exceed(scores)
        return over @ binary_entropy(scores), over.sum(axis=1)
