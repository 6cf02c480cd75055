"""Confidence in the best box of an image."""

from __future__ import annotations

from autoeval.detections import Evidence
from autoeval.scores.base import RatioScore
from autoeval.scores.direction import rising
from autoeval.scores.registry import register


@register
class BestBox(RatioScore):
    r"""Mean over images of the highest score in each.

    .. math:: \frac{1}{M} \sum_{i=1}^{M} \max_j s_{ij}

    and 0 for an image without a box. Where `ConfidentImages` asks whether something is there, this
    asks how sure the detector is of it.
    """

    name = "best_box"
    meaning = "mean over images of the highest score"
    features = rising("best_box")
    source = "this project"

    def measure(self, evidence: Evidence) -> tuple[float, int]:
        """Return the highest score of one image, and 1."""
        scores = evidence.clean.above(self.score_thr).scores
        return float(scores.max(initial=0.0)), 1
