"""How many boxes there are."""

from __future__ import annotations

from autoeval.detections import Evidence
from autoeval.scores.base import RatioScore
from autoeval.scores.direction import falling, undirected
from autoeval.scores.registry import register


@register
class BoxCount(RatioScore):
    """Number of boxes, which shares and means of scores do not see.

    ``boxes_per_image``
        Mean number N of clean boxes.
    ``no_box_share``
        Share of images with no clean box.
    """

    name = "box_count"
    meaning = "mean number of boxes, and share of images without one"
    features = undirected("boxes_per_image") | falling("no_box_share")
    source = "this project"

    def measure(self, evidence: Evidence) -> tuple[tuple[int, bool], int]:
        """Return the number of boxes, whether there is none, and 1."""
        n = len(evidence.clean.above(self.score_thr))
        return (n, n == 0), 1
