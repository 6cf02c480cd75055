"""The gain of labels of one category, against the conditional normal distribution."""

import numpy as np
import pytest

from autoeval.labels.joint import JointPrior, MeasuredCategories, variance_with_one_more
from autoeval.labels.values import ValueWithError


def conditional(covariance, rows, noise):
    """Covariance that observations of some rows with a noise covariance leave."""
    reach = covariance[rows]
    gain = np.linalg.solve(covariance[np.ix_(rows, rows)] + noise, reach)
    return covariance - reach.T @ gain


@pytest.mark.parametrize("at", [[], [0, 2]])  # before there are labels, and after
def test_one_more_value_is_one_more_observation(at):
    each = [ValueWithError(0.4, error) for error in (0.1, 0.2, 0.15, 0.25)]
    prior = JointPrior.of(each, ValueWithError(0.4, 0.1))
    m, sampling = len(at), np.array([0.01, 0.02, 0.005, 0.03])
    noise = np.diag(np.full(m, 0.004))
    seen = MeasuredCategories(np.array(at, int), np.full(m, 0.4), noise, np.full(m, 9.0), np.eye(m))
    now, more = variance_with_one_more(prior, seen, sampling)
    covariance = prior.covariance(np.arange(4))
    if m:
        covariance = conditional(covariance, at, noise)
    assert now == pytest.approx(covariance.mean())
    expected = [conditional(covariance, [c], [[sampling[c]]]).mean() for c in range(4)]
    assert more == pytest.approx(expected)
