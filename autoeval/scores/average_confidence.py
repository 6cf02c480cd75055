"""Average confidence (AC)."""

from __future__ import annotations

from autoeval.detections import Evidence
from autoeval.scores.base import RatioScore
from autoeval.scores.direction import rising
from autoeval.scores.registry import register


@register
class AverageConfidence(RatioScore):
    r"""Mean score of the boxes of a set.

    .. math:: AC = \frac{1}{N} \sum_{j=1}^{N} s_j

    over the N boxes of all images.
    """

    name = "ac"
    meaning = "average confidence: mean score of the boxes"
    features = rising("ac")
    source = "Guillory et al. 2021, adapted to boxes by Yang et al. 2024, section 5.1"

    def measure(self, evidence: Evidence) -> tuple[float, int]:
        """Return the sum of the scores and the number of boxes."""
        scores = evidence.clean.above(self.score_thr).scores
        return scores.sum(dtype="float64"), len(scores)
