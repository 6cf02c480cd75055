"""The draw: equal probabilities, spread over the order, and kept by a larger draw."""

import numpy as np
import pytest

from autoeval.estimation.labels.draw import balanced_order


@pytest.mark.parametrize(("n_pool", "n"), [(16, 5), (37, 10), (61, 50)])  # odd halves too
def test_each_image_is_drawn_equally_often(n_pool, n):
    times, draws = np.zeros(n_pool), 1500
    for seed in range(draws):
        times[balanced_order(np.arange(n_pool), seed=seed)[:n]] += 1
    share = n / n_pool
    error = np.sqrt(share * (1 - share) / draws)
    assert np.abs(times / draws - share).max() < 4.5 * error


def test_it_is_a_permutation_by_its_seed():
    order = np.random.default_rng(0).permutation(50)
    drawn = balanced_order(order, seed=3)
    assert sorted(drawn) == list(range(50))
    assert (drawn == balanced_order(order, seed=3)).all()
    assert (drawn != balanced_order(order, seed=4)).any()


@pytest.mark.parametrize("n", [4, 8, 16])
def test_every_beginning_is_spread_over_the_order(n):
    for seed in range(20):
        strata = np.sort(balanced_order(np.arange(64), seed=seed)[:n])
        gaps = np.diff(np.append(strata, strata[0] + 64))
        assert gaps.max() <= 2 * 64 / n
        assert gaps.min() >= 1


def test_means_vary_less_than_by_a_simple_draw():
    values = np.sort(np.random.default_rng(0).normal(size=100))
    means = [values[balanced_order(np.arange(100), seed=s)[:10]].mean() for s in range(200)]
    assert np.std(means) < 0.75 * values.std() * np.sqrt((1 - 0.1) / 10)
