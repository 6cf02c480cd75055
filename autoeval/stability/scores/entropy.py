"""Scores from the entropy of confidences: how decided the detector is about its boxes."""

from __future__ import annotations

import numpy as np
from scipy.special import entr

from autoeval.detections import Evidence
from autoeval.stability.scores.base import (
    THRESHOLDS,
    RatioScore,
    exceed,
    falling,
    feature_names,
    rising,
    undirected,
)
from autoeval.stability.scores.registry import register

FIRST = 2  # position of .10 in `THRESHOLDS`


def binary_entropy(scores: np.ndarray) -> np.ndarray:
    """Entropy of a yes-or-no answer, in bits.

    scores (N,): probability of yes, in [0, 1].
    Returned: (N,), float64: in [0, 1].

    >>> binary_entropy(np.array([0., .5, 1.]))
    array([0., 1., 0.])
    """
    p = np.asarray(scores, np.float64)
    return (entr(p) + entr(1 - p)) / np.log(2)


@register
class EntropyScore(RatioScore):
    r"""Share of a set's boxes whose score has a binary entropy below a threshold.

    .. math:: ES(τ) = \#\{H_2(s) < τ\} / \#\{s\}, H_2(s) = -s \log_2 s - (1 - s) \log_2 (1 - s)

    over all boxes of all images, for each τ of `THRESHOLDS`.
    """

    name = "es"
    meaning = "entropy score: share of boxes whose score is decided"
    features = rising(*feature_names("es"))
    source = "Saito et al. 2019, adapted to boxes by Yang et al. 2024, section 5.1"

    def measure(self, evidence: Evidence) -> tuple[np.ndarray, int]:
        """Return the numbers of decided boxes (T,) and of all boxes."""
        scores = evidence.clean.above(self.score_thr).scores
        decided = binary_entropy(scores) < np.array(THRESHOLDS)[:, None]
        return decided.sum(axis=1), len(scores)


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
