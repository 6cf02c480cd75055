"""How the counting error of a detector depends on its score threshold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from autoeval.counting.measures.overall import absolute_error
from autoeval.errors import InputError


def threshold_sensitivity(
    scores: Sequence[np.ndarray], target: Any, thresholds: Any
) -> pd.DataFrame:
    """Count boxes above each score threshold and measure the error of the counts.

    Parameters
    ----------
    scores : sequence of N ndarrays
        Confidence of all boxes of each image, from as low a threshold as the detector allows.
    target : array-like of shape (N,)
        True counts.
    thresholds : array-like of shape (T,)
        A box counts where its score exceeds the threshold.

    Returns
    -------
    DataFrame
        One row for each threshold: ``threshold``, ``MAE``, ``std``, ``RMSE`` and ``bias``.

    Raises
    ------
    InputError
        If there are not as many score arrays as true counts, or none.

    Examples
    --------
    >>> scores = [np.array([.9, .4]), np.array([.6])]
    >>> threshold_sensitivity(scores, [1, 1], [.3, .5, .7])[["threshold", "MAE", "bias"]]
       threshold  MAE  bias
    0        0.3  0.5   0.5
    1        0.5  0.0   0.0
    2        0.7  0.5  -0.5
    """
    thresholds = np.asarray(thresholds, np.float64)
    if len(scores) != len(target):
        raise InputError(
            f"Expected the scores of each of {len(target)} images but got {len(scores)}."
        )
    ordered = [np.sort(np.asarray(image, np.float64)) for image in scores]
    counts = [len(image) - np.searchsorted(image, thresholds, side="right") for image in ordered]
    errors = [absolute_error(target, column) for column in np.array(counts).T]
    table = pd.DataFrame(errors)
    table.insert(0, "threshold", thresholds)
    return table
