"""Bins of the true count: three ways to make them from training counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autoeval.counting.binning.bins import CountBins, load_bins, whole_counts
from autoeval.counting.binning.gamma import GammaChoice, choose_gamma
from autoeval.counting.binning.paper import (
    PUBLISHED,
    PUBLISHED_GAMMA,
    bayesian_blocks_bins,
    find_bins,
    paper_bins,
    published_bins,
    released_bins,
)
from autoeval.errors import InputError

__all__ = [
    "BINNINGS",
    "PUBLISHED",
    "PUBLISHED_GAMMA",
    "CountBins",
    "GammaChoice",
    "bayesian_blocks_bins",
    "choose_gamma",
    "find_bins",
    "fit_bins",
    "load_bins",
    "paper_bins",
    "published_bins",
    "released_bins",
]


def _released(counts: Any, gamma: float) -> CountBins:
    values = whole_counts(counts)
    return released_bins(int(values.min()), int(values.max()), gamma)


BINNINGS: dict[str, Callable[[Any, float], CountBins]] = {
    "released": _released,
    "paper": paper_bins,
    "blocks": bayesian_blocks_bins,
}


def fit_bins(
    counts: Any, method: str = "released", gamma: float | None = PUBLISHED_GAMMA
) -> CountBins:
    """Bin training counts.

    Parameters
    ----------
    counts : array-like of shape (N,)
        True counts of the training images, whole numbers.
    method : {"released", "paper", "blocks"}
        As in `released_bins`, `paper_bins` and `bayesian_blocks_bins`.
    gamma : float or None
        None chooses it by cross-validation.

    Raises
    ------
    InputError
        If the method is unknown or the counts cannot be binned.

    Examples
    --------
    >>> fit_bins([0, 3, 3, 60]).edges
    (0.0, 0.5, 2.5, 5.5, 11.5, 20.5, 35.5, 60.0)
    """
    if method not in BINNINGS:
        raise InputError(f"Expected a way of binning among {[*BINNINGS]} but got {method!r}.")
    fit = BINNINGS[method]
    return fit(counts, choose_gamma(counts, fit).gamma if gamma is None else gamma)
