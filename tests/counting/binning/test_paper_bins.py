"""Binning as printed: the multinomial likelihood by scipy, all partitions by brute force."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.stats import multinomial

from autoeval.counting.binning import fit_bins, paper_bins
from autoeval.counting.binning.bins import smoothed_frequencies
from autoeval.errors import InputError


def log_likelihood(frequencies):
    total = frequencies.sum()
    return multinomial.logpmf(frequencies, total, frequencies / total)


@pytest.mark.parametrize("gamma", [0.02, 0.2, 0.34])
def test_the_best_of_all_partitions_is_found(gamma):
    counts = np.array([2, 2, 2, 3, 6, 6, 9, 9, 9, 9])
    frequencies = np.array([4, 2, 1, 1, 3, 1, 1, 5])  # of 2..9, one more each

    def score(starts):
        blocks = list(pairwise(starts))
        likelihood = sum(log_likelihood(frequencies[s:e]) for s, e in blocks)
        return likelihood + len(blocks) * np.log(gamma)

    n = len(frequencies)
    partitions = [(0, *c, n) for k in range(n) for c in combinations(range(1, n), k)]
    best = max(partitions, key=score)
    expected = [2.0, *(2 + start - 0.5 for start in best[1:-1]), 9.0]
    assert list(paper_bins(counts, gamma).edges) == expected


def test_it_falls_apart_for_a_large_gamma():
    counts = np.array([0, 3, 3, 40])
    assert len(paper_bins(counts, 0.05)) < 10
    assert len(paper_bins(counts, 0.6)) == 41


def test_smoothing_adds_one_of_every_integer():
    values, frequencies = smoothed_frequencies(np.array([5, 5, 8]))
    assert values.tolist() == [5, 6, 7, 8] and frequencies.tolist() == [3, 1, 1, 2]


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([], "got none"),
        ([1, np.nan], "not \\(first: nan\\)"),
        ([1, -2], "first: -2"),
        ([1, 2.5], "Round them"),
        ([4, 4], "two different values"),
    ],
)
@pytest.mark.parametrize("method", ["released", "paper", "blocks"])
def test_counts_that_cannot_be_binned(counts, message, method):
    with pytest.raises(InputError, match=message):
        fit_bins(counts, method)


def test_unknown_method():
    with pytest.raises(InputError, match="released"):
        fit_bins([1, 2], "quantiles")
