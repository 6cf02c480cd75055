"""Bins of the true count: fitted, published, or from a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

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
    """Log likelihood of held-out counts (M,) under the histogram of the training counts (N,).

    A bin has the share of its training images, each bin with one more, spread evenly over its
    integers; counts outside the range of training are scored as its nearest end. Too few bins
    blur, too many overfit.
    """
    integers = np.arange(train.min(), train.max() + 1)
    widths = np.bincount(bins.assign(integers), minlength=len(bins))
    images = 1 + np.bincount(bins.assign(train), minlength=len(bins))
    log_probability = np.log(images / images.sum()) - np.log(widths)
    return float(log_probability[bins.assign(_within(train, held_out))].sum())


def multinomial_log_likelihood(bins: CountBins, train: np.ndarray, held_out: np.ndarray) -> float:
    """Log likelihood of held-out counts as printed: equation 4 summed over bins (equation 5).

    The bin of a count is given, so that finer bins are always likelier and gamma ends at the top of
    its grid. Counts outside the range of training are scored as its nearest end.
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
    """The gamma with the least ``rank_sum``, the smallest of equals; `table` has a row for each."""

    gamma: float
    table: pd.DataFrame


def choose_gamma(
    counts: Any,
    fit: Callable[[np.ndarray, float], CountBins],
    *,
    likelihood: str = "histogram",
    gammas: Sequence[float] = GAMMAS,
    ratios: Sequence[float] = RATIOS,
    n_shuffles: int = 10,
    seed: int = 0,
) -> GammaChoice:
    """Try every gamma on shuffled splits and rank them by held-out likelihood.

    `fit` is the way of binning, such as `paper_bins`; `ratios` are shares to hold out, each
    `n_shuffles` times, and all gammas see the same splits.
    """
    if likelihood not in LIKELIHOODS:
        raise InputError(f"Expected likelihood one of {[*LIKELIHOODS]} but got {likelihood!r}.")
    counts = whole_counts(counts)
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


def _released(counts: Any, gamma: float) -> CountBins:
    values = whole_counts(counts)
    return released_bins(int(values.min()), int(values.max()), gamma)


BINNINGS: dict[str, Callable[[Any, float], CountBins]] = {
    "released": _released,
    "paper": paper_bins,
    "poisson": poisson_bins,
    "blocks": bayesian_blocks_bins,
}


def fit_bins(
    counts: Any, method: str = "released", gamma: float | None = PUBLISHED_GAMMA
) -> CountBins:
    """Bin the true counts (N,) of training images by a method; a gamma of None is chosen."""
    if method not in BINNINGS:
        raise InputError(f"Expected a way of binning among {[*BINNINGS]} but got {method!r}.")
    fit = BINNINGS[method]
    return fit(counts, choose_gamma(counts, fit).gamma if gamma is None else gamma)
