"""Variances shared between places."""

import numpy as np
import pytest

from autoeval.estimation.labels.spread import MOST_DOF, Spread, fit_spread, moderated


def test_what_it_was_drawn_from_is_found_again():
    rng = np.random.default_rng(0)
    ratios = 3.0 * 8 / rng.chisquare(8, 4000)
    assert fit_spread(ratios, 0.0).dof == pytest.approx(8, rel=0.1)


def test_noise_of_each_place_is_taken_off():
    rng = np.random.default_rng(1)
    noisy = 2.0 * rng.chisquare(20, 4000) / 20  # places are alike, their variances are not known
    assert fit_spread(noisy, 2 / 20).dof > 30
    assert fit_spread(noisy, 0.0).dof < 30
    assert fit_spread(np.full(9, 2.0), 0.1) == Spread(pytest.approx(2.0), MOST_DOF)


def test_without_observations_the_prior_stands_alone():
    assert moderated(np.nan, 0, Spread(2.0, 5)) == (2.0, 5)
    value, dof = moderated(4.0, 1e9, Spread(1.0, 5))
    assert value == pytest.approx(4.0)
    assert dof > 1e8
