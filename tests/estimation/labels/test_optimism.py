"""The mAP of a few images is too high on average, and the correction takes that off."""

import numpy as np
from rankings import random_ranking

from autoeval.estimation.labels.optimism import fit_optimism, less_optimism
from autoeval.estimation.labels.places import excess_of_small_sets


def test_the_correction_learned_elsewhere_takes_off_most_of_the_excess():
    worlds = [random_ranking(seed, n_images=120, boxes=2) for seed in range(12)]
    measured = [excess_of_small_sets(world) for world in worlds[:8]]
    b = fit_optimism(measured, [str(k) for k in range(8)])
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
            less = less_optimism(value, b, n_true=n_true, n_labelled=10, n_pool=120)
            after.append(less - whole)
    assert np.mean(before) > 0.01
    assert abs(np.mean(after)) < 0.4 * np.mean(before)
    assert np.std(after) < 1.1 * np.std(before)


def test_a_labelled_pool_is_left_as_it_is():
    assert less_optimism(0.5, 0.4, n_true=10, n_labelled=50, n_pool=50) == 0.5
