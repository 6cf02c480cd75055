"""The objective of the search: R² of a dropout's score with mAP, and its confidence."""

from __future__ import annotations

import numpy as np


def scores_of(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the score of each sample set under each dropout.

    Parameters
    ----------
    sums, counts : ndarray of shape (S, M, C)
        What each of M images adds to the numerator and to the denominator of the score.

    Returns
    -------
    ndarray of shape (S, C)
        NaN where no image of the sample set has a score.
    """
    above, below = sums.sum(1), counts.sum(1)
    return np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)


def r_squared(
    scores: np.ndarray, accuracy: np.ndarray, noise: np.ndarray | None = None
) -> np.ndarray:
    """Return the coefficient of determination of a line fitted to mAP against each score.

    The line may rise or be level but not fall: boxes that stay put where the detector is wrong are
    no evidence of its being right. A sample set without a score counts as one whose mAP is not
    explained at all, so that a dropout gains nothing by scoring few of them.

    Parameters
    ----------
    scores : ndarray of shape (S, C)
        NaN where undefined.
    accuracy : ndarray of shape (S,)
        mAP of the sample sets.
    noise : ndarray of shape (S, C), optional
        Variance of the scores for want of images, which is taken out of their spread; see
        `autoeval.research.dropout_search.objective`.

    Returns
    -------
    ndarray of shape (C,)
        At most 1; 0 where all scores are the same, and where they fall with mAP.

    Examples
    --------
    >>> r_squared(np.array([[.1], [.2], [.3]]), np.array([.2, .4, .6])).round(6)
    array([1.])
    """
    _, y, spread, product = _moments(scores, accuracy)
    known = ~np.isnan(scores)
    if noise is not None:
        least = spread / 4
        spread = np.maximum(spread - np.where(known, noise, 0).sum(0), least)
    explained = np.divide(
        np.maximum(product, 0) ** 2, spread, out=np.zeros_like(spread), where=spread > 0
    )
    explained = np.minimum(explained, (y**2).sum(0))
    off = np.where(known, accuracy[:, None] - accuracy.mean(), 0)
    about_mean = (off**2).sum(0) - (y**2).sum(0)  # known sets have a mean of their own
    return (explained + about_mean) / _total(accuracy)


def correlation(scores: np.ndarray, accuracy: np.ndarray) -> np.ndarray:
    """Return Pearson's r of each score with mAP over the sample sets that have one, (C,)."""
    _, y, spread, product = _moments(scores, accuracy)
    scale = np.sqrt(spread * (y**2).sum(0))
    return np.divide(product, scale, out=np.full(scale.shape, np.nan), where=scale > 0)


def gradient(scores: np.ndarray, accuracy: np.ndarray) -> np.ndarray:
    """Return the derivative of `r_squared` by each score, (S, C); 0 where undefined."""
    x, y, spread, product = _moments(scores, accuracy)
    slope = np.divide(np.maximum(product, 0), spread, out=np.zeros_like(spread), where=spread > 0)
    return 2 * slope * (y - slope * x) / _total(accuracy)


def _moments(
    scores: np.ndarray, accuracy: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return centred scores and accuracies, (S, C) and 0 where undefined, Σx² and Σxy, (C,)."""
    known = ~np.isnan(scores)
    n = np.maximum(known.sum(0), 1)
    values = np.where(known, scores, 0)
    x = np.where(known, values - values.sum(0) / n, 0)
    truth = np.where(known, accuracy[:, None], 0)
    y = np.where(known, truth - truth.sum(0) / n, 0)
    return x, y, (x**2).sum(0), (x * y).sum(0)


def _total(accuracy: np.ndarray) -> float:
    """Return the squares that there are to explain; where there are none, none are explained."""
    return max(float(((accuracy - accuracy.mean()) ** 2).sum()), np.finfo(float).tiny)


def compare_with_leader(
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
