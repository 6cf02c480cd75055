import math

import numpy as np
import pytest
import scipy.linalg
from made import computed, evidence, found

from autoeval.errors import InputError
from autoeval.stability.scores.frechet_distance import (
    FeatureStatistics,
    FrechetDistance,
    frechet_distance,
)


def draws(n, c=4, *, seed=0):
    rng = np.random.default_rng([seed, n])
    return rng.normal(seed, 1, (n, c)) @ rng.normal(0, 1, (c, c))


def image(features):
    return evidence(0, found(), features=features)


def test_statistics_are_those_of_numpy():
    features = draws(20)
    made = FeatureStatistics.of(features)
    np.testing.assert_allclose(made.mean, features.mean(0))
    np.testing.assert_allclose(made.covariance, np.cov(features.T))
    np.testing.assert_allclose(made.root @ made.root, made.covariance, atol=1e-12)


@pytest.mark.parametrize("cut", [1, 7, 19])
def test_merged_statistics_are_those_of_the_whole(cut):
    features = draws(20) + 100
    parts = FeatureStatistics.of(features[:cut]), FeatureStatistics.of(features[cut:])
    merged, whole = parts[0].merge(parts[1]), FeatureStatistics.of(features)
    assert merged.n == 20
    np.testing.assert_allclose(merged.mean, whole.mean)
    np.testing.assert_allclose(merged.covariance, whole.covariance)


# the second has fewer vectors than features, so that its covariance has no inverse
@pytest.mark.parametrize("n", [50, 3])
def test_distance_is_that_of_the_matrix_square_root(n):
    a, b = FeatureStatistics.of(draws(60)), FeatureStatistics.of(draws(n, seed=1))
    root = scipy.linalg.sqrtm(a.covariance @ b.covariance).real
    apart = a.mean - b.mean
    expected = apart @ apart + np.trace(a.covariance + b.covariance - 2 * root)
    assert frechet_distance(a, b) == pytest.approx(expected, rel=1e-6)
    assert frechet_distance(b, a) == pytest.approx(expected, rel=1e-6)


def test_diagonal_covariances_worked_by_hand():
    # (1 - 2)^2 + (2 - 3)^2 + |(3, 4)|^2
    a = FeatureStatistics(9, np.zeros(2), np.diag([1.0, 4.0]))
    b = FeatureStatistics(9, np.array([3.0, 4.0]), np.diag([4.0, 9.0]))
    assert frechet_distance(a, b) == pytest.approx(27)
    assert frechet_distance(a, a) == pytest.approx(0)


def test_a_set_against_a_reference_and_in_shards():
    features, reference = draws(600, seed=2), FeatureStatistics.of(draws(80))
    expected = frechet_distance(reference, FeatureStatistics.of(features))
    whole, shard = FrechetDistance(reference), FrechetDistance(reference)
    for k, row in enumerate(features):
        (shard if k % 3 else whole).update(image(row))
    whole.merge(shard)
    whole.merge(FrechetDistance(reference))
    assert whole.compute()["fd"] == pytest.approx(expected, rel=1e-9)


def test_no_reference_and_a_single_image_give_nothing():
    assert "training domain" in FrechetDistance().absence(image(np.zeros(2)))
    reference = FeatureStatistics.of(draws(9))
    assert FrechetDistance(reference).absence(image(np.zeros(4))) is None
    assert math.isnan(computed(FrechetDistance(reference))["fd"])
    assert math.isnan(computed(FrechetDistance(reference), image(np.zeros(4)))["fd"])


def test_features_of_another_detector_are_refused():
    score = FrechetDistance(FeatureStatistics.of(draws(9)))
    with pytest.raises(InputError, match="length 4 as in the reference set but got 3"):
        computed(score, image(np.zeros(3)), image(np.ones(3)))
