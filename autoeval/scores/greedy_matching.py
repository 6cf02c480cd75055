"""Matching the boxes of many passes to those that stand for the truth, all passes at once."""

from __future__ import annotations

import numpy as np

from autoeval.box_pairs import overlapping_pairs
from autoeval.pair_rounds import best_of_each, rounds
from autoeval.scores.average_precision import IOU_THRESHOLDS

LEVELS = np.array(IOU_THRESHOLDS)


def match_greedily(
    found: np.ndarray,
    group: np.ndarray,
    truth: np.ndarray,
    true_group: np.ndarray,
    counted: np.ndarray,
) -> np.ndarray:
    """Match boxes to those that stand for the truth, the most confident first, as COCO does.

    A box takes the free one of its group that it overlaps most, if that is enough; of equals the
    first.

    Parameters
    ----------
    found : ndarray of shape (N, 4)
        Boxes as xyxy, those of a group best first.
    group : ndarray of shape (N,), int
        Such as an image and category.
    truth : ndarray of shape (M, 4)
    true_group : ndarray of shape (M,), int
    counted : ndarray of shape (T, M), bool
        Which of them stand for the truth, in each of T versions of it.

    Returns
    -------
    ndarray of shape (T, 10, N), bool
        Which boxes are matched, in each version and at each of `IOU_THRESHOLDS`.

    Examples
    --------
    >>> one, low = np.array([[0., 0., 10., 10.]]), np.array([[0., 0., 10., 7.]])
    >>> same = np.array([0])
    >>> matched = match_greedily(low, same, one, same, np.array([[True], [False]]))
    >>> matched[:, :5, 0].astype(int)
    array([[1, 1, 1, 1, 1],
           [0, 0, 0, 0, 0]])
    """
    order = np.argsort(group, kind="stable")
    group = group[order]
    rows, columns, overlaps = overlapping_pairs(
        found[order].astype(np.float64),
        group,
        truth.astype(np.float64),
        true_group,
        least=LEVELS[0],
    )
    first_last = np.lexsort((-columns, rows))  # of equals the last counts below
    rows, columns, overlaps = rows[first_last], columns[first_last], overlaps[first_last]
    free = np.repeat(counted, len(LEVELS), axis=0)
    least = np.tile(LEVELS, len(counted))[:, None]
    matched = np.zeros((len(free), len(found)), bool)
    for part in rounds(rows, group):
        box, target = rows[part], columns[part]
        offer = free[:, target] & (overlaps[part] >= least)
        version, chosen = best_of_each(np.where(offer, overlaps[part], 0.0), box)
        matched[version, order[box[chosen]]] = True
        free[version, target[chosen]] = False
    return matched.reshape(len(counted), len(LEVELS), len(found))
