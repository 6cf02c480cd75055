"""Bootstrap intervals that resample whole images, and paired comparison of two models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon

from autoeval.counting.measures.pairs import as_pairs
from autoeval.errors import InputError


@dataclass(frozen=True)
class Interval:
    """An estimate with its interval.

    Parameters
    ----------
    value : float
        Of the data themselves.
    low, high : float
        Ends of the interval.
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}]"


def bootstrap_intervals(
    statistics: Callable[[np.ndarray], Mapping[str, float]],
    images: Sequence[Any] | np.ndarray,
    *,
    level: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> dict[str, Interval]:
    """Percentile bootstrap intervals, clustered by image.

    Images are drawn with replacement and bring all their rows, because the errors of several
    prompts on one image depend on each other.

    Parameters
    ----------
    statistics : callable of ndarray of int64 -> mapping of str to float
        Values of the rows with the given indices, which may repeat.
    images : sequence of length N
        Image of each row.
    level : float
        Share of the resamples inside the interval.
    n_resamples : int
        Number of resamples; those where a statistic is NaN do not enter its interval.
    seed : int
        Of the draws.

    Raises
    ------
    InputError
        If there are no rows.

    Examples
    --------
    >>> values = np.array([1., 1., 1., 5.])
    >>> images = ["a", "a", "b", "c"]
    >>> str(bootstrap_intervals(lambda rows: {"mean": values[rows].mean()}, images)["mean"])
    '2 [1, 5]'
    """
    if not len(images):
        raise InputError("A bootstrap interval needs at least one image: got none.")
    cluster = np.unique(np.asarray(images), return_inverse=True)[1]
    order = np.argsort(cluster, kind="stable")
    rows_of = np.split(order, np.flatnonzero(np.diff(cluster[order])) + 1)
    rng = np.random.default_rng(seed)
    resampled = pd.DataFrame(
        [
            statistics(np.concatenate([rows_of[i] for i in drawn]))
            for drawn in rng.integers(len(rows_of), size=(n_resamples, len(rows_of)))
        ]
    )
    ends = resampled.quantile([(1 - level) / 2, (1 + level) / 2])
    return {
        name: Interval(float(value), float(ends[name].iloc[0]), float(ends[name].iloc[1]))
        for name, value in statistics(np.arange(len(images))).items()
    }


@dataclass(frozen=True)
class PairedComparison:
    """How the absolute errors of two models differ on the same images.

    Parameters
    ----------
    difference : Interval
        Mean of |error of A| - |error of B|; negative where A is better.
    p_value : float
        Of Wilcoxon's signed-rank test; 1 where no error differs.
    better, worse, equal : int
        Images on which A is nearer, B is nearer, and neither.
    """

    difference: Interval
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
        See `bootstrap_intervals`.

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
    target, pred_a = as_pairs(target, pred_a)
    _, pred_b = as_pairs(target, pred_b)
    difference = np.abs(pred_a - target) - np.abs(pred_b - target)
    interval = bootstrap_intervals(
        lambda rows: {"difference": float(difference[rows].mean())},
        np.arange(len(target)) if images is None else images,
        level=level,
        n_resamples=n_resamples,
        seed=seed,
    )["difference"]
    p_value = float(wilcoxon(difference).pvalue) if difference.any() else 1.0
    better, worse = int((difference < 0).sum()), int((difference > 0).sum())
    return PairedComparison(interval, p_value, better, worse, len(target) - better - worse)
