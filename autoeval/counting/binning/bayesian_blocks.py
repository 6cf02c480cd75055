"""Bayesian blocks of the raw counts, by astropy."""

from __future__ import annotations

from typing import Any

from autoeval.counting.binning.bins import CountBins
from autoeval.counting.binning.released import PUBLISHED_GAMMA, check_range
from autoeval.counting.binning.smoothing import whole_counts
from autoeval.errors import InputError


def bayesian_blocks_bins(counts: Any, gamma: float = PUBLISHED_GAMMA) -> CountBins:
    """Bin counts by Bayesian blocks for event data (Scargle et al. 2013).

    Frequencies enter and nothing is smoothed, so that sparse tails end up in few wide bins.

    Parameters
    ----------
    counts : array-like of shape (N,)
        True counts of the training images, whole numbers.
    gamma : float
        Slope of the geometric prior on the number of bins, in (0, 1).

    Raises
    ------
    InputError
        If astropy is not installed, the counts are not whole numbers of at least two different
        values, or gamma is not as said.
    """
    try:
        from astropy.stats import bayesian_blocks
    except ImportError as error:
        raise InputError(
            "Bayesian blocks need astropy: pip install 'autoeval[counting]'"
        ) from error
    counts = whole_counts(counts)
    low, high = int(counts.min()), int(counts.max())
    check_range(low, high, gamma)
    edges = bayesian_blocks(counts.astype(float), fitness="events", gamma=gamma)
    origin = {"method": "blocks", "gamma": gamma, "min": low, "max": high, "images": len(counts)}
    return CountBins(tuple(edges), origin)
