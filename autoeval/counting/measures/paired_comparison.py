"""Paired comparison of two models on the same images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autoeval.counting.measures.bootstrap import MeasureInterval, bootstrap_mean
from autoeval.counting.measures.overall import as_pairs


@dataclass(frozen=True)
class PairedComparison:
    """How the absolute errors of two models differ on the same images.

    Parameters
    ----------
    difference : MeasureInterval
        Mean of |error of A| - |error of B|; negative where A is better.
    p_value : float
        Of Wilcoxon's signed-rank test; 1 where no error differs.
    better, worse, equal : int
        Images on which A is nearer, B is nearer, and neither.
    """

    difference: MeasureInterval
    p_value: float
    better: int
    worse: int
    equal: int


def compare_paired(
    target: Any,
    pred_a: Any,
    pred_b: Any,
    images: Sequence[Any] | np.ndarray | None = None,
    *,
    level: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> PairedComparison:
    """Compare two models image by image.

    Parameters
    ----------
    target, pred_a, pred_b : array-like of shape (N,)
        True counts and those of the two models.
    images : sequence of length N, optional
        Image of each row, for the bootstrap; by default each row is its own.
    level, n_resamples, seed
        See `autoeval.counting.measures.bootstrap.bootstrap_intervals`.

    Raises
    ------
    InputError
        If the counts cannot be compared (see `as_pairs`).

    Examples
    --------
    >>> found = compare_paired([5, 5, 5, 5], [5, 5, 6, 5], [7, 8, 6, 4])
    >>> found.difference.value, found.better, found.worse, found.equal
    (-1.5, 3, 0, 1)
    """
    from scipy.stats import wilcoxon

    target, pred_a = as_pairs(target, pred_a)
    _, pred_b = as_pairs(target, pred_b)
    difference = np.abs(pred_a - target) - np.abs(pred_b - target)
    interval = bootstrap_mean(
        difference,
        np.arange(len(target)) if images is None else images,
        level=level,
        n_resamples=n_resamples,
        seed=seed,
    )
    p_value = float(wilcoxon(difference).pvalue) if difference.any() else 1.0
    better, worse = int((difference < 0).sum()), int((difference > 0).sum())
    return PairedComparison(interval, p_value, better, worse, len(target) - better - worse)
