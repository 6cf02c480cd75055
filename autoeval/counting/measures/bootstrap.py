"""Bootstrap intervals that resample whole images, of any statistic or of sums."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.runtime.progress import progress_bar

BLOCK = 8  # resamples that are summed at once
Measures = Callable[[np.ndarray], Mapping[str, np.ndarray]]


@dataclass(frozen=True)
class MeasureInterval:
    """A value of the data with its interval.

    Parameters
    ----------
    value : float
        NaN where the measure is not defined.
    low, high : float
        Ends; NaN where there is no interval, as for a single image.
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        around = "" if math.isnan(self.low) else f" [{self.low:.4g}, {self.high:.4g}]"
        return f"{self.value:.4g}{around}"


def bootstrap_intervals(
    statistics: Callable[[np.ndarray], Mapping[str, float]],
    images: Sequence[Any] | np.ndarray,
    *,
    n_resamples: int = 1000,
    seed: int = 0,
) -> dict[str, MeasureInterval]:
    """Return 95 % percentile bootstrap intervals, clustered by image.

    Images are drawn with replacement and bring all their rows, because errors of one image depend
    on each other. Resamples where a statistic is NaN do not enter its interval. Source: Efron &
    Tibshirani 1993, chapter 13.

    Parameters
    ----------
    statistics : callable
        Returns each statistic, by name, of rows by index (n,).
    images : sequence of shape (N,)
        Image of each row.
    n_resamples : int
        Number of draws.
    seed : int
        Of the draws.

    Returns
    -------
    dict of str to MeasureInterval
        A single image has no interval.

    Raises
    ------
    InputError
        If there is no row, or less than one draw.
    """
    _check_draws(len(images), n_resamples)
    _, image_of, sizes = np.unique(np.asarray(images), return_inverse=True, return_counts=True)
    order = np.argsort(image_of, kind="stable")  # the rows, image by image
    starts = np.cumsum(sizes) - sizes
    rng = np.random.default_rng(seed)
    results = []
    with progress_bar(n_resamples, "Resampling", unit="draw") as bar:
        for _ in range(n_resamples):
            drawn = rng.integers(len(sizes), size=len(sizes))
            lengths = sizes[drawn]
            before = np.cumsum(lengths) - lengths
            at = np.repeat(starts[drawn] - before, lengths) + np.arange(lengths.sum())
            results.append(statistics(order[at]))
            bar.update()
    measured = statistics(np.arange(len(images)))
    return _percentiles(measured, pd.DataFrame(results), n_images=len(sizes))


def _check_draws(n_rows: int, n_resamples: int) -> None:
    """Raise `InputError` where there is nothing to draw from, or nothing is drawn."""
    if not n_rows:
        raise InputError("A bootstrap interval needs at least one image: got none.")
    if n_resamples < 1:
        raise InputError(f"Expected at least one resample but got {n_resamples}.")


def _percentiles(
    measured: Mapping[str, float], drawn: Mapping[str, np.ndarray] | pd.DataFrame, *, n_images: int
) -> dict[str, MeasureInterval]:
    """Make intervals of the values of resamples (R,), by measure; NaN of a single image."""
    table = pd.DataFrame(drawn, dtype=np.float64)
    ends = table.quantile([0.025, 0.975])
    if n_images < 2:
        ends[:] = np.nan
    return {
        name: MeasureInterval(float(value), float(ends[name].iloc[0]), float(ends[name].iloc[1]))
        for name, value in measured.items()
    }


def bootstrap_sums(
    measures: Measures,
    values: np.ndarray,
    images: Sequence[Any] | np.ndarray,
    *,
    groups: np.ndarray | None = None,
    n_resamples: int,
    seed: int = 0,
) -> dict[str, MeasureInterval]:
    """Return the intervals of `bootstrap_intervals`, up to rounding, of functions of sums.

    A resample is how often each image is drawn: one product with the values gives all sums.

    Parameters
    ----------
    measures : callable
        Makes the measures (R,), by name, of R resamples from their sums (R, G, K) of each column in
        each group.
    values : ndarray of shape (N, K)
        Finite.
    images : sequence of shape (N,)
        Image of each row.
    groups : ndarray of shape (N,), int64, optional
        Group of each row, from 0 to G - 1; by default one.
    n_resamples, seed : int
        See `bootstrap_intervals`.

    Raises
    ------
    InputError
        As `bootstrap_intervals`.
    """
    _check_draws(len(images), n_resamples)
    groups = np.zeros(len(values), np.int64) if groups is None else groups
    _, image_of, sizes = np.unique(np.asarray(images), return_inverse=True, return_counts=True)
    order = groups.argsort(kind="stable")
    values, image_of = values[order], image_of[order]
    ends = np.bincount(groups).cumsum()
    sums = np.empty((1 + n_resamples, len(ends), values.shape[1]))
    _sum_groups(np.ones((1, len(values))), values, ends, out=sums[:1])
    rng = np.random.default_rng(seed)
    n_images = len(sizes)
    with progress_bar(n_resamples, "Resampling", unit="draw") as bar:
        for start in range(1, len(sums), BLOCK):
            block = sums[start : start + BLOCK]
            weights = np.empty((len(block), len(values)))
            for row in weights:
                drawn = rng.integers(n_images, size=n_images)
                row[:] = np.bincount(drawn, minlength=n_images)[image_of]
            _sum_groups(weights, values, ends, out=block)
            bar.update(len(block))
    values_by_measure = measures(sums)  # of all images first, then of each resample
    measured = {name: float(values[0]) for name, values in values_by_measure.items()}
    drawn_values = {name: values[1:] for name, values in values_by_measure.items()}
    return _percentiles(measured, drawn_values, n_images=n_images)


def bootstrap_mean(
    values: np.ndarray,
    images: Sequence[Any] | np.ndarray,
    *,
    n_resamples: int = 1000,
    seed: int = 0,
) -> MeasureInterval:
    """Return the mean of values, with its interval as `bootstrap_sums` draws it.

    Parameters
    ----------
    values : ndarray of shape (N,)
        Finite.
    images : sequence of shape (N,)
        Image of each value.
    n_resamples, seed : int
        See `bootstrap_intervals`.

    Examples
    --------
    >>> str(bootstrap_mean(np.array([1., 1., 1., 5.]), ["a", "a", "b", "c"]))
    '2 [1, 5]'
    """

    def mean(sums: np.ndarray) -> dict[str, np.ndarray]:
        return {"mean": sums[:, 0, 1] / sums[:, 0, 0]}

    columns = np.column_stack([np.ones(len(values)), values])
    return bootstrap_sums(mean, columns, images, n_resamples=n_resamples, seed=seed)["mean"]


def _sum_groups(
    weights: np.ndarray, values: np.ndarray, ends: np.ndarray, *, out: np.ndarray
) -> None:
    """Write the weighted sums (B, G, K) of values (N, K) whose groups end at ``ends`` (G,)."""
    start = 0
    for group, end in enumerate(ends):
        out[:, group] = weights[:, start:end] @ values[start:end]
        start = end
