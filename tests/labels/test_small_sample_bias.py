"""The mAP of a few images is too high on average, and the correction subtracts the bias."""

import numpy as np
import pytest
from rankings import random_ranking

from autoeval.labels.assistance import bias_scale
from autoeval.labels.category_estimates import LabelledSample, measure_sample, sample_estimate
from autoeval.labels.fit_assistance import fit_small_sample_bias, measure_small_sample_bias
from autoeval.labels.values import OBJECTS_OF_EXPECTED, objects_in_pool


def test_the_correction_fitted_elsewhere_removes_most_of_the_bias():
    worlds = [random_ranking(seed, n_images=120, boxes=2) for seed in range(12)]
    measured = [measure_small_sample_bias(world) for world in worlds[:8]]
    b = fit_small_sample_bias(measured, [str(k) for k in range(8)])
    assert b > 0
    before, after = [], []
    rng = np.random.default_rng(0)
    for world in worlds[8:]:
        whole, n_in_pool = world.average_precision().mean(), world.n_true.sum()
        for _ in range(150):
            images = rng.choice(120, 10, replace=False)
            sample = LabelledSample(images, 120)
            few = measure_sample(world.take(images), sample)
            before.append(few.value - whole)
            less = sample_estimate(few, sample, small_sample_bias=b, n_in_pool=n_in_pool)
            after.append(less.value - whole)
    assert np.mean(before) > 0.01
    assert abs(np.mean(after)) < 0.4 * np.mean(before)
    assert np.std(after) < 1.1 * np.std(before)


def test_a_labelled_pool_is_left_as_it_is():
    assert bias_scale(10, 10) == 0


def test_a_pool_is_a_sample_itself():
    """What a sample exceeds its pool by, and the pool what it was drawn from, is all there is."""
    in_pool, everywhere = bias_scale(2, 7), bias_scale(7, np.inf)
    assert in_pool + everywhere == pytest.approx(float(bias_scale(2, np.inf))) == 1 / 3


def test_objects_in_a_pool_are_estimated_without_bias():
    """Rates as the prior has them, and boxes that show only half of the objects."""
    rng = np.random.default_rng(0)
    n_pool, k, c = 200, 30, 4000
    expected = rng.uniform(2, 60, c)
    rates = 2 * expected / n_pool * rng.gamma(OBJECTS_OF_EXPECTED, 1 / OBJECTS_OF_EXPECTED, c)
    seen, rest = rng.poisson(rates * k), rng.poisson(rates * (n_pool - k))
    n_objects = objects_in_pool(seen, k, n_pool, expected)
    for few in (seen == 0, (seen > 0) & (seen < 5), seen >= 5):
        assert n_objects[few].mean() == pytest.approx((seen + rest)[few].mean(), rel=0.06)


def test_without_expected_objects_the_pool_is_as_its_labels():
    assert objects_in_pool(np.array([3, 0]), 10, 100).tolist() == [30, 0]
    assert objects_in_pool(np.array([3, 0]), 10, 100, np.zeros(2)).tolist() == [30, 0]
