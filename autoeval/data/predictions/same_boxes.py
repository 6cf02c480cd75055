"""Images on which exactly the same was found: copies of one."""

from __future__ import annotations

import numpy as np

from autoeval.data.predictions.box_columns import Predictions


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
    order = np.lexsort((*found.boxes.T, found.label, found.scores, found.image))
    columns = (found.boxes[order], found.scores[order, None], found.label[order, None])
    rows = np.concatenate([part.astype(np.float64) for part in columns], axis=1)
    ends = np.searchsorted(found.image[order], np.arange(len(found.images) + 1))
    seen: dict[bytes, int] = {}
    later = []
    for k in np.unique(found.image).tolist():
        content = rows[ends[k] : ends[k + 1]].tobytes()
        if seen.setdefault(content, k) != k:
            later.append(k)
    return np.array(later, np.int64)
