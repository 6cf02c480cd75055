"""Bootstrap intervals that resample whole images, and paired comparison of two models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon

from autoeval.counting.measures.count_pairs import as_pairs
from autoeval.errors import InputError
from autoeval.runtime.progress import progress_bar


@dataclass(frozen=True)
class MeasureInterval:
    """An estimate with its interval.

    Parameters
    ----------
    value : float
        Of the data themselves.
    low, high : float
        Ends of the interval; NaN where there is none, as for a single image.
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        around = f" [{self.low:.4g}, {self.high:.4g}]" if self.low == self.low else ""
        return f"{self.value:.4g}{around}"


def bootstrap_intervals(
    statistics: Callable[[np.ndarray], Mapping[str, float]],
    images: Sequence[Any] | np.ndarray,
    *,
    level: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> dict[str, MeasureInterval]:
    """Percentile bootstrap intervals, clustered by image.

    Images are drawn with replacement and bring all their rows, because the errors of several
    prompts on one image depend on each other. A single image says nothing about others: its
    intervals are NaN.

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
        If there are no rows, or no resamples.

    Examples
    --------
    >>> values = np.array([1., 1., 1., 5.])
    >>> images = ["a", "a", "b", "c"]
    >>> str(bootstrap_intervals(lambda rows: {"mean": values[rows].mean()}, images)["mean"])
    '2 [1, 5]'
    """
    if not len(images):
        raise InputError("A bootstrap interval needs at least one image: got none.")
    if n_resamples < 1:
        raise InputError(f"Expected at least one resample but got {n_resamples}.")
    draw = _RowsOfImages(np.asarray(images))
    rng = np.random.default_rng(seed)
    drawn = []
    with progress_bar(n_resamples, "Resampling", unit="draw") as bar:
        for _ in range(n_resamples):
            drawn.append(statistics(draw(rng)))
            bar.update()
    if len(draw.sizes) < 2:
        drawn = [dict.fromkeys(drawn[0], float("nan"))]
    ends = pd.DataFrame(drawn, dtype=np.float64).quantile([(1 - level) / 2, (1 + level) / 2])
    return {
        name: MeasureInterval(float(value), float(ends[name].iloc[0]), float(ends[name].iloc[1]))
        for name, value in statistics(np.arange(len(images))).items()
    }


class _RowsOfImages:
    """Draws images with replacement and returns the indices of all their rows."""

    def __init__(self, images: np.ndarray) -> None:
        _, cluster, self.sizes = np.unique(images, return_inverse=True, return_counts=True)
        self.order = np.argsort(cluster, kind="stable")
        self.starts = np.cumsum(self.sizes) - self.sizes

    def __call__(self, rng: np.random.Generator) -> np.ndarray:
        drawn = rng.integers(len(self.sizes), size=len(self.sizes))
        sizes = self.sizes[drawn]
        before = np.cumsum(sizes) - sizes
        at = np.repeat(self.starts[drawn] - before, sizes) + np.arange(sizes.sum())
        return self.order[at]


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
