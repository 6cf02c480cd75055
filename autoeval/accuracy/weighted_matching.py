"""Matching of detections to boxes that are labels with a probability only."""

from __future__ import annotations

import numpy as np

from autoeval.accuracy.coco_matching import IOU_THRESHOLDS, best_offers, turns
from autoeval.boxes import overlapping_pairs

# An IoU is at most 1, so it decides between equal weights and never between others that differ by
# more than this.
_TIE = 2.0**-20


def match_weighted(
    boxes: np.ndarray,
    group: np.ndarray,
    labelled: np.ndarray,
    labelled_group: np.ndarray,
    weights: np.ndarray,
) -> np.ndarray:
    """Return the weight of the labelled box that each detection is matched to, (10, N).

    A detection takes the free box of its group with the highest weight, of those whose IoU reaches
    the threshold; of equal weights that of the highest IoU. 0 without one. With weights of 1 these
    are the true positives of `match_detections`.

    Parameters
    ----------
    boxes : ndarray of shape (N, 4)
        Detections as xyxy, pixels; those of a group by descending score.
    group : ndarray of shape (N,), int
        A number for each image and category.
    labelled, labelled_group : ndarray of shape (M, 4) and (M,)
    weights : ndarray of shape (M,)
        In [0, 1], such as the probability that the box is an object.

    Examples
    --------
    >>> box = np.array([[0., 0., 10., 10.]])
    >>> match_weighted(box, np.array([0]), box, np.array([0]), np.array([.7]))[:, 0].min()
    np.float64(0.7)
    """
    order = np.argsort(group, kind="stable")
    rows, columns, overlaps = overlapping_pairs(
        boxes[order].astype(np.float64),
        group[order],
        labelled.astype(np.float64),
        labelled_group,
        least=IOU_THRESHOLDS[0],
    )
    matched = np.zeros((len(IOU_THRESHOLDS), len(boxes)))
    free = np.ones((len(IOU_THRESHOLDS), len(labelled)), bool)
    for turn in turns(rows, group[order]):
        box, target, overlap = rows[turn], columns[turn], overlaps[turn]
        offers = free[:, target] & (overlap >= IOU_THRESHOLDS[:, None])
        worth = np.where(offers, weights[target] + _TIE * overlap, 0.0)
        level, best = best_offers(worth, box)
        matched[level, order[box[best]]] = weights[target[best]]
        free[level, target[best]] = False
    return matched
