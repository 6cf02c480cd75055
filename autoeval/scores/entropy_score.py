"""Entropy score (ES): how decided the detector is about its boxes."""

from __future__ import annotations

import numpy as np
from scipy.special import entr

from autoeval.detections import Evidence
from autoeval.scores.base import RatioScore
from autoeval.scores.direction import rising
from autoeval.scores.feature_thresholds import THRESHOLDS, feature_names
from autoeval.scores.registry import register


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
