"""The accuracy of a detector away from the site that it was trained on."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from autoeval.model import DomainShift, Mixture, predict_intervals

# A quarter of the detectors does not fall, the others by exp(-2 h); half of the sites are alike.
SHIFT = DomainShift(
    constant=0.25,
    fall=2.0,
    fall_log_std=0.0,
    site_log_std=0.0,
    like_home=0.0,
    like_home_slope=0.0,
    like_home_std=0.8,
    least_std=0.02,
    std_share=0.5,
)
USUAL = replace(SHIFT, constant=0.1, fall_log_std=0.7, site_log_std=0.5, like_home=-1.5)
UNKNOWN = np.zeros(2)


def normal(mean, std):
    return Mixture(np.ones((1, 1)), np.array([mean]), np.array([std]))


def test_it_is_a_mixture_of_sites_like_home_and_of_others():
    shifted = SHIFT.predict(normal([0.4, 0.2], [0.1, 0.1]), home=0.5, confidence=UNKNOWN)
    # exp(-2 * .5) = .36788, so that .4 falls to .14715: .5 * .4 + .5 (.25 * .4 + .75 * .14715)
    np.testing.assert_allclose(shifted.mean, [0.30518, 0.15259], atol=1e-5)
    # standard deviations of .4: .8 * .1 like home; .02 + .5 * .4 = .22 and .02 + .5 * .14715
    of_others = 0.25 * norm.cdf(0.1, 0.4, 0.22) + 0.75 * norm.cdf(0.1, 0.14715, 0.09358)
    expected = 0.5 * norm.cdf(0.1, 0.4, 0.08) + 0.5 * of_others
    assert shifted.quantile(expected)[0] == pytest.approx(0.1, abs=1e-5)


def test_the_better_at_home_the_further_it_falls():
    predicted = normal([0.4, 0.2], [0.1, 0.1])
    weak, strong = (USUAL.predict(predicted, home, UNKNOWN).mean for home in (0.2, 0.7))
    assert (strong < weak).all() and (weak < predicted.mean).all()
    each = USUAL.predict(predicted, np.array([0.2, 0.7]), UNKNOWN).mean
    np.testing.assert_allclose(each, [weak[0], strong[1]])


def test_confidence_above_that_at_home_makes_a_site_like_home():
    domain_shift = replace(SHIFT, constant=0.0, like_home=-1.0, like_home_slope=5.0)
    found = domain_shift.predict(normal([0.4, 0.4], [0.1, 0.1]), 0.5, np.array([0.3, np.nan])).mean
    probability = expit([-1.0 + 5 * 0.3, -1.0])  # what is not known counts as that at home
    np.testing.assert_allclose(found, probability * 0.4 + (1 - probability) * 0.14715, atol=1e-5)


def test_both_random_effects_are_integrated():
    """Against draws of the log-normal effects themselves."""
    rng = np.random.default_rng(0)
    n = 200_000
    k = np.where(rng.random(n) < 0.1, 0, 2 * np.exp(0.7 * rng.standard_normal(n)))
    fallen = 0.4 * np.exp(-k * np.exp(0.5 * rng.standard_normal(n)) * 0.5)
    alike = rng.random(n) < expit(-1.5)
    mean, std = np.where(alike, [[0.4], [0.08]], [fallen, 0.02 + 0.5 * fallen])
    drawn = mean + std * rng.standard_normal(n)
    shifted = USUAL.predict(normal([0.4], [0.1]), 0.5, np.zeros(1))
    assert shifted.mean[0] == pytest.approx(drawn.mean(), abs=0.004)
    assert shifted.std[0] == pytest.approx(drawn.std(), abs=0.004)
    for probability in (0.05, 0.5, 0.95):
        expected = np.quantile(drawn, probability)
        assert shifted.quantile(probability)[0] == pytest.approx(expected, abs=0.015)


def test_the_interval_reaches_further_up_to_sites_like_home():
    (found,) = predict_intervals(USUAL.predict(normal([0.4], [0.1]), 0.5, np.zeros(1)))
    assert found.upper - found.value > 1.3 * (found.value - found.lower)
    assert found.lower < 0.05 and 0.4 < found.upper < 0.6


def test_labels_of_a_site_move_the_fall_to_what_they_show():
    """A quarter of the detectors does not fall, the others by exp(-1); half the sites are alike."""
    predicted, home = normal([0.4], [0.1]), 0.5
    for accuracy in (0.4, 0.15):
        (given,) = predict_given(SHIFT, predicted, np.array([accuracy]), home)
        fallen = norm.pdf(accuracy, 0.14715, 0.02 + 0.5 * 0.14715)
        alike, same = norm.pdf(accuracy, 0.4, 0.08), norm.pdf(accuracy, 0.4, 0.02 + 0.5 * 0.4)
        weights = 0.25 * (0.5 * alike + 0.5 * same), 0.75 * (0.5 * alike + 0.5 * fallen)
        assert given.posterior[0] == pytest.approx(weights[0] / sum(weights), rel=1e-4)
        assert sum(given.posterior) == pytest.approx(1)
        new = given.predict(predicted, home, np.zeros(1)).mean[0]
        of_fall = given.posterior[0] * 0.4 + (1 - given.posterior[0]) * 0.14715
        assert new == pytest.approx(0.5 * 0.4 + 0.5 * of_fall, abs=1e-4)


def predict_given(domain_shift, predicted, accuracy, home, **options):
    sites = options.pop("sites", np.arange(len(accuracy)))
    options = {"sites": sites, "groups": sites, **options}
    return (domain_shift.given(accuracy, predicted, home, np.zeros(len(accuracy)), **options),)


def test_more_sites_say_more_and_the_categories_of_one_site_count_once():
    two = normal([0.4, 0.4], [0.1, 0.1])
    accuracy = np.array([0.12, 0.12])
    (one,) = predict_given(USUAL, normal([0.4], [0.1]), accuracy[:1], 0.5)
    (sites,) = predict_given(USUAL, two, accuracy, 0.5)
    (categories,) = predict_given(USUAL, two, accuracy, 0.5, sites=np.array(["a", "a"]))
    prior = USUAL.falls[1]
    ratio, twice = (np.log(np.divide(of.posterior, prior)) for of in (one, sites))
    np.testing.assert_allclose(twice - twice[0], 2 * (ratio - ratio[0]))
    np.testing.assert_allclose(categories.posterior, one.posterior)


def test_the_sites_of_one_group_count_once():
    accuracy, two = np.array([0.12, 0.3]), normal([0.4, 0.4], [0.1, 0.1])
    (first,), (second,) = (
        predict_given(USUAL, normal([0.4], [0.1]), accuracy[[k]], 0.5) for k in range(2)
    )
    (group,) = predict_given(USUAL, two, accuracy, 0.5, groups=np.array(["a", "a"]))
    # the geometric mean of what either site says alone
    expected = np.sqrt(np.multiply(first.posterior, second.posterior))
    np.testing.assert_allclose(group.posterior, expected / expected.sum())
    # a site counts once where its categories are in groups of their own, too
    one_site = {"sites": np.array(["s", "s"]), "groups": np.array(["a", "b"])}
    (dealt,) = predict_given(USUAL, two, accuracy[[0, 0]], 0.5, **one_site)
    np.testing.assert_allclose(dealt.posterior, first.posterior)


def test_a_label_on_few_images_says_little():
    accuracy = np.array([0.05])
    (sure,) = predict_given(USUAL, normal([0.4], [0.1]), accuracy, 0.5)
    (vague,) = predict_given(USUAL, normal([0.4], [0.1]), accuracy, 0.5, sampling=5.0)
    np.testing.assert_allclose(vague.posterior, USUAL.falls[1], atol=1e-3)
    assert np.abs(np.subtract(sure.posterior, USUAL.falls[1])).max() > 0.05


def test_where_nothing_is_found_the_detector_falls_far():
    (given,) = predict_given(USUAL, normal([0.4], [0.1]), np.array([0.0]), 0.5)
    assert given.posterior[0] < USUAL.constant < 0.2 < given.posterior[-1]


@pytest.mark.parametrize("correlation", [0.0, 0.5, 1.0])
def test_the_mean_over_categories_of_a_site_has_the_distribution_of_its_draws(correlation):
    """Also where the categories are unlike: of one the confidence is that at home."""
    mean, std, weights = np.array([0.4, 0.3]), np.array([0.1, 0.05]), np.array([[0.7, 0.3]])
    correlations = np.array([[1.0, correlation], [correlation, 1.0]])
    covariance = np.outer(std, std) * correlations
    draws = np.random.default_rng(0).multivariate_normal(mean, covariance, 100_000)
    shift, confidence = replace(USUAL, like_home_slope=5.0), np.array([0.3, -0.3])
    drawn = shift.draws(draws, 0.5, confidence, sites=np.zeros(2, int), seed=1) @ weights[0]
    average_std = np.sqrt(np.diag(weights @ covariance @ weights.T))
    average = shift.predict(normal(mean, std), 0.5, confidence, average=(weights, average_std))
    assert average.mean[0] == pytest.approx(drawn.mean(), abs=0.002)
    each = shift.predict(normal(mean, std), 0.5, confidence).mean
    assert average.mean[0] == pytest.approx((weights @ each)[0], abs=1e-9)
    for probability in (0.05, 0.95):
        expected = np.quantile(drawn, probability)
        assert average.quantile(probability)[0] == pytest.approx(expected, abs=0.005)


def test_joint_draws_are_of_one_detector_and_have_the_same_distribution():
    draws = np.random.default_rng(0).normal([0.4, 0.3], [0.1, 0.05], (20_000, 2))
    corrected = USUAL.draws(draws, 0.5, UNKNOWN, sites=np.arange(2), seed=1)
    expected = USUAL.predict(normal(draws.mean(0), draws.std(0)), 0.5, UNKNOWN)
    np.testing.assert_allclose(corrected.mean(0), expected.mean, atol=0.004)
    np.testing.assert_allclose(corrected.std(0), expected.std, atol=0.004)
    again = USUAL.draws(draws, 0.5, UNKNOWN, sites=np.arange(2), seed=1)
    np.testing.assert_array_equal(corrected, again)
    # Without errors and without an effect of the site, both sites fall by the same factor.
    alone = replace(USUAL, site_log_std=0.0, like_home=-40.0, least_std=0.0, std_share=0.0)
    a, b = alone.draws(draws, 0.5, UNKNOWN, sites=np.arange(2), seed=1).T
    np.testing.assert_allclose(a / draws[:, 0].mean(), b / draws[:, 1].mean())
    assert len(np.unique(a.round(9))) == 9


def test_categories_of_one_site_are_like_home_together():
    draws = np.zeros((5000, 2)) + 0.4
    sure = replace(SHIFT, constant=0.0, least_std=0.0, std_share=0.0)
    together, apart = (
        sure.draws(draws, 0.5, UNKNOWN, sites=np.array(of), seed=0) for of in ([0, 0], [0, 1])
    )
    assert (together[:, 0] == together[:, 1]).all()
    assert (apart[:, 0] == apart[:, 1]).mean() == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("level", [0.01, 0.1, 0.3, 0.9])
def test_an_interval_holds_its_value_at_any_level(level):
    # few detectors do not fall, so that the mean lies far from the median
    shifted = USUAL.predict(normal([0.3, 0.5, 0.7], [0.1] * 3), 0.6, np.array([0.0, 0.2, -0.3]))
    for told in predict_intervals(shifted, level):
        assert np.isnan(told.value) or told.lower <= told.value <= told.upper
