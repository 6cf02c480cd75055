"""Labels alone of several categories: their mean knows how few objects are behind it."""

import math

import numpy as np
import pytest

from autoeval.accuracy.measures import RankedDetections
from autoeval.labels.category_estimates import (
    LabelledSample,
    estimate_categories,
    measure_sample,
    sample_estimate,
)
from autoeval.labels.values import ValueWithError

FREE = ValueWithError(0.4, 0.15)


def held_by(image, hit, n_images=20):
    """One object in one image, found there or not; other images hold none."""
    n_true = np.zeros(n_images)
    n_true[image] = 1
    hits = np.full((10, 1), float(hit))
    return RankedDetections.of(np.array([0.9]), np.array([image]), hits, n_true)


def estimate(rankings, n_pool=100):
    sample = LabelledSample(np.arange(20), n_pool)
    accuracies = [measure_sample(ranking, sample) for ranking in rankings]
    predicted = [np.zeros(n_pool)] * len(rankings)
    free = [FREE] * len(rankings)
    found = estimate_categories(sample, accuracies, predicted, free)
    return found, [sample_estimate(of, sample, FREE) for of in accuracies]


def test_the_mean_of_categories_with_one_object_each_is_not_exact():
    """By hand: independent categories; each influence is 0, as its image is all there is of it."""
    found, each = estimate([held_by(0, True), held_by(1, False), held_by(2, True)])
    mean = found.whole.sample
    assert mean.value == pytest.approx(2 / 3)
    assert mean.error == pytest.approx(math.sqrt(sum(of.error**2 for of in each)) / 3)
    assert mean.error > 0.15


def test_all_labels_leave_no_error():
    found, _ = estimate([held_by(0, True), held_by(1, False)], n_pool=20)
    assert found.whole.sample.error == 0 and found.whole.sample.value == pytest.approx(0.5)
