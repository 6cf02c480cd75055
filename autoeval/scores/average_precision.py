"""Average precision of one set of boxes when another stands for the truth."""

from __future__ import annotations

import numpy as np

from autoeval.boxes import box_iou
from autoeval.detections import Detections

IOU_THRESHOLDS = tuple(round(0.5 + 0.05 * k, 2) for k in range(10))
"""COCO's: .5, .55, ..., .95."""


def match_greedily(found: Detections, truth: Detections, counted: np.ndarray) -> np.ndarray:
    """Match boxes to those that stand for the truth, the most confident first, as COCO does.

    Parameters
    ----------
    found : Detections of N boxes
        Best first.
    truth : Detections of M boxes
        A box takes the free one of its own category that it overlaps most, if that is enough.
    counted : ndarray of shape (T, M), bool
        Which of them stand for the truth, in each of T versions of it.

    Returns
    -------
    ndarray of shape (T, 10, N), bool
        Which boxes are matched, in each version and at each of `IOU_THRESHOLDS`.

    Examples
    --------
    >>> one = Detections(np.array([[0., 0., 10., 10.]]), np.array([.9]), np.array([0]))
    >>> low = Detections(np.array([[0., 0., 10., 7.]]), np.array([.8]), np.array([0]))
    >>> match_greedily(low, one, np.array([[True], [False]]))[:, :5, 0].astype(int)
    array([[1, 1, 1, 1, 1],
           [0, 0, 0, 0, 0]])
    """
    levels = np.array(IOU_THRESHOLDS)
    matched = np.zeros((len(counted), len(levels), len(found)), bool)
    if not len(found) or not len(truth):
        return matched
    overlap = box_iou(found.boxes.astype(np.float64), truth.boxes.astype(np.float64))
    overlap[found.labels[:, None] != truth.labels] = 0
    free = np.repeat(counted[:, None], len(levels), axis=1)
    for n in np.flatnonzero(overlap.max(axis=1) >= levels[0]):
        offers = np.where(free & (overlap[n] >= levels[:, None]), overlap[n], 0)
        best = offers.argmax(axis=2)
        version, level = np.nonzero(offers.max(axis=2))
        matched[version, level, n] = True
        free[version, level, best[version, level]] = False
    return matched


def average_precision(matched: np.ndarray, n_true: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Area below the precision over recall, precision being the highest at that recall or more.

    Parameters
    ----------
    matched : ndarray of shape (T, L, N), bool
        Of all boxes of a category, best first.
    n_true : ndarray of shape (T,)
        Number of true boxes; with weights, the sum of those of their images.
    weights : ndarray of shape (N,)
        How often each box counts.

    Returns
    -------
    ndarray of shape (T, L)
        In [0, 1], NaN without true boxes.

    Examples
    --------
    >>> average_precision(np.array([[[True, False, True]]]), np.array([2]), np.ones(3)).round(4)
    array([[0.8333]])
    """
    hits = matched * weights
    total = np.cumsum(weights)
    precision = np.cumsum(hits, axis=-1) / np.where(total > 0, total, 1)
    highest = np.maximum.accumulate(precision[..., ::-1], axis=-1)[..., ::-1]
    area = (hits * highest).sum(axis=-1)
    known = (n_true > 0)[:, None]
    return np.divide(area, n_true[:, None], out=np.full(area.shape, np.nan), where=known)
