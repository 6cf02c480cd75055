"""The thresholds that scores are computed at.

Every thresholded score gives one feature a threshold, so that the best one can be chosen later,
on the training sources alone (Yang et al. 2024, section 5.1).
"""

from __future__ import annotations

import numpy as np

THRESHOLDS = tuple(round(0.05 * k, 2) for k in range(20))
"""0, .05, ..., .95."""


def feature_names(name: str) -> tuple[str, ...]:
    """Name the feature of each threshold.

    Examples
    --------
    >>> feature_names("ps")[-1]
    'ps@0.95'
    """
    return tuple(f"{name}@{threshold:.2f}" for threshold in THRESHOLDS)


def exceed(values: np.ndarray) -> np.ndarray:
    """Say which values exceed which threshold.

    Parameters
    ----------
    values : ndarray of shape (N,)
        The comparison is made in their own precision: a float32 .3 does not exceed .3.

    Returns
    -------
    ndarray of shape (T, N), bool
    """
    return values > np.array(THRESHOLDS, values.dtype)[:, None]
