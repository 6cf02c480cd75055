"""Released binning: published edges, and the formula by brute force."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from autoeval.counting.binning import released_bins
from autoeval.counting.binning.paper import MAX_VALUES, optimal_partition
from autoeval.errors import InputError

# As published by the authors for gamma = 0.6 on the training counts of the two data sets.
NWPU = (
    "0 .5 2.5 5.5 10.5 18.5 31.5 53.5 90.5 152.5 256.5 429.5 717.5 1197.5 1997.5 3330.5 5552.5 "
    "9255.5 15426"
)
STA = "33 33.5 35.5 38.5 43.5 51.5 64.5 85.5 120.5 178.5 275.5 436.5 704.5 1151.5 1897.5 3139"


@pytest.mark.parametrize(("low", "high", "edges"), [(0, 15426, NWPU), (33, 3139, STA)])
def test_published_edges(low, high, edges):
    assert list(released_bins(low, high, 0.6).edges) == [float(e) for e in edges.split()]


def all_partitions(n):
    for k in range(n):
        for inner in combinations(range(1, n), k):
            yield (0, *inner, n)


@pytest.mark.parametrize("gamma", [0.1, 0.6, 0.9])
@pytest.mark.parametrize("n", [2, 5, 9])
def test_the_best_of_all_partitions_is_found(n, gamma):
    def score(starts):
        constant = np.log(1 - gamma) - np.log(1 - gamma ** max(n // 4, 1))
        return sum(
            -(e - s) * np.log(e - s) + e * np.log(gamma) + constant for s, e in pairwise(starts)
        )

    best = max(all_partitions(n), key=score)
    # Integers 7, 8, ...: an inner edge lies half below the first value of its block.
    expected = [7.0, *(7 + start - 0.5 for start in best[1:-1]), 7.0 + n - 1]
    assert list(released_bins(7, 7 + n - 1, gamma).edges) == expected


def test_a_larger_gamma_makes_more_bins():
    numbers = [len(released_bins(0, 500, gamma)) for gamma in (0.1, 0.3, 0.5, 0.7, 0.9)]
    assert numbers == sorted(numbers) and numbers[0] < numbers[-1]


@pytest.mark.parametrize(
    ("low", "high", "gamma"), [(3, 3, 0.6), (-1, 5, 0.6), (0, 5, 1), (0, 5, 0)]
)
def test_bad_arguments(low, high, gamma):
    with pytest.raises(InputError):
        released_bins(low, high, gamma)


def test_a_range_that_would_take_minutes_is_refused():
    with pytest.raises(InputError, match="coarser unit"):
        optimal_partition(MAX_VALUES + 1, lambda r: np.zeros(r))


def test_the_first_of_equally_good_starts_is_taken():
    assert optimal_partition(4, lambda r: np.zeros(r)).tolist() == [0, 4]
