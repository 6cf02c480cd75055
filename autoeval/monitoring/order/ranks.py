"""Order of sites: which are among the worst, and which of two is worse, as probabilities."""

from __future__ import annotations

import numpy as np

DRAWS = 4000


def among_worst(drawn: np.ndarray, k: int) -> np.ndarray:
    """Return the probability of each site to be among the k worst.

    Parameters
    ----------
    drawn : ndarray of shape (draws, K)
        Accuracies of all sites, drawn together; see `NewSites.draw`.
    k : int
        At least 1.

    Returns
    -------
    ndarray of shape (K,)
        They add up to k; NaN where there are no more sites than k.

    Examples
    --------
    >>> among_worst(np.array([[.1, .5, .3], [.4, .2, .3]]), 1)
    array([0.5, 0.5, 0. ])
    """
    if k >= drawn.shape[1]:
        return np.full(drawn.shape[1], np.nan)
    worst = np.argpartition(drawn, k - 1, axis=1)[:, :k]
    return np.bincount(worst.ravel(), minlength=drawn.shape[1]) / len(drawn)


def worse_than(drawn: np.ndarray, sites: np.ndarray) -> np.ndarray:
    """Return the probability of some sites to be worse than each other one.

    Parameters
    ----------
    drawn : ndarray of shape (draws, K)
    sites : ndarray of shape (M,), int
        Which of them are compared with all.

    Returns
    -------
    ndarray of shape (M, K)
        One half where a site is compared with itself.

    Examples
    --------
    >>> worse_than(np.array([[.1, .5], [.4, .2]]), np.array([0]))
    array([[0.5, 0.5]])
    """
    each = ((drawn[:, [p]] < drawn).mean(axis=0) for p in sites)
    probabilities = np.array(list(each))
    probabilities[np.arange(len(sites)), sites] = 0.5
    return probabilities


def ranks(values: np.ndarray) -> np.ndarray:
    """Return the site of each value in their order, the lowest first from 1; NaN come last.

    Examples
    --------
    >>> ranks(np.array([.5, np.nan, .2]))
    array([2, 3, 1])
    """
    order = np.argsort(values, kind="stable")
    sites = np.empty(len(values), np.int64)
    sites[order] = np.arange(1, len(values) + 1)
    return sites
