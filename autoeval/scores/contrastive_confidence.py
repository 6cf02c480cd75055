"""Contrastive confidence: confident where it says yes, silent where it says no."""

from __future__ import annotations

import numpy as np
from typing_extensions import Self

from autoeval.detections import Evidence
from autoeval.scores.base import RatioScore, ScoreContext, rising
from autoeval.scores.registry import register


def contrastive_confidence(
    scores: np.ndarray, *, threshold: float = 0.3, weight: float = 5.0
) -> float:
    """Mean score of an image's positives less a multiple of the mean score of its negatives.

    scores (N,): all scores that the detector gives, low ones included.
    threshold: positives are the boxes with a score of at least this, negatives are the others.
    weight: multiple of the negatives' mean (λ).
    Returned: a side without boxes has mean 0.

    >>> round(contrastive_confidence(np.array([.9, .7, .1])), 6)
    0.3
    """
    positive = scores >= scores.dtype.type(threshold)
    return _mean(scores[positive]) - weight * _mean(scores[~positive])


@register
class ContrastiveConfidence(RatioScore):
    r"""Mean contrastive confidence of a set of images.

    .. math:: CC = \frac{1}{M} \sum_{i=1}^{M} (mean\{s_{ij} ≥ .3\} - λ · mean\{s_{ij} < .3\}), λ = 5

    Meant for detectors without non-maximum suppression, whose many unused queries are the
    negatives: no score threshold applies before it.
    """

    name = "contrastive_confidence"
    meaning = "mean score of confident boxes less five times that of all others"
    features = rising("contrastive_confidence")
    source = "Park et al. 2024 (arXiv 2412.01782)"

    def __init__(self, *, threshold: float = 0.3, weight: float = 5.0) -> None:
        super().__init__(score_thr=0.0)
        self.threshold = threshold
        self.weight = weight

    @classmethod
    def make(cls, context: ScoreContext) -> Self:
        """Make the score as published, whatever the score threshold of the pass."""
        return cls()

    def measure(self, evidence: Evidence) -> tuple[float, int]:
        """Return the value of one image, and 1."""
        scores = evidence.clean.scores
        return contrastive_confidence(scores, threshold=self.threshold, weight=self.weight), 1


def _mean(values: np.ndarray) -> float:
    return float(values.mean(dtype=np.float64)) if len(values) else 0.0
