"""Images on which exactly the same was found: copies of one."""

from __future__ import annotations

import numpy as np

from autoeval.data.predictions.box_columns import Predictions

AT_ONCE = 1_000_000
ODD, SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)  # of 2**64 by the golden ratio


def copies(found: Predictions) -> np.ndarray:
    """Find images whose boxes, words and scores are those of an earlier image.

    Parameters
    ----------
    found : Predictions

    Returns
    -------
    ndarray of shape (n,), int64
        Numbers of the later images. Images without a box are no copies: nothing tells them apart.
    """
    alike = _with_a_like(found)
    found = found.where(alike[found.image])
    order = np.lexsort((*found.boxes.T, found.label, found.scores, found.image))
    columns = (found.boxes[order], found.scores[order, None], found.label[order, None])
    rows = np.concatenate([part.astype(np.float64) for part in columns], axis=1)
    ends = np.searchsorted(found.image[order], np.arange(len(found.images) + 1))
    seen: dict[bytes, int] = {}
    later = []
    for k in np.flatnonzero(alike).tolist():
        content = rows[ends[k] : ends[k + 1]].tobytes()
        if seen.setdefault(content, k) != k:
            later.append(k)
    return np.array(later, np.int64)


def _with_a_like(found: Predictions) -> np.ndarray:
    """Find the images whose sum over boxes of a hash occurs twice: all copies, and hardly others.

    Returns
    -------
    ndarray of shape (M,), bool
    """
    total = np.zeros(len(found.images), np.uint64)
    for start in range(0, len(found), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        hashed = found.label[part].astype(np.uint64)
        for column in (*found.boxes[part].T, found.scores[part]):
            hashed = (hashed ^ np.ascontiguousarray(column).view(np.uint32)) * ODD
            hashed ^= hashed >> SHIFT
        np.add.at(total, found.image[part], hashed * ODD)
    some = np.zeros(len(total), bool)
    some[found.image] = True
    _, place, times = np.unique(total[some], return_inverse=True, return_counts=True)
    some[some] = times[place] > 1
    return some
