"""Entropy score (ES): how decided the detector is about its boxes."""

from __future__ import annotations

import numpy as np
from scipy.special import entr

from autoeval.detections import Evidence
from autoeval.scores.base import RatioScore
from autoeval.scores.thresholds import THRESHOLDS, exceed, feature_names


def binary_entropy(scores: np.ndarray) -> np.ndarray:
    """Entropy of a yes-or-no answer, in bits.

    Parameters
    ----------
    scores : ndarray of shape (N,)
        Probability of yes, in [0, 1].

    Returns
    -------
    ndarray of shape (N,), float64
        In [0, 1].

    Examples
    --------
    >>> binary_entropy(np.array([0., .5, 1.]))
    array([0., 1., 0.])
    """
    p = np.asarray(scores, np.float64)
    return (entr(p) + entr(1 - p)) / np.log(2)


class EntropyScore(RatioScore):
    r"""Binary entropy of box scores, in two forms.

    .. math:: H_2(s) = -s \log_2 s - (1 - s) \log_2 (1 - s)

    ``es@τ``
        Share of the set's boxes with H₂(s) < τ.
    ``es_mean@τ``
        Mean H₂(s) over the set's boxes with s > τ.

    for each τ of `THRESHOLDS`. Needs scores only. Source: Saito et al. 2019, adapted to boxes by
    Yang et al. 2024, section 5.1.

    Parameters
    ----------
    score_thr : float
        Only boxes with a score above it count.
    """

    def __init__(self, *, score_thr: float = 0.05) -> None:
        super().__init__((*feature_names("es"), *feature_names("es_mean")))
        self.score_thr = score_thr

    def measure(self, evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
        """Return the numerators and denominators of both forms, (2 T,)."""
        scores = evidence.clean.above(self.score_thr).scores
        entropy, over = binary_entropy(scores), exceed(scores)
        decided = (entropy < np.array(THRESHOLDS)[:, None]).sum(axis=1)
        above = np.concatenate([decided, over @ entropy])
        return above, np.concatenate([np.full(len(THRESHOLDS), len(scores)), over.sum(axis=1)])
