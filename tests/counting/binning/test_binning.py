"""Bins of counts: by the paper, as released, by Bayesian blocks; gamma by cross-validation."""

import json
import sys
from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.stats import multinomial, poisson

from autoeval.counting.binning import (
    BINNINGS,
    CountBins,
    bayesian_blocks_bins,
    choose_gamma,
    fit_bins,
    histogram_log_likelihood,
    load_bins,
    multinomial_log_likelihood,
    paper_bins,
    poisson_bins,
    published_bins,
    released_bins,
)
from autoeval.counting.binning.bins import MAX_VALUES, optimal_partition
from autoeval.errors import InputError


def test_bins_are_closed_above_and_the_first_on_both_sides():
    bins = CountBins((0.0, 0.5, 2.5, 5.0))
    counts = [-0.1, 0, 0.5, 0.51, 2.5, 2.6, 5, 5.1]
    assert bins.assign(counts).tolist() == [-1, 0, 0, 1, 1, 2, 2, 3]
    assert bins.assign_nearest(counts).tolist() == [0, 0, 0, 1, 1, 2, 2, 2]
    with pytest.raises(InputError, match="NaN"):
        CountBins((0.0, 1.0)).assign([np.nan])


@pytest.mark.parametrize("edges", [(), (1.0,), (1.0, 1.0), (2.0, 1.0), (0.0, float("nan"))])
def test_bad_edges(edges):
    with pytest.raises(InputError, match="increasing"):
        CountBins(edges)


def test_bins_are_saved_and_read(tmp_path):
    bins = released_bins(0, 300, 0.5)
    bins.save(tmp_path / "bins.json")
    loaded = load_bins(tmp_path / "bins.json")
    assert loaded == bins
    assert loaded.origin == {"method": "released", "gamma": 0.5, "min": 0, "max": 300}
    path = tmp_path / "bins.json"
    path.write_text("[0, 1, 5]")
    assert load_bins(path).edges == (0, 1, 5)
    path.write_text(json.dumps({"a": {"edges": [0, 1], "gamma": 0.6}, "b": [2, 3]}))
    assert load_bins(path, "a").edges == (0, 1) and load_bins(path, "b").edges == (2, 3)
    with pytest.raises(InputError, match=r"a, b.*name one of them"):
        load_bins(path)
    with pytest.raises(InputError, match="'c' is none"):
        load_bins(path, "c")
    with pytest.raises(InputError, match="check the path"):
        load_bins(tmp_path / "none.json")


@pytest.mark.parametrize("text", ["", "{", '{"edges": ["x"]}', '{"edges": 3}', "[3, 2]"])
def test_files_that_hold_no_edges(tmp_path, text):
    path = tmp_path / "bins.json"
    path.write_text(text)
    with pytest.raises(InputError):
        load_bins(path)


def all_partitions(n):
    for k in range(n):
        for inner in combinations(range(1, n), k):
            yield (0, *inner, n)


def multinomial_likelihood(frequencies):
    total = frequencies.sum()
    return multinomial.logpmf(frequencies, total, frequencies / total)


def poisson_likelihood(frequencies):
    """Equation 15, with one mean for each bin."""
    return poisson.logpmf(frequencies, frequencies.mean()).sum()


@pytest.mark.parametrize("gamma", [0.02, 0.2, 0.34, 0.6])
@pytest.mark.parametrize(
    ("make_bins", "likelihood"),
    [(paper_bins, multinomial_likelihood), (poisson_bins, poisson_likelihood)],
)
def test_the_best_of_all_partitions_is_found(make_bins, likelihood, gamma):
    counts = np.array([2, 2, 2, 3, 6, 6, 9, 9, 9, 9])
    frequencies = np.array([4, 2, 1, 1, 3, 1, 1, 5])  # of 2..9, one more each

    def score(starts):
        blocks = [frequencies[s:e] for s, e in pairwise(starts)]
        return sum(map(likelihood, blocks)) + len(blocks) * np.log(gamma)

    best = max(all_partitions(len(frequencies)), key=score)
    expected = [2.0, *(2 + start - 0.5 for start in best[1:-1]), 9.0]
    assert list(make_bins(counts, gamma).edges) == expected


def test_gamma_does_not_depend_on_the_order_of_the_images():
    rng = np.random.default_rng(0)
    counts = rng.geometric(0.02, 60)
    tables = [
        choose_gamma(order, paper_bins, gammas=(0.1, 0.5), n_shuffles=3).table
        for order in (counts, rng.permutation(counts))
    ]
    assert tables[0].equals(tables[1])


def test_gamma_decides_the_number_of_bins():
    counts = np.array([0, 3, 3, 40])
    assert len(paper_bins(counts, 0.05)) < 10
    assert len(paper_bins(counts, 0.6)) == 41
    numbers = [len(released_bins(0, 500, gamma)) for gamma in (0.1, 0.3, 0.5, 0.7, 0.9)]
    assert numbers == sorted(numbers) and numbers[0] < numbers[-1]


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
@pytest.mark.parametrize("method", ["released", "paper", "poisson", "blocks"])
def test_counts_that_cannot_be_binned(counts, message, method):
    with pytest.raises(InputError, match=message):
        fit_bins(counts, method)


# As published by the authors for gamma = 0.6 on the training counts of four data sets.
NWPU = (
    "0 .5 2.5 5.5 10.5 18.5 31.5 53.5 90.5 152.5 256.5 429.5 717.5 1197.5 1997.5 3330.5 5552.5 "
    "9255.5 15426"
)
STA = "33 33.5 35.5 38.5 43.5 51.5 64.5 85.5 120.5 178.5 275.5 436.5 704.5 1151.5 1897.5 3139"
UCF = (
    "49 49.5 51.5 55.5 62.5 73.5 92.5 123.5 175.5 261.5 405.5 644.5 1043.5 1708.5 2816.5 4662.5 "
    "7738.5 12865"
)
STB = "13 13.5 15.5 19.5 25.5 36.5 54.5 83.5 132.5 214.5 351.5 578"


@pytest.mark.parametrize(
    ("name", "edges"), [("nwpu", NWPU), ("sta", STA), ("ucf", UCF), ("stb", STB)]
)
def test_published_edges(name, edges):
    assert list(published_bins(name).edges) == [float(e) for e in edges.split()]


@pytest.mark.parametrize("gamma", [0.1, 0.6, 0.9])
@pytest.mark.parametrize("n", [2, 5, 9])
def test_the_best_of_all_partitions_is_found_bins(n, gamma):
    def score(starts):
        constant = np.log(1 - gamma) - np.log(1 - gamma ** max(n // 4, 1))
        return sum(
            -(e - s) * np.log(e - s) + e * np.log(gamma) + constant for s, e in pairwise(starts)
        )

    best = max(all_partitions(n), key=score)
    # Integers 7, 8, ...: an inner edge lies half below the first value of its block.
    expected = [7.0, *(7 + start - 0.5 for start in best[1:-1]), 7.0 + n - 1]
    assert list(released_bins(7, 7 + n - 1, gamma).edges) == expected


@pytest.mark.parametrize(
    ("low", "high", "gamma"), [(3, 3, 0.6), (-1, 5, 0.6), (0, 5, 1), (0, 5, 0)]
)
def test_bad_arguments(low, high, gamma):
    with pytest.raises(InputError):
        released_bins(low, high, gamma)


def test_optimal_partition_refuses_minutes_and_takes_the_first_of_equals():
    with pytest.raises(InputError, match="coarser unit"):
        released_bins(0, MAX_VALUES)
    assert optimal_partition(4, lambda r: np.zeros(r)).tolist() == [0, 4]


BINS = CountBins((0.0, 1.5, 5.0))  # holds the integers 0, 1 and 2, 3, 4, 5
TRAIN = np.array([0, 0, 5])


def test_likelihoods_by_hand_and_by_scipy():
    # Images per bin, one more each: 3 and 2 of 5; spread over 2 and 4 integers.
    expected = np.log(3 / 5 / 2) + 2 * np.log(2 / 5 / 4)
    assert histogram_log_likelihood(BINS, TRAIN, np.array([1, 2, 9])) == pytest.approx(expected)
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


def test_the_same_seed_gives_the_same_table_and_print_asks_for_the_most_bins():
    counts = np.random.default_rng(3).geometric(0.02, 60)
    tables = [choose_gamma(counts, BINNINGS["released"], n_shuffles=2, seed=5).table for _ in "ab"]
    assert tables[0].equals(tables[1])
    counts = np.random.default_rng(0).geometric(0.02, 80)
    found = choose_gamma(counts, BINNINGS["released"], likelihood="multinomial", n_shuffles=3)
    assert found.gamma == 0.9


def test_counts_that_cannot_be_split_or_fitted():
    with pytest.raises(InputError, match="Give gamma"):
        choose_gamma([1, 1, 1, 1, 1, 2], BINNINGS["released"], ratios=(0.8,))
    with pytest.raises(InputError, match="histogram"):
        choose_gamma([1, 2], BINNINGS["released"], likelihood="odds")
    with pytest.raises(InputError, match="released"):
        fit_bins([1, 2], "quantiles")


def test_the_published_gamma_of_nwpu(shared):
    rows = (shared / "golden" / "bincrowd" / "Train_nwpu.txt").read_text().split()
    counts = [float(row.split(",")[1]) for row in rows]
    assert choose_gamma(counts, BINNINGS["released"], n_shuffles=3).gamma == 0.6


def test_bayesian_blocks():
    counts = [*range(0, 100), *range(100, 1000, 50)]  # one a unit, then one in fifty
    edges = bayesian_blocks_bins(counts, 0.1).edges
    assert edges[0] == 0 and edges[-1] == 950
    assert len(edges) == 3 and 95 <= edges[1] <= 130
    assert len(bayesian_blocks_bins(np.arange(0, 300, 3), 0.1)) == 1


def test_the_extra_is_named_where_astropy_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "astropy.stats", None)
    with pytest.raises(InputError, match=r"install -e .\.\[counting\]"):
        bayesian_blocks_bins([1, 2, 3])
