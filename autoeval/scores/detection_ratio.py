"""How many boxes survive the perturbation."""

from __future__ import annotations

from autoeval.detections import Evidence
from autoeval.scores.base import RatioScore
from autoeval.scores.direction import falling, rising
from autoeval.scores.registry import register


@register
class DetectionRatio(RatioScore):
    """Loss of boxes under perturbation, which box stability alone does not see.

    ``detection_ratio``
        Mean of N' / N over (image, repeat) with clean boxes, N' counted under perturbation.
    ``skipped_share``
        Share of (image, repeat) with no box on at least one side: box stability counts them as 0,
        or skips them, as its settings say.
    """

    name = "detection_ratio"
    meaning = "share of boxes that feature dropout leaves, and of images without a box in one pass"
    features = rising("detection_ratio") | falling("skipped_share")
    needs = frozenset({"perturbed"})
    source = "this project"

    def measure(self, evidence: Evidence) -> tuple[tuple[float, int], tuple[int, int]]:
        """Return the sum of ratios and the number of skipped passes, and their denominators."""
        n = len(evidence.clean.above(self.score_thr))
        counts = [len(boxes.above(self.score_thr)) for boxes in evidence.perturbed]
        skipped = sum(not n or not m for m in counts)
        repeats = len(counts)
        return (sum(counts) / n if n else 0.0, skipped), (repeats if n else 0, repeats)
