"""The box model: curved effects of features, and its file."""

import numpy as np
import pytest
from scipy.special import expit

from autoeval.labels.box_model import (
    LinearPredictors,
    expected_count,
    fit_false_negatives,
    fit_true_positive,
    probability,
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


def test_it_survives_its_file(fitted):
    values, features = fitted.to_dict(), np.array([[6.0, 4.0]])
    assert LinearPredictors.from_dict(values)(features) == pytest.approx(fitted(features))


def test_images_without_a_miss_do_not_say_that_nothing_is_ever_missed():
    features = np.random.default_rng(0).random((19, 6))
    model = fit_false_negatives(features, np.zeros(19), np.ones(19))
    assert np.allclose(expected_count(model, features + 1), 0.5 / 20)
