"""Bins as the authors' released code makes them, which made the published tables."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from autoeval.counting.binning.bins import CountBins
from autoeval.counting.binning.partition import cell_edges, check_number, optimal_partition
from autoeval.errors import InputError

PUBLISHED_GAMMA = 0.6


def released_bins(low: int, high: int, gamma: float = PUBLISHED_GAMMA) -> CountBins:
    """Bin the counts from ``low`` to ``high``.

    Over the N integers of the range the score of a block of k values that ends with the r-th is
    -k ln k + r ln(gamma) + C, with C = ln(1 - gamma) - ln(1 - gamma^floor(N/4)). Frequencies do not
    enter: the range and gamma alone decide.

    Parameters
    ----------
    low, high : int
        Smallest and largest count, 0 <= low < high.
    gamma : float
        In (0, 1). Small values make few, wide bins.

    Returns
    -------
    CountBins

    Raises
    ------
    InputError
        If the range or gamma is not as said, or the range is too large (see `optimal_partition`).

    Examples
    --------
    >>> released_bins(0, 60).edges
    (0.0, 0.5, 2.5, 5.5, 11.5, 20.5, 35.5, 60.0)
    """
    check_range(low, high, gamma)
    check_number(high - low + 1)
    return CountBins(
        _edges(low, high, gamma),
        {"method": "released", "gamma": gamma, "min": low, "max": high},
    )


@lru_cache(maxsize=256)
def _edges(low: int, high: int, gamma: float) -> tuple[float, ...]:
    values = np.arange(low, high + 1, dtype=np.float64)
    n = len(values)
    lengths = np.arange(n, 0, -1, dtype=np.float64)
    fitness = -lengths * np.log(lengths)  # of blocks of n, n-1, ..., 1 values
    # Fewer than four values would make the normaliser of the prior infinite.
    constant = np.log(1 - gamma) - np.log(1 - gamma ** max(n // 4, 1))
    log_gamma = np.log(gamma)
    starts = optimal_partition(n, lambda r: fitness[n - r :] + (constant + r * log_gamma))
    return tuple(cell_edges(values)[starts].tolist())


def check_range(low: int, high: int, gamma: float) -> None:
    """Raise `InputError` unless 0 <= low < high and 0 < gamma < 1."""
    if not 0 <= low < high:
        raise InputError(
            f"Expected counts of at least two different values to bin, but they go "
            f"from {low} to {high}."
        )
    if not 0 < gamma < 1:
        raise InputError(f"Expected gamma between 0 and 1 (both excluded) but got {gamma}.")
