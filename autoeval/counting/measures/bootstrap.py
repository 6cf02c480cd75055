"""Bootstrap intervals that resample whole images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

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
    check_draws(len(images), n_resamples)
    draw = _RowsOfImages(np.asarray(images))
    rng = np.random.default_rng(seed)
    drawn = []
    with progress_bar(n_resamples, "Resampling", unit="draw") as bar:
        for _ in range(n_resamples):
            drawn.append(statistics(draw(rng)))
            bar.update()
    own = statistics(np.arange(len(images)))
    return percentiles(own, pd.DataFrame(drawn), level=level, n_images=len(draw.sizes))


def check_draws(n_rows: int, n_resamples: int) -> None:
    """Raise `InputError` where there is nothing to draw from, or nothing is drawn."""
    if not n_rows:
        raise InputError("A bootstrap interval needs at least one image: got none.")
    if n_resamples < 1:
        raise InputError(f"Expected at least one resample but got {n_resamples}.")


def percentiles(
    own: Mapping[str, float],
    drawn: Mapping[str, np.ndarray] | pd.DataFrame,
    *,
    level: float,
    n_images: int,
) -> dict[str, MeasureInterval]:
    """Make intervals of the values of resamples (R,), by measure; NaN of a single image."""
    table = pd.DataFrame(drawn, dtype=np.float64)
    ends = table.quantile([(1 - level) / 2, (1 + level) / 2])
    if n_images < 2:
        ends[:] = np.nan
    return {
        name: MeasureInterval(float(value), float(ends[name].iloc[0]), float(ends[name].iloc[1]))
        for name, value in own.items()
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
