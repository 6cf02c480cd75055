"""How many boxes survive the perturbation."""

from __future__ import annotations

from autoeval.detections import Evidence
from autoeval.scores.base import RatioScore


class DetectionRatio(RatioScore):
    """Loss of boxes under perturbation, which box stability alone does not see.

    ``detection_ratio``
        Mean of N' / N over (image, repeat) with clean boxes, N' counted under perturbation.
    ``skipped_share``
        Share of (image, repeat) with no box on at least one side, which box stability skips.

    Needs perturbed passes. Source: specification, section 1, last paragraph but one, and section 2.

    Parameters
    ----------
    score_thr : float
        Only boxes with a score above it count.
    """

    needs = frozenset({"perturbed"})

    def __init__(self, *, score_thr: float = 0.05) -> None:
        super().__init__(["detection_ratio", "skipped_share"])
        self.score_thr = score_thr

    def measure(self, evidence: Evidence) -> tuple[tuple[float, int], tuple[int, int]]:
        """Return the sum of ratios and the number of skipped passes, and their denominators."""
        n = len(evidence.clean.above(self.score_thr))
        counts = [len(boxes.above(self.score_thr)) for boxes in evidence.perturbed]
        skipped = sum(not n or not m for m in counts)
        repeats = len(counts)
        return (sum(counts) / n if n else 0.0, skipped), (repeats if n else 0, repeats)
