"""Prior of a variance from other sites."""

import numpy as np
import pytest
from scipy.special import polygamma

from autoeval.labels.category_estimates import LabelledSample, difference_estimate
from autoeval.labels.fit_assistance import MOST_DOF, USUAL_DOF, fit_variance_prior
from autoeval.labels.values import VariancePrior


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


def test_two_values_that_happen_to_be_alike_do_not_show_that_all_are():
    """By hand: of two equal values V is 0, and the variance of 4 degrees of freedom is halved."""
    assert fit_variance_prior([2.0, 2.0], 0.0).dof == MOST_DOF
    found = fit_variance_prior([2.0, 2.0], 0.0, n_usual=1.0)
    assert polygamma(1, found.dof / 2) == pytest.approx(polygamma(1, USUAL_DOF / 2) / 2)
    assert USUAL_DOF < found.dof < 8
    # of many values it is lost
    many = fit_variance_prior(np.full(400, 2.0), 0.0, n_usual=1.0)
    assert many.dof == MOST_DOF


def test_a_variance_is_shrunk_towards_its_prior():
    """One cluster shows no variance, and that of many is hardly moved."""
    prior, alone = VariancePrior(2.0, 5), LabelledSample(np.arange(2), 10**9, clusters=np.zeros(2))
    of_prior = difference_estimate(0.5, np.array([1.0, -1.0]), sample=alone, variance_prior=prior)
    assert (of_prior.error**2, of_prior.dof) == (pytest.approx(2.0 / 2), 5)
    influence = np.tile([1.0, -1.0], 50_000)
    many = LabelledSample(np.arange(100_000), 10**12)
    shown = difference_estimate(0.5, influence, sample=many, variance_prior=prior)
    assert shown.error**2 * 100_000 == pytest.approx(1.0, rel=1e-3)
    assert shown.dof == 99_999 + 5
