"""The accuracy of a detector away from the site that it was trained on."""

import numpy as np
import pytest

from autoeval.model import Away, Mixture

AWAY = Away(fall=2.0, least_std=0.02, std_share=0.5)


def normal(mean, std):
    return Mixture(np.ones(1), np.array([mean]), np.array([std]))


def test_the_mean_falls_with_the_accuracy_at_home():
    predicted = normal([0.4, 0.2], [0.1, 0.1])
    away = AWAY.predict(predicted, home=0.5)
    # exp(-2 * .5) = .3679; .02 + .5 * .3679 * .4 = .0936, and of .2 the second is .0568
    np.testing.assert_allclose(away.mean, [0.14715, 0.07358], atol=1e-5)
    np.testing.assert_allclose(away.std, [0.09358, 0.05679], atol=1e-5)
    assert (AWAY.predict(predicted, home=0.8).mean < away.mean).all()


def test_it_is_no_surer_than_the_regression():
    wide = AWAY.predict(normal([0.1], [0.3]), home=0.5)
    assert wide.std[0] == pytest.approx(0.3 * np.exp(-1))


def test_a_fit_without_such_a_site_is_left_as_it_is():
    one = normal([0.4], [0.1])
    same = AWAY.predict(one, home=0.5, share=0.0)
    assert (same.mean[0], same.std[0]) == pytest.approx((0.4, 0.1))
    half = AWAY.predict(one, home=0.5, share=0.5).mean[0]
    assert half == pytest.approx(0.4 * np.exp(-0.5))


def test_joint_draws_keep_their_order_and_get_the_same_distribution():
    draws = np.random.default_rng(0).normal([0.4, 0.3], [0.1, 0.05], (4000, 2))
    corrected = AWAY.draws(draws, home=0.5)
    expected = AWAY.predict(normal(draws.mean(0), draws.std(0)), home=0.5)
    np.testing.assert_allclose(corrected.mean(0), expected.mean, atol=1e-9)
    np.testing.assert_allclose(corrected.std(0), expected.std, atol=1e-9)
    assert (np.argsort(corrected[:, 0]) == np.argsort(draws[:, 0])).all()
