"""Choosing gamma: likelihoods by hand, ranks, and the real counts of NWPU."""

import numpy as np
import pytest
from scipy.stats import multinomial

from autoeval.counting.binning import (
    BINNINGS,
    CountBins,
    choose_gamma,
    histogram_log_likelihood,
    multinomial_log_likelihood,
)
from autoeval.errors import InputError

BINS = CountBins((0.0, 1.5, 5.0))  # holds the integers 0, 1 and 2, 3, 4, 5
TRAIN = np.array([0, 0, 5])


def test_histogram_likelihood_by_hand():
    # Images per bin, one more each: 3 and 2 of 5; spread over 2 and 4 integers.
    expected = np.log(3 / 5 / 2) + 2 * np.log(2 / 5 / 4)
    assert histogram_log_likelihood(BINS, TRAIN, np.array([1, 2, 9])) == pytest.approx(expected)


def test_multinomial_likelihood_by_scipy():
    # Smoothed frequencies of 0..5: 3, 1 | 1, 1, 1, 2.
    expected = multinomial.logpmf([0, 1], 1, [3 / 4, 1 / 4])
    expected += multinomial.logpmf([1, 0, 0, 1], 2, [1 / 5, 1 / 5, 1 / 5, 2 / 5])
    found = multinomial_log_likelihood(BINS, TRAIN, np.array([1, 2, 9]))
    assert found == pytest.approx(expected)


def test_the_least_sum_of_ranks_wins():
    counts = np.repeat([0, 100], 50)
    # With gamma .2 the bins hold the two heaps tightly, otherwise not.
    tight, loose = CountBins((0.0, 0.5, 99.5, 100.0)), CountBins((0.0, 50.0, 100.0))
    found = choose_gamma(
        counts, lambda _, gamma: tight if gamma == 0.2 else loose, gammas=(0.1, 0.2, 0.3)
    )
    assert found.gamma == 0.2
    # First in each of three ratios; the other two share the second and third place.
    assert found.table["rank_sum"].tolist() == [7.5, 3.0, 7.5]


def test_the_same_seed_gives_the_same_table():
    counts = np.random.default_rng(3).geometric(0.02, 60)
    tables = [choose_gamma(counts, BINNINGS["released"], n_shuffles=2, seed=5).table for _ in "ab"]
    assert tables[0].equals(tables[1])


def test_the_printed_likelihood_always_asks_for_the_most_bins():
    counts = np.random.default_rng(0).geometric(0.02, 80)
    found = choose_gamma(counts, BINNINGS["released"], likelihood="multinomial", n_shuffles=3)
    assert found.gamma == 0.9


def test_counts_that_cannot_be_split():
    with pytest.raises(InputError, match="Give gamma"):
        choose_gamma([1, 1, 1, 1, 1, 2], BINNINGS["released"], ratios=(0.8,))
    with pytest.raises(InputError, match="histogram"):
        choose_gamma([1, 2], BINNINGS["released"], likelihood="odds")


def test_the_published_gamma_of_nwpu(shared):
    rows = (shared / "golden" / "bincrowd" / "Train_nwpu.txt").read_text().split()
    counts = [float(row.split(",")[1]) for row in rows]
    assert choose_gamma(counts, BINNINGS["released"], n_shuffles=3).gamma == 0.6
