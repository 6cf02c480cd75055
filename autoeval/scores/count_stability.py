"""How well the number of boxes stands up to perturbation."""

from __future__ import annotations

import numpy as np

from autoeval.detections import Detections, Evidence
from autoeval.scores.base import RatioScore
from autoeval.scores.direction import undirected
from autoeval.scores.feature_thresholds import THRESHOLDS, exceed, feature_names
from autoeval.scores.registry import register


@register
class CountStability(RatioScore):
    r"""Stability of a detector's counts under feature dropout.

    With n clean and n' perturbed boxes over a threshold, the change of an image's count is
    \|n - n'\| / max(n, n'), and 0 where both are 0. Two features for each τ of `THRESHOLDS`, both
    in [0, 1] and larger where counts are more stable:

    ``count_stability@τ``
        1 - mean change over (image, repeat).
    ``count_stability_pooled@τ``
        1 - Σ \|n - n'\| / Σ max(n, n') over (image, repeat), in which images count by their boxes
        and those without any say nothing; NaN where there is no box at all.

    Boxes under ``score_thr`` never count, whatever τ.

    Examples
    --------
    >>> many = Detections(np.zeros((4, 4)), np.full(4, .9), np.zeros(4))
    >>> score = CountStability()
    >>> score.update(Evidence("street", (9, 9), many, (many[:3],)))
    >>> score.update(Evidence("lawn", (9, 9), many[:0], (many[:0],)))
    >>> features = score.compute()
    >>> features["count_stability@0.30"], features["count_stability_pooled@0.30"]
    (0.875, 0.75)
    """

    name = "count_stability"
    meaning = "how well the number of boxes stands up to feature dropout"
    features = undirected(
        *feature_names("count_stability"), *feature_names("count_stability_pooled")
    )
    needs = frozenset({"perturbed"})
    source = "this project"

    def measure(self, evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums over repeats of what stayed, and their denominators, (2T,)."""
        clean = self._counts(evidence.clean)
        perturbed = np.array([self._counts(boxes) for boxes in evidence.perturbed])
        perturbed = perturbed.reshape(-1, len(THRESHOLDS))
        fewer, more = np.minimum(clean, perturbed), np.maximum(clean, perturbed)
        unchanged = np.divide(fewer, more, out=np.ones(more.shape), where=more > 0)
        repeats = np.full(len(THRESHOLDS), len(perturbed))
        return (
            np.concatenate([unchanged.sum(axis=0), fewer.sum(axis=0)]),
            np.concatenate([repeats, more.sum(axis=0)]),
        )

    def _counts(self, boxes: Detections) -> np.ndarray:
        return exceed(boxes.above(self.score_thr).scores).sum(axis=1)
