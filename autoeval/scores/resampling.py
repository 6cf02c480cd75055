"""Bootstrap draws: how often each item of a set is taken in each resample of it."""

from __future__ import annotations

import numpy as np


def resampled_counts(n_items: int, *, resamples: int, seed: int = 0) -> np.ndarray:
    """Draw `n_items` out of as many with replacement, many times.

    Parameters
    ----------
    n_items : int
        At least 1.
    resamples : int
    seed : int

    Returns
    -------
    ndarray of shape (resamples, n_items), int64
        How often each item was drawn; rows sum to `n_items`.

    Examples
    --------
    >>> resampled_counts(5, resamples=3).sum(axis=1)
    array([5, 5, 5])
    """
    rng = np.random.default_rng(seed)
    return rng.multinomial(n_items, np.full(n_items, 1 / n_items), size=resamples)
