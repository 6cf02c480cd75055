"""How many confident boxes the pass at half the input size keeps."""

from __future__ import annotations

import numpy as np

from autoeval.detections import Detections, Evidence
from autoeval.scores.agreement import CONFIDENT, at_confidences
from autoeval.scores.base import RatioScore
from autoeval.scores.direction import rising
from autoeval.scores.registry import register


@register
class ScaleCount(RatioScore):
    r"""Confident boxes at half the input size for each one at full size.

    .. math:: \frac{\sum_i |\{j : s'_{ij} > t\}|}{\sum_i |\{j : s_{ij} > t\}|}

    with s' the scores at half the size, for each t of `CONFIDENT`. It falls where objects are
    small: they are the first to be lost. NaN where nothing is that confident.
    """

    name = "scale_count"
    meaning = "confident boxes at half the size, for each at full size"
    features = rising(*at_confidences("scale_count"))
    needs = frozenset({"half_size"})
    source = "this project"

    def measure(self, evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of confident boxes of one image, at half and at full size, (T,)."""
        return _confident(evidence.require("half_size")), _confident(evidence.clean)


def _confident(boxes: Detections) -> np.ndarray:
    least = np.array(CONFIDENT, boxes.scores.dtype)[:, None]
    return (boxes.scores > least).sum(axis=1)
