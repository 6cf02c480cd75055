"""Prior of a variance from other sites."""

import numpy as np
import pytest

from autoeval.labels.values import MOST_DOF, VariancePrior, fit_variance_prior, moderated


def test_what_it_was_drawn_from_is_found_again():
    rng = np.random.default_rng(0)
    ratios = 3.0 * 8 / rng.chisquare(8, 4000)
    assert fit_variance_prior(ratios, 0.0).dof == pytest.approx(8, rel=0.1)


def test_noise_of_each_site_is_subtracted():
    rng = np.random.default_rng(1)
    noisy = 2.0 * rng.chisquare(20, 4000) / 20  # sites are alike, their variances are estimated
    assert fit_variance_prior(noisy, 2 / 20).dof > 30
    assert fit_variance_prior(noisy, 0.0).dof < 30
    assert fit_variance_prior(np.full(9, 2.0), 0.1) == VariancePrior(pytest.approx(2.0), MOST_DOF)


def test_without_observations_the_prior_is_returned():
    assert moderated(np.nan, 0, VariancePrior(2.0, 5)) == (2.0, 5)
    value, dof = moderated(4.0, 1e9, VariancePrior(1.0, 5))
    assert value == pytest.approx(4.0)
    assert dof > 1e8
