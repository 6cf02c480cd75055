"""True-positive probabilities from confidences, and the scores of calibrated boxes."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from autoeval.model.calibration import (
    CalibrationPrior,
    Likelihood,
    ScoreCalibration,
    SiteData,
    Usual,
    fit_boxes,
    fit_coefficients,
    fit_regression,
    image_terms,
    logistic,
    poisson,
)

LEVELS = 10
TRUE = np.stack([np.linspace(1.0, -2.0, LEVELS), np.full(LEVELS, 1.2), np.full(LEVELS, 0.7)], 1)
MISSED = np.array([-0.5, 0.8, 0.4])


def prior(of_detectors=1e4, of_sites=1e4, mean=(0.0, 1.0, 1.0)):
    usual = Usual(np.array(mean), of_detectors * np.eye(3), of_sites * np.eye(3))
    return CalibrationPrior((usual,) * LEVELS, usual)


def odds(scores):
    return TRUE @ [np.ones(len(scores)), np.log(scores), -np.log1p(-scores)]


def simulated(n=20_000, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.uniform(0.01, 0.99, n)
    return scores, rng.random(n) < expit(odds(scores))


def test_probabilities_by_hand():
    """A confidence of .8 with b = c = 1: odds of 4 times e^a."""
    boxes = np.tile([0.0, 1, 1], (LEVELS, 1))
    boxes[1:, 0] = np.log(0.25)
    p = ScoreCalibration(boxes, MISSED).probabilities(np.array([0.8, 0.5]))
    assert p.shape == (LEVELS, 2)
    np.testing.assert_allclose(p[0], [0.8, 0.5])
    np.testing.assert_allclose(p[1:], np.tile([0.5, 0.2], (LEVELS - 1, 1)))


def test_probabilities_fall_with_the_iou_threshold_whatever_the_coefficients():
    rng = np.random.default_rng(0)
    calibration = ScoreCalibration(rng.normal(0, 2, (LEVELS, 3)), MISSED)
    scores = np.concatenate([[0.0, 1.0], rng.random(50)])  # and are defined at either end
    p = calibration.probabilities(scores)
    assert (np.diff(p, axis=0) <= 0).all() and (p >= 0).all() and (p <= 1).all()
    np.testing.assert_allclose(p[0], calibration.at_half(scores), rtol=1e-12)


def test_a_box_without_area_is_never_right():
    calibration = ScoreCalibration(np.tile([0.0, 1, 1], (LEVELS, 1)), MISSED)
    scores, boxes = np.array([0.8, 0.8]), np.array([[1.0, 1, 3, 3], [1, 1, 1, 3]])
    np.testing.assert_allclose(calibration.at_half(scores, boxes), [0.8, 0])
    np.testing.assert_allclose(calibration.probabilities(scores, boxes)[[0, -1]], [[0.8, 0]] * 2)


def test_missed_objects_by_hand():
    """Boxes of .5 and .8 in the first image, none in the second."""
    calibration = ScoreCalibration(TRUE, MISSED)
    missed = calibration.n_missed(np.array([0.5, 0.8]), np.array([0, 0]), 2)
    first = -0.5 + 0.8 * np.log(1 + 1.3) + 0.4 * np.log(1 + 0.25 + 0.16)
    np.testing.assert_allclose(missed, np.exp([first, -0.5]))
    many = ScoreCalibration(TRUE, np.array([9.0, 0, 0])).n_missed(np.zeros(0), np.zeros(0, int), 1)
    assert many[0] == pytest.approx(100)  # and no more


def test_many_boxes_of_many_pairs_recover_the_coefficients():
    scores, matched = simulated()
    coefficients = fit_boxes([scores], [matched], prior(of_detectors=4, of_sites=1), n_pairs=[1000])
    terms = np.stack([np.ones(len(scores)), np.log(scores), -np.log1p(-scores)])
    for fitted, true, logits in zip(coefficients, TRUE, odds(scores), strict=True):
        p = expit(logits)
        std = np.sqrt(np.diag(np.linalg.inv((terms * p * (1 - p)) @ terms.T)))  # Fisher
        assert (np.abs(fitted - true) < 4 * std).all() and (std < 0.2).all()


def test_all_boxes_count_in_whatever_order_they_come():
    """Of 30,000 boxes the last 10,000 are all wrong: as if each box were given to scikit-learn."""
    scores, matched = simulated(n=30_000)
    matched[:, 20_000:] = False
    usual = prior(1e8, 1e8)
    coefficients = fit_boxes([scores], [matched], usual, n_pairs=[1])
    backwards = fit_boxes([scores[::-1]], [matched[:, ::-1]], usual, n_pairs=[1])
    np.testing.assert_allclose(backwards, coefficients, atol=1e-7)
    terms = np.stack([np.log(scores), -np.log1p(-scores)], axis=1)
    plain = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000).fit(terms, matched[0])
    off = np.array([*plain.intercept_, *plain.coef_[0]]) - [0, 1, 1]
    np.testing.assert_allclose(coefficients[0], np.array([0, 1, 1]) + off / 2, atol=1e-3)


def test_images_of_many_pairs_recover_the_missed_objects():
    rng = np.random.default_rng(0)
    image, p = rng.integers(0, 5000, 20_000), rng.beta(0.5, 0.5, 20_000)
    terms = image_terms(p, image, 5000)
    calibration = ScoreCalibration(TRUE, MISSED)
    expected = calibration.n_missed(p, image, 5000)
    site = SiteData(terms, rng.poisson(expected), n_pairs=1000)
    coefficients = fit_coefficients([site], prior(4, 1).missed, poisson)
    std = np.sqrt(np.diag(np.linalg.inv((terms * expected) @ terms.T)))
    assert (np.abs(coefficients - MISSED) < 4 * std).all() and (std < 0.2).all()


def test_with_a_wide_prior_it_is_logistic_regression():
    scores, matched = simulated(n=2000)
    coefficients = fit_boxes([scores], [matched], prior(1e8, 1e8), n_pairs=[1])
    terms = np.stack([np.log(scores), -np.log1p(-scores)], axis=1)
    for fitted, hits in zip(coefficients, matched, strict=True):
        plain = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000).fit(terms, hits)
        # of a single pair, half of the difference from the mean is that of its site
        off = np.array([*plain.intercept_, *plain.coef_[0]]) - [0, 1, 1]
        np.testing.assert_allclose(fitted, np.array([0, 1, 1]) + off / 2, atol=1e-3)


def test_without_boxes_it_is_the_mean_over_detectors():
    usual = prior(2, 1, mean=(-0.3, 1.4, 1.9))
    boxes = fit_boxes([np.zeros(0)], [np.zeros((LEVELS, 0), bool)], usual, n_pairs=[1])
    np.testing.assert_allclose(boxes, np.tile([-0.3, 1.4, 1.9], (LEVELS, 1)), atol=1e-6)
    none = SiteData(np.zeros((3, 0)), np.zeros(0), n_pairs=1)
    missed = fit_coefficients([none], usual.missed, poisson)
    np.testing.assert_allclose(missed, [-0.3, 1.4, 1.9], atol=1e-6)


def test_boxes_of_one_site_say_less_of_a_detector_than_those_of_many():
    """Each coefficient alone, from n sites without error: the classical shrinkage D / (D + S/n)."""
    usual = Usual(np.zeros(3), 2.0 * np.eye(3), 4.0 * np.eye(3))
    sure = 1e9  # so that the prior of a site moves its coefficients nowhere

    def normal(predicted, y):
        variances = np.full(len(y), sure)
        return Likelihood(sure / 2 * (predicted - y) ** 2, y + sure * (predicted - y), variances)

    for n_pairs, share in ((1, 1 / 3), (2, 1 / 2), (4, 2 / 3)):
        site = SiteData(np.eye(3), np.ones(3), n_pairs)
        np.testing.assert_allclose(fit_coefficients([site], usual, normal), share, rtol=1e-6)
    scores, matched = simulated(n=2000)
    off = [
        np.abs(fit_boxes([scores], [matched], prior(1, 4), n_pairs=[n]) - [0, 1, 1]).sum()
        for n in (1, 4, 100)
    ]
    assert off[0] < off[1] < off[2]


def test_sites_count_by_their_pairs_and_not_by_their_boxes():
    wide = prior(1e8, 1e-8)
    large, small = simulated(n=4000), simulated(n=500)
    small = small[0], np.zeros_like(small[1])  # where hardly a box is right
    small[1][:, :50] = True
    alone = [fit_boxes([site[0]], [site[1]], wide, n_pairs=[1]) for site in (large, small)]
    scores, matched = zip(large, small, strict=True)
    for weights in ([1, 1], [1, 3]):
        coefficients = fit_boxes(scores, matched, wide, n_pairs=weights)
        mean = np.average(alone, axis=0, weights=weights)
        np.testing.assert_allclose(coefficients, mean, atol=1e-3)


CALIBRATION = ScoreCalibration(TRUE, MISSED)


def test_to_dict_and_back_and_the_mean_of_two():
    again = ScoreCalibration.from_dict(CALIBRATION.to_dict())
    np.testing.assert_array_equal(again.boxes, TRUE)
    np.testing.assert_array_equal(again.missed, MISSED)
    mean = ScoreCalibration.mean([again, ScoreCalibration(TRUE + 2, MISSED - 4)])
    np.testing.assert_allclose(mean.boxes, TRUE + 1)
    np.testing.assert_allclose(mean.missed, MISSED - 2)


@pytest.mark.parametrize("family, start", [(logistic, 4.0), (poisson, -6.0)])
def test_a_step_that_leads_too_far_is_halved(family, start):
    """Of 1000 observations three are 1; the first step goes beyond what any observation says."""
    y, terms = np.append(np.ones(3), np.zeros(997)), np.ones((1, 1000))
    weak, mean = np.array([[1e-3]]), np.array([start])
    fitted = fit_regression(terms, y, family, mean, weak)
    gradient = terms @ (family(fitted @ terms, y).means - y) + weak @ (fitted - mean)
    assert abs(gradient[0]) < 1e-9
    thrice = fit_regression(terms, y, family, mean, weak, weights=1 + 2 * y)
    again = fit_regression(np.ones((1, 1006)), np.append(np.ones(6), y), family, mean, weak)
    np.testing.assert_allclose(thrice, again, rtol=1e-10)


@pytest.mark.parametrize("count", [50.0, 400.0])
def test_many_missed_objects_are_fitted_where_few_are_usual(count):
    """The first step is to a logarithm of hundreds, the least loss at that of the count."""
    terms, usual, weak = np.ones((1, 30)), np.array([-2.0]), np.array([[1e-9]])
    fitted = fit_regression(terms, np.full(30, count), poisson, usual, weak)
    np.testing.assert_allclose(fitted, [np.log(count)], atol=1e-9)


def test_missed_objects_of_a_dense_site_have_the_least_loss():
    """Aerial images of up to 49 objects, few of them found: any other search finds it, too."""
    rng = np.random.default_rng(0)
    image = np.repeat(np.arange(65), rng.integers(0, 60, 65))
    terms = image_terms(rng.uniform(0, 0.4, len(image)), image, 65)
    y = rng.poisson(np.linspace(20, 49, 65)).astype(float)
    mean, precision = np.array([-0.8, -2.7, 4.0]), np.diag([1.0, 0.1, 0.1])
    fitted = fit_regression(terms, y, poisson, mean, precision)
    gradient = terms @ (np.exp(fitted @ terms) - y) + precision @ (fitted - mean)
    np.testing.assert_allclose(gradient, 0, atol=1e-6)
