"""Bins of the true count: fitted, published, or from a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from autoeval.counting.binning.bins import (
    PUBLISHED,
    PUBLISHED_GAMMA,
    CountBins,
    bayesian_blocks_bins,
    find_bins,
    load_bins,
    paper_bins,
    poisson_bins,
    published_bins,
    released_bins,
    smoothed_frequencies,
    whole_counts,
)
from autoeval.errors import InputError
from autoeval.runtime.progress import progress_bar

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
    "poisson_bins",
    "published_bins",
    "released_bins",
]

GAMMAS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
RATIOS = (0.1, 0.2, 0.25)


def histogram_log_likelihood(bins: CountBins, train: np.ndarray, held_out: np.ndarray) -> float:
    """Return the log likelihood of held-out counts under the histogram of the training counts.

    A bin has the share of its training images, each bin with one more, divided equally among its
    integers; counts outside the range of training are scored as its nearest end. Too few bins
    blur, too many overfit.

    Parameters
    ----------
    bins : CountBins
        Fitted to `train`.
    train : ndarray of shape (N,), int64
        Counts of the training images.
    held_out : ndarray of shape (M,), int64
        Counts of other images.

    Returns
    -------
    float
        Sum over the held-out images, in nats.

    Examples
    --------
    >>> bins = CountBins((0, 1, 3))
    >>> round(histogram_log_likelihood(bins, np.array([0, 1, 2, 3]), np.array([0, 3])), 4)
    -2.7726
    """
    integers = np.arange(train.min(), train.max() + 1)
    widths = np.bincount(bins.assign(integers), minlength=len(bins))
    images = 1 + np.bincount(bins.assign(train), minlength=len(bins))
    log_probability = np.log(images / images.sum()) - np.log(widths)
    return float(log_probability[bins.assign(_within(train, held_out))].sum())


def multinomial_log_likelihood(bins: CountBins, train: np.ndarray, held_out: np.ndarray) -> float:
    """Return the log likelihood of held-out counts as printed: equations 4 and 5 of the paper.

    The bin of a count is given, so that finer bins are always likelier and gamma ends at the top of
    its grid. Counts outside the range of training are scored as its nearest end.

    Parameters
    ----------
    bins : CountBins
        Fitted to `train`.
    train : ndarray of shape (N,), int64
        Counts of the training images.
    held_out : ndarray of shape (M,), int64
        Counts of other images.

    Returns
    -------
    float
        Equation 4 summed over the bins, in nats.
    """
    from scipy.special import gammaln, xlogy

    integers, smoothed = smoothed_frequencies(train)
    bin_of_integer = bins.assign(integers)
    probability = (
        smoothed / np.bincount(bin_of_integer, smoothed, minlength=len(bins))[bin_of_integer]
    )
    frequencies = np.bincount(_within(train, held_out) - integers[0], minlength=len(integers))
    totals = np.bincount(bin_of_integer, frequencies, minlength=len(bins))
    arrangements = gammaln(totals + 1).sum() - gammaln(frequencies + 1).sum()
    return float(arrangements + xlogy(frequencies, probability).sum())


LIKELIHOODS = {"histogram": histogram_log_likelihood, "multinomial": multinomial_log_likelihood}


@dataclass(frozen=True)
class GammaChoice:
    """The gamma that was chosen, and how all did.

    Parameters
    ----------
    gamma : float
        That with the least ``rank_sum``; the first of the grid among equals.
    table : DataFrame
        A row for each gamma: ``gamma``, the mean held-out log likelihood for each ratio (``held out
        20%``), in nats, and ``rank_sum``.
    """

    gamma: float
    table: pd.DataFrame


def choose_gamma(
    counts: ArrayLike,
    fit: Callable[[np.ndarray, float], CountBins],
    *,
    likelihood: str = "histogram",
    gammas: Sequence[float] = GAMMAS,
    ratios: Sequence[float] = RATIOS,
    n_shuffles: int = 10,
    seed: int = 0,
) -> GammaChoice:
    """Try every gamma on shuffled splits and rank them by held-out likelihood.

    All gammas see the same splits.

    Parameters
    ----------
    counts : array-like of shape (N,)
        Whole counts from 0 up, of training images, in any order.
    fit : callable
        Way of binning: bins of counts and a gamma, such as `paper_bins`.
    likelihood : {"histogram", "multinomial"}
        What a split is scored by, see `histogram_log_likelihood`, `multinomial_log_likelihood`.
    gammas : sequence of float
        Grid.
    ratios : sequence of float
        Shares of the images to hold out, in (0, 1). Gammas are ranked for each; ranks are added.
    n_shuffles : int
        Splits for each ratio.
    seed : int
        Of the splits.

    Raises
    ------
    InputError
        If `likelihood` is none of these, `counts` are none or not whole, or the training images of
        a split all have one count.
    """
    if likelihood not in LIKELIHOODS:
        raise InputError(f"Expected likelihood one of {[*LIKELIHOODS]} but got {likelihood!r}.")
    counts = np.sort(whole_counts(counts))
    splits = [[_split(counts, ratio, seed, k) for k in range(n_shuffles)] for ratio in ratios]
    means = np.zeros((len(gammas), len(ratios)))
    with progress_bar(means.size * n_shuffles, "Choosing gamma", unit="split") as bar:
        for (g, r), _ in np.ndenumerate(means):
            scores = []
            for train, held_out in splits[r]:
                scores.append(LIKELIHOODS[likelihood](fit(train, gammas[g]), train, held_out))
                bar.update()
            means[g, r] = np.mean(scores)
    ranks = pd.DataFrame(-means).rank().sum(axis=1).to_numpy()
    table = pd.DataFrame(means, columns=[f"held out {ratio:.0%}" for ratio in ratios])
    table.insert(0, "gamma", list(gammas))
    return GammaChoice(float(gammas[int(np.argmin(ranks))]), table.assign(rank_sum=ranks))


def _split(counts: np.ndarray, ratio: float, seed: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    order = np.random.default_rng([seed, k]).permutation(len(counts))
    n_held_out = max(1, round(ratio * len(counts)))
    train, held_out = counts[order[n_held_out:]], counts[order[:n_held_out]]
    if len(np.unique(train)) < 2:
        raise InputError(
            f"Choosing gamma needs counts of several different values in every split, but holding "
            f"out {ratio:.0%} of {len(counts)} left one value or none. Give gamma instead."
        )
    return train, held_out


def _within(train: np.ndarray, held_out: np.ndarray) -> np.ndarray:
    return held_out.clip(train.min(), train.max())


def _released(counts: ArrayLike, gamma: float) -> CountBins:
    values = whole_counts(counts)
    return released_bins(int(values.min()), int(values.max()), gamma)


BINNINGS: dict[str, Callable[[ArrayLike, float], CountBins]] = {
    "released": _released,
    "paper": paper_bins,
    "poisson": poisson_bins,
    "blocks": bayesian_blocks_bins,
}


def fit_bins(
    counts: ArrayLike, method: str = "released", gamma: float | None = PUBLISHED_GAMMA
) -> CountBins:
    """Bin the true counts of training images.

    Parameters
    ----------
    counts : array-like of shape (N,)
        Whole counts from 0 up.
    method : {"released", "paper", "poisson", "blocks"}
        `released_bins` of the range of the counts, `paper_bins`, `poisson_bins` or
        `bayesian_blocks_bins`.
    gamma : float, optional
        In (0, 1); each bin costs -ln(gamma). None lets `choose_gamma` choose it by held-out
        likelihood.

    Raises
    ------
    InputError
        If there is no such method, `gamma` is out of its range, or `counts` are none, not whole, or
        all equal.

    Examples
    --------
    >>> fit_bins([0, 0, 1, 1, 2, 3, 3, 8, 9, 9]).edges
    (0.0, 0.5, 2.5, 5.5, 9.0)
    """
    if method not in BINNINGS:
        raise InputError(f"Expected a way of binning among {[*BINNINGS]} but got {method!r}.")
    fit = BINNINGS[method]
    return fit(counts, choose_gamma(counts, fit).gamma if gamma is None else gamma)
