"""Rankings from pairwise differences, against laws."""

import numpy as np
import pytest
from scipy import stats

from autoeval.comparison.ranking import consistent_values, joint_covariance, probability_of_best


def variances_of(covariance):
    own = np.diag(covariance)
    return own[:, None] + own - 2 * covariance


def test_of_two_the_probability_is_that_of_the_difference():
    variances = np.array([[0.0, 0.04], [0.04, 0.0]])
    best = probability_of_best(np.array([0.05, -0.05]), joint_covariance(variances), 8.0)
    assert best[0] == pytest.approx(stats.t.cdf(0.1 / 0.2, 8), abs=0.01)
    assert best.sum() == pytest.approx(1)


def test_equals_are_equally_likely():
    variances = 0.01 * (1 - np.eye(3))
    best = probability_of_best(np.zeros(3), joint_covariance(variances), np.inf)
    np.testing.assert_allclose(best, 1 / 3, atol=0.01)


def test_the_covariance_has_the_variances_of_differences():
    root = np.random.default_rng(0).normal(size=(4, 4))
    variances = variances_of(root @ root.T)
    np.testing.assert_allclose(variances_of(joint_covariance(variances)), variances)


def test_variances_that_no_distribution_has_give_a_proper_covariance():
    variances = np.array([[0, 1, 1], [1, 0, 9], [1, 9, 0.0]])  # 3 > 1 + 1
    assert np.linalg.eigvalsh(joint_covariance(variances)).min() > -1e-9


def test_values_have_consistent_differences():
    values = np.array([0.1, -0.3, 0.2])
    found = consistent_values(values[:, None] - values)
    np.testing.assert_allclose(found, values - values.mean())
