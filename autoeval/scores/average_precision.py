"""Average precision of one set of boxes when another stands for the truth."""

from __future__ import annotations

import numpy as np

IOU_THRESHOLDS = tuple(round(0.5 + 0.05 * k, 2) for k in range(10))
"""COCO's: .5, .55, ..., .95."""


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
