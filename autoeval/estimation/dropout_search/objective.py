"""What the search maximises: how much of the variance of mAP a dropout's score explains."""

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
        `autoeval.estimation.dropout_search.confidence`.

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
