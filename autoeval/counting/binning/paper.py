"""Bins from training counts: as printed, as released, as published, and Bayesian blocks."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.counting.binning.bins import CountBins, load_bins, smoothed_frequencies, whole_counts
from autoeval.errors import InputError

PUBLISHED_GAMMA = 0.6
MAX_VALUES = 100_000
# Smallest and largest count of training images, and gamma. The authors list the edges of the first
# four; those of JHU are not published, but these reproduce its figures in the paper's Table II.
PUBLISHED = {
    "nwpu": (0, 15426, 0.6),
    "ucf": (49, 12865, 0.6),
    "sta": (33, 3139, 0.6),
    "stb": (13, 578, 0.6),
    "jhu": (0, 25791, 0.1),
}


def paper_bins(counts: Any, gamma: float = PUBLISHED_GAMMA) -> CountBins:
    """Bin whole counts (N,) by equations 2 to 6 of the paper, with gamma in (0, 1).

    The log likelihood of a bin with frequencies x_1..x_m of sum X is ln X! - sum ln x_j! + sum x_j
    ln(x_j / X), and each bin costs -ln(gamma). Above gamma of about 1/e the partition falls apart
    into very many bins; `released_bins` made the published tables.
    """
    from scipy.special import gammaln, xlogy

    counts = whole_counts(counts)
    low, high = int(counts.min()), int(counts.max())
    _check_range(low, high, gamma)
    _check_number(high - low + 1)
    values, frequencies = smoothed_frequencies(counts)
    total = _prefix_sum(frequencies)
    of_values = _prefix_sum(xlogy(frequencies, frequencies) - gammaln(frequencies + 1))
    sizes = np.arange(total[-1] + 1)
    of_total = gammaln(sizes + 1) - xlogy(sizes, sizes) + np.log(gamma)

    def score_last_block(r: int) -> np.ndarray:
        return of_total[total[r] - total[:r]] + (of_values[r] - of_values[:r])

    starts = optimal_partition(len(values), score_last_block)
    edges = _cell_edges(values.astype(np.float64))[starts]
    origin = {"method": "paper", "gamma": gamma, "min": low, "max": high, "images": len(counts)}
    return CountBins(tuple(edges), origin)


def _prefix_sum(values: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(values)])


def released_bins(low: int, high: int, gamma: float = PUBLISHED_GAMMA) -> CountBins:
    """Bin the counts from ``low`` to ``high``, 0 <= low < high, with gamma in (0, 1).

    Over the N integers of the range a block of k values that ends with the r-th scores -k ln k + r
    ln(gamma) + C, with C = ln(1 - gamma) - ln(1 - gamma^floor(N/4)). Frequencies do not enter.
    """
    _check_range(low, high, gamma)
    _check_number(high - low + 1)
    return CountBins(
        _edges(low, high, gamma), {"method": "released", "gamma": gamma, "min": low, "max": high}
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
    return tuple(_cell_edges(values)[starts].tolist())


def _check_range(low: int, high: int, gamma: float) -> None:
    """Raise `InputError` unless 0 <= low < high and 0 < gamma < 1."""
    if not 0 <= low < high:
        raise InputError(
            f"Expected counts of at least two different values to bin, but they go "
            f"from {low} to {high}."
        )
    if not 0 < gamma < 1:
        raise InputError(f"Expected gamma between 0 and 1 (both excluded) but got {gamma}.")


def optimal_partition(n: int, score_last_block: Callable[[int], np.ndarray]) -> np.ndarray:
    """Split ``n`` ordered values into the blocks whose scores have the largest sum.

    F(r) = max over j of F(j) + score of the block of values j..r-1 (Scargle et al. 2013, section
    2.6). `score_last_block` gives for r the scores (r,) of blocks that start at 0..r-1. Returns (B
    + 1,) int64: the start of each block, then n; of equally good starts the first.
    """
    _check_number(n)
    best = np.zeros(n + 1)
    start = np.zeros(n + 1, np.int64)
    for r in range(1, n + 1):
        candidates = score_last_block(r) + best[:r]
        start[r] = candidates.argmax()
        best[r] = candidates[start[r]]
    ends = [n]
    while ends[-1] > 0:
        ends.append(int(start[ends[-1]]))
    return np.array(ends[::-1], np.int64)


def _check_number(n: int) -> None:
    """Raise `InputError` where ``n`` values are too many, before anything is made of them."""
    if n > MAX_VALUES:
        raise InputError(
            f"Expected at most {MAX_VALUES} distinct counts to bin but got {n}. "
            "Bin a coarser unit instead, such as tens."
        )


def _cell_edges(values: np.ndarray) -> np.ndarray:
    """Edges around distinct sorted values (N,): midpoints, and both extremes; shape (N + 1,)."""
    return np.concatenate([values[:1], 0.5 * (values[1:] + values[:-1]), values[-1:]])


def bayesian_blocks_bins(counts: Any, gamma: float = PUBLISHED_GAMMA) -> CountBins:
    """Bin whole counts (N,) by Bayesian blocks for event data (Scargle et al. 2013)."""
    try:
        from astropy.stats import bayesian_blocks
    except ImportError as error:
        raise InputError(
            "Bayesian blocks need astropy: pip install 'autoeval[counting]'"
        ) from error
    counts = whole_counts(counts)
    low, high = int(counts.min()), int(counts.max())
    _check_range(low, high, gamma)
    edges = bayesian_blocks(counts.astype(float), fitness="events", gamma=gamma)
    origin = {"method": "blocks", "gamma": gamma, "min": low, "max": high, "images": len(counts)}
    return CountBins(tuple(edges), origin)


def published_bins(name: str) -> CountBins:
    """Return the bins of NWPU-Crowd, UCF-QNRF, ShanghaiTech A or B, or JHU-Crowd++."""
    if name not in PUBLISHED:
        raise InputError(f"No published bins '{name}': there are {', '.join(PUBLISHED)}.")
    bins = released_bins(*PUBLISHED[name])
    return CountBins(bins.edges, {**bins.origin, "data_set": name})


def find_bins(name: str, list_name: str | None = None) -> CountBins:
    """Return the published bins of a name, unless a file is called so, or read that file."""
    if name in PUBLISHED and not Path(name).exists():
        return published_bins(name)
    return load_bins(name, list_name)
