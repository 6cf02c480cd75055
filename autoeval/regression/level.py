"""How far accuracies stray at a level: less near 0 and 1 than in the middle."""

from __future__ import annotations

import numpy as np


def spread_at(mean: np.ndarray, std: np.ndarray, least: float) -> np.ndarray:
    r"""Say how far pairs at a level stray, relative to those in the middle.

    .. math:: h = \max(2 \sqrt{m (1 - m)}, h_0)

    the standard deviation of a share, where m is the level, moved towards the middle by as much as
    it is uncertain: whoever does not know that a place is near the edge does not gain from it.

    Parameters
    ----------
    mean, std : ndarray of shape (N,)
        Level by the line alone, not clipped, and its uncertainty.
    least : float
        h0, in (0, 1].

    Returns
    -------
    ndarray of shape (N,)
        In [`least`, 1].

    Examples
    --------
    >>> spread_at(np.array([-.2, .1, .1, .5]), np.array([0, 0, .1, .1]), .35).round(2)
    array([0.35, 0.6 , 0.8 , 1.  ])
    """
    inside = np.clip(mean, 0, 1)
    below = inside < 0.5
    moved = np.where(below, np.minimum(inside + std, 0.5), np.maximum(inside - std, 0.5))
    return np.maximum(2 * np.sqrt(moved * (1 - moved)), least)
