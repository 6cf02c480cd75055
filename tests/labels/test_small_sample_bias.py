"""The mAP of a few images is too high on average, and the correction subtracts the bias."""

import numpy as np
from rankings import random_ranking

from autoeval.labels.small_sample_bias import (
    fit_small_sample_bias,
    measure_small_sample_bias,
    without_small_sample_bias,
)


def test_the_correction_fitted_elsewhere_removes_most_of_the_bias():
    worlds = [random_ranking(seed, n_images=120, boxes=2) for seed in range(12)]
    measured = [measure_small_sample_bias(world) for world in worlds[:8]]
    b = fit_small_sample_bias(measured, [str(k) for k in range(8)])
    assert b > 0
    before, after = [], []
    rng = np.random.default_rng(0)
    for world in worlds[8:]:
        whole = world.average_precision().mean()
        for _ in range(150):
            few = world.take(rng.choice(120, 10, replace=False))
            value = few.average_precision().mean()
            before.append(value - whole)
            n_true = few.n_true.sum()
            less = without_small_sample_bias(value, b, n_true=n_true, n_labelled=10, n_pool=120)
            after.append(less - whole)
    assert np.mean(before) > 0.01
    assert abs(np.mean(after)) < 0.4 * np.mean(before)
    assert np.std(after) < 1.1 * np.std(before)


def test_a_labelled_pool_is_left_as_it_is():
    assert without_small_sample_bias(0.5, 0.4, n_true=10, n_labelled=50, n_pool=50) == 0.5
