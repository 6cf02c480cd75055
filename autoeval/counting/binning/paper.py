"""Bins by the formulas as printed: multinomial likelihood, geometric prior on their number."""

from __future__ import annotations

from typing import Any

import numpy as np

from autoeval.counting.binning.bins import CountBins
from autoeval.counting.binning.partition import cell_edges, check_number, optimal_partition
from autoeval.counting.binning.released import PUBLISHED_GAMMA, check_range
from autoeval.counting.binning.smoothing import smoothed_frequencies, whole_counts


def paper_bins(counts: Any, gamma: float = PUBLISHED_GAMMA) -> CountBins:
    """Bin counts by equations 2 to 6 of the paper.

    The log likelihood of a bin with frequencies x_1..x_m of sum X is that of a multinomial at its
    own maximum, ln X! - sum ln x_j! + sum x_j ln(x_j / X), and each bin costs -ln(gamma). A bin of
    one value has likelihood 1, so that only the prior holds the number of bins down: above gamma of
    about 1/e the partition falls apart into very many bins. `released_bins` is what made the
    published tables.

    Parameters
    ----------
    counts : array-like of shape (N,)
        True counts of the training images, whole numbers.
    gamma : float
        In (0, 1).

    Raises
    ------
    InputError
        If the counts are not whole numbers of at least two different values, or gamma is not as
        said.
    """
    from scipy.special import gammaln, xlogy

    counts = whole_counts(counts)
    low, high = int(counts.min()), int(counts.max())
    check_range(low, high, gamma)
    check_number(high - low + 1)
    values, frequencies = smoothed_frequencies(counts)
    total = _prefix_sum(frequencies)
    of_values = _prefix_sum(xlogy(frequencies, frequencies) - gammaln(frequencies + 1))
    sizes = np.arange(total[-1] + 1)
    of_total = gammaln(sizes + 1) - xlogy(sizes, sizes) + np.log(gamma)

    def score_last_block(r: int) -> np.ndarray:
        return of_total[total[r] - total[:r]] + (of_values[r] - of_values[:r])

    starts = optimal_partition(len(values), score_last_block)
    edges = cell_edges(values.astype(np.float64))[starts]
    origin = {"method": "paper", "gamma": gamma, "min": low, "max": high, "images": len(counts)}
    return CountBins(tuple(edges), origin)


def _prefix_sum(values: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(values)])
