"""One matching of two sets of boxes, shared by all scores that compare them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from autoeval.boxes import match_boxes
from autoeval.detections import Detections


@dataclass(frozen=True, eq=False)
class Matching:
    """Pairs of the boxes of two passes over one image.

    Parameters
    ----------
    overlaps : ndarray of shape (P,)
        IoU or GIoU of each pair.
    score_changes : ndarray of shape (P,)
        Absolute difference of the scores of each pair.
    n_first, n_second : int
        Boxes on either side, matched or not.
    """

    overlaps: np.ndarray
    score_changes: np.ndarray
    n_first: int
    n_second: int


@lru_cache(maxsize=64)
def match_detections(
    first: Detections, second: Detections, *, cost: str, class_aware: bool, score_thr: float
) -> Matching:
    """Match the boxes of two passes so that the sum of their overlaps is the largest.

    The last results are remembered, by the identity of the arguments.

    Parameters
    ----------
    first, second : Detections
    cost : {"giou", "iou"}
    class_aware : bool
        Match within a category only.
    score_thr : float
        Only boxes with a score above it are matched.

    Returns
    -------
    Matching
    """
    first, second = first.above(score_thr), second.above(score_thr)
    groups = np.intersect1d(first.labels, second.labels) if class_aware else [None]
    overlaps, changes = [np.zeros(0)], [np.zeros(0)]
    for label in groups:
        a, b = (side if label is None else side[side.labels == label] for side in (first, second))
        rows, columns, values = match_boxes(a.boxes, b.boxes, cost=cost)
        overlaps.append(values)
        changes.append(np.abs(a.scores[rows].astype(np.float64) - b.scores[columns]))
    return Matching(np.concatenate(overlaps), np.concatenate(changes), len(first), len(second))
