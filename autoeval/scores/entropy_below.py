"""Mean entropy of the unsure boxes, the entropy score of the authors' code."""

from __future__ import annotations

import numpy as np

from autoeval.detections import Evidence
from autoeval.scores.base import RatioScore
from autoeval.scores.direction import undirected
from autoeval.scores.entropy_score import binary_entropy
from autoeval.scores.feature_thresholds import THRESHOLDS, feature_names
from autoeval.scores.registry import register

FIRST = 2  # position of .10 in `THRESHOLDS`


@register
class EntropyBelow(RatioScore):
    r"""Mean binary entropy of the scores of a set's boxes below a threshold.

    .. math:: \sum_j H_2(s_j) [s_j < τ] / \sum_j [s_j < τ]

    over the boxes of all images, for each τ of `THRESHOLDS` above .05, under which no box counts;
    NaN where no box is below it. The paper's text takes the share of boxes of low entropy
    (`EntropyScore`); the code released with it computes this. See `binary_entropy`.
    """

    name = "es_below"
    meaning = "mean entropy of the scores below a threshold"
    features = undirected(*feature_names("es_below")[FIRST:])
    source = "Saito et al. 2019, as in the code of Yang et al. 2024"

    def measure(self, evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of entropies below each threshold and the numbers of boxes, (T,)."""
        scores = evidence.clean.above(self.score_thr).scores
        below = scores < np.array(THRESHOLDS[FIRST:], scores.dtype)[:, None]
        return below @ binary_entropy(scores), below.sum(axis=1)
