"""Bootstrap intervals of measures made of sums over images: one set of draws for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autoeval.counting.measures.bootstrap import MeasureInterval, check_draws, percentiles
from autoeval.runtime.progress import progress_bar

BLOCK = 8  # resamples that are summed at once

Measures = Callable[[np.ndarray], Mapping[str, np.ndarray]]


def bootstrap_sums(
    measures: Measures,
    values: np.ndarray,
    images: Sequence[Any] | np.ndarray,
    *,
    groups: np.ndarray | None = None,
    level: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> dict[str, MeasureInterval]:
    """Percentile bootstrap intervals, clustered by image, of functions of sums over rows.

    A resample is the number of times that each image is drawn: the sums of all columns are one
    product of these numbers with the values, where `bootstrap_intervals` copies the drawn rows for
    each measure. The draws are the same for the same seed, hence the intervals are equal up to
    rounding.

    Parameters
    ----------
    measures : callable of ndarray of shape (R, G, K) -> mapping of str to ndarray of shape (R,)
        Makes the measures of R resamples from their sums of each column in each group.
    values : ndarray of shape (N, K), float64
        Finite values of the rows.
    images : sequence of length N
        Image of each row.
    groups : ndarray of shape (N,), int64, optional
        Group of each row, from 0 to G - 1; by default there is one.
    level, n_resamples, seed
        See `autoeval.counting.measures.bootstrap.bootstrap_intervals`.

    Raises
    ------
    InputError
        If there are no rows, or no resamples.

    Examples
    --------
    >>> values = np.array([[1., 1.], [1., 1.], [1., 1.], [1., 5.]])
    >>> def mean(sums):
    ...     return {"mean": sums[..., 1].sum(1) / sums[..., 0].sum(1)}
    >>> str(bootstrap_sums(mean, values, ["a", "a", "b", "c"])["mean"])
    '2 [1, 5]'
    """
    check_draws(len(images), n_resamples)
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
    found = measures(sums)
    own = {name: float(of_all[0]) for name, of_all in found.items()}
    drawn_values = {name: of_all[1:] for name, of_all in found.items()}
    return percentiles(own, drawn_values, level=level, n_images=n_images)


def bootstrap_mean(
    values: np.ndarray, images: Sequence[Any] | np.ndarray, **options: Any
) -> MeasureInterval:
    """Return the mean of values (N,), with its interval; the options are `bootstrap_sums`'.

    Examples
    --------
    >>> str(bootstrap_mean(np.array([1., 1., 1., 5.]), ["a", "a", "b", "c"]))
    '2 [1, 5]'
    """

    def mean(sums: np.ndarray) -> dict[str, np.ndarray]:
        return {"mean": sums[:, 0, 1] / sums[:, 0, 0]}

    columns = np.column_stack([np.ones(len(values)), values])
    return bootstrap_sums(mean, columns, images, **options)["mean"]


def _sum_groups(
    weights: np.ndarray, values: np.ndarray, ends: np.ndarray, *, out: np.ndarray
) -> None:
    """Write the weighted sums (B, G, K) of values (N, K) whose groups end at ``ends`` (G,)."""
    start = 0
    for group, end in enumerate(ends):
        out[:, group] = weights[:, start:end] @ values[start:end]
        start = end
