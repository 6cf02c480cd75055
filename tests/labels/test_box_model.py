"""The box model: curved effects of features, and the regressions of scikit-learn."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression, PoissonRegressor

from autoeval.labels.assistance import MOST_STANDARD, probability
from autoeval.labels.fit_assistance import (
    INVERSE_PENALTY,
    PENALTY_OF_FALSE_NEGATIVES,
    fit_false_negatives,
    fit_true_positive,
)


@pytest.fixture(scope="module")
def fitted():
    """True positives are more probable near the mean of a feature; two IoU thresholds."""
    rng = np.random.default_rng(0)
    features = rng.normal(5, 2, (20_000, 2))
    odds = 2 - ((features[:, 0] - 5) / 2) ** 2
    matched = rng.random((2, 20_000)) < expit(odds - np.array([[0], [1]]))
    return fit_true_positive(features, matched, np.ones(20_000))


def test_the_middle_may_be_best(fitted):
    features = np.array([[5.0, 5.0], [9.0, 5.0], [1.0, 5.0]])
    expected = expit(np.array([[2, -2, -2], [1, -3, -3]]))
    assert probability(fitted, features) == pytest.approx(expected, abs=0.03)


def test_what_lies_far_off_bends_no_further(fitted):
    near, far = fitted(np.array([[14.0, 5.0]])), fitted(np.array([[16.0, 5.0]]))
    assert far - near == pytest.approx(2 * (fitted.slopes / fitted.scale)[:, :1])


def test_images_without_a_miss_do_not_say_that_nothing_is_ever_missed():
    features = np.random.default_rng(0).random((19, 6))
    model = fit_false_negatives(features, np.zeros(19), np.ones(19))
    assert np.allclose(np.exp(model(features + 1)[0]), 0.5 / 20)


@pytest.fixture(params=[(40, 1), (700, 4), (3000, 9)], ids=str)
def drawn(request):
    """Features of boxes or images, weights and a generator."""
    n, n_features = request.param
    rng = np.random.default_rng(n)
    features = rng.normal(size=(n, n_features))
    features[:, 0] = rng.beta(0.4, 1.2, n)
    return features, rng.choice([0.1, 1.0, 3.0], n), rng


def standardised(features):
    x = (features - features.mean(axis=0)) / features.std(axis=0)
    return x, np.hstack([x, np.clip(x, -MOST_STANDARD, MOST_STANDARD) ** 2])


def test_true_positives_are_those_of_a_logistic_regression(drawn):
    features, weights, rng = drawn
    odds = 6 * features[:, 0] - 2 + features[:, -1]
    levels = np.stack([rng.random(len(odds)) < 1 / (1 + np.exp(k - odds)) for k in (0, 1, 3)])
    model, (_, terms) = fit_true_positive(features, levels, weights), standardised(features)
    for k, matched in enumerate(levels):
        expected = LogisticRegression(C=INVERSE_PENALTY, solver="newton-cholesky", tol=1e-10)
        expected.fit(terms, matched, weights)
        ours = np.hstack([model.slopes[k], model.bends[k]])
        np.testing.assert_allclose(ours, expected.coef_[0], atol=1e-8)
        assert model.intercepts[k] == pytest.approx(float(expected.intercept_[0]), abs=1e-8)


def test_false_negatives_are_those_of_a_poisson_regression(drawn):
    features, weights, rng = drawn
    missed = rng.poisson(np.exp(features[:, 0] - 1)).astype(float)
    model, (x, _) = fit_false_negatives(features, missed, weights), standardised(features)
    expected = PoissonRegressor(
        alpha=PENALTY_OF_FALSE_NEGATIVES, solver="newton-cholesky", tol=1e-10
    )
    expected.fit(x, missed, weights)
    np.testing.assert_allclose(model.slopes[0], expected.coef_, atol=1e-8)
    assert model.intercepts[0] == pytest.approx(float(expected.intercept_), abs=1e-8)
