"""How far R² on some images may be from R² on all of them.

Sample sets and their mAP are given; what is uncertain is each score, a mean over the images seen so
far. The error of a mean of m out of M images drawn without replacement has the variance
``(1 - m / M) * s² / m``. Errors of two dropouts on the same images are alike, since both share the
images and the random draws, so the gap between their R² is far better known than either R².
"""

from __future__ import annotations

import numpy as np

from autoeval.estimation.dropout_search.objective import gradient, r_squared, scores_of


def judge(
    sums: np.ndarray, counts: np.ndarray, accuracy: np.ndarray, seen: np.ndarray, size: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Estimate R² over all images, and how well the gap to the best dropout is known.

    Parameters
    ----------
    sums, counts : ndarray of shape (S, M, C)
        See `scores_of`; 0 for images not seen.
    accuracy : ndarray of shape (S,)
    seen, size : ndarray of shape (S,), int
        Images seen of each sample set, at least two or all, and images that it has.

    Returns
    -------
    r2 : ndarray of shape (C,)
        The spread of the scores is freed from what it owes to the images being few, which would
        hold R² of noisier dropouts down. Exact once all images are seen.
    errors : ndarray of shape (C,)
        Standard error of the gap between each R² and the largest (delta method); 0 for that one.
    """
    scores = scores_of(sums, counts)
    deviations = _deviations(sums, counts, scores)
    factor = (1 - seen / size) * seen / np.maximum(seen - 1, 1)
    noise = factor[:, None] * (deviations**2).sum(1)
    r2 = r_squared(scores, accuracy, noise)
    pull = gradient(scores, accuracy)[:, None, :] * deviations
    gaps = pull - pull[..., [np.argmax(r2)]]
    return r2, np.sqrt((factor[:, None, None] * gaps**2).sum((0, 1)))


def _deviations(sums: np.ndarray, counts: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return what each image moves its set's score by, (S, M, C), summing to 0 over images."""
    below = np.maximum(counts.sum(1), 1)
    return (sums - np.nan_to_num(scores)[:, None, :] * counts) / below[:, None, :]
