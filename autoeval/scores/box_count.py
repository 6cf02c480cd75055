"""How many boxes there are."""

from __future__ import annotations

from autoeval.detections import Evidence
from autoeval.scores.base import RatioScore


class BoxCount(RatioScore):
    """Number of boxes, which shares and means of scores do not see.

    ``boxes_per_image``
        Mean number N of clean boxes.
    ``no_box_share``
        Share of images with no clean box.

    Needs scores only. Source: specification, section 2, last row of the table.

    Parameters
    ----------
    score_thr : float
        Only boxes with a score above it count.
    """

    def __init__(self, *, score_thr: float = 0.05) -> None:
        super().__init__(["boxes_per_image", "no_box_share"])
        self.score_thr = score_thr

    def measure(self, evidence: Evidence) -> tuple[tuple[int, bool], int]:
        """Return the number of boxes, whether there is none, and 1."""
        n = len(evidence.clean.above(self.score_thr))
        return (n, n == 0), 1
