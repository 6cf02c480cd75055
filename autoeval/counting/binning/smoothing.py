"""The counts that binning works on: whole numbers, smoothed by one of every integer between."""

from __future__ import annotations

from typing import Any

import numpy as np

from autoeval.errors import InputError


def whole_counts(counts: Any) -> np.ndarray:
    """Check counts for binning.

    Parameters
    ----------
    counts : array-like of shape (N,)
        True counts.

    Returns
    -------
    ndarray of shape (N,), int64

    Raises
    ------
    InputError
        If there are none, or any is NaN, infinite, negative or not whole.
    """
    values = np.asarray(counts, np.float64).ravel()
    if not len(values):
        raise InputError("Expected at least one count to bin but got none.")
    bad = ~np.isfinite(values) | (values < 0) | (values != np.floor(values))
    if bad.any():
        raise InputError(
            f"Binning needs whole counts from 0 up, but {bad.sum()} of {len(values)} are not "
            f"(first: {values[bad][0]:g}). Round them, or leave them out."
        )
    return values.astype(np.int64)


def rounded_counts(counts: Any) -> np.ndarray:
    """Round fractional counts for binning, the extremes outwards, so that bins hold all of them.

    Parameters
    ----------
    counts : array-like of shape (N,)
        Finite, from 0 up.

    Returns
    -------
    ndarray of shape (N,), float64

    Examples
    --------
    >>> rounded_counts([2.4, 3.6, 10.4]).tolist()
    [2.0, 4.0, 11.0]
    """
    values = np.asarray(counts, np.float64).ravel()
    whole = np.rint(values)
    if len(values) and values.min() < values.max():
        whole[values.argmin()] = np.floor(values.min())
        whole[values.argmax()] = np.ceil(values.max())
    return whole


def smoothed_frequencies(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Add one of every integer in [min, max] (paper, section III-B4, with beta = 1).

    Parameters
    ----------
    counts : ndarray of shape (N,), int64

    Returns
    -------
    values, frequencies : ndarray of shape (max - min + 1,), int64

    Examples
    --------
    >>> smoothed_frequencies(np.array([3, 3, 6]))
    (array([3, 4, 5, 6]), array([3, 1, 1, 2]))
    """
    low, high = counts.min(), counts.max()
    values = np.arange(low, high + 1)
    return values, 1 + np.bincount(counts - low, minlength=len(values))
