"""The label-free model of differences against laws and values worked out by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from scipy.special import expit, logit

from autoeval.comparison.pair_model import (
    PairPrior,
    log_odds_on_labels,
    pair_prior,
    scaled_difference,
)


def pairs(**columns):
    rows = {"estimate_a": 0.5, "estimate_b": 0.4, "log_odds": 0.4, "expected": 0.08}
    rows |= {"disagreement": 0.5, "objects": np.inf, "usual": True, "trained": False, **columns}
    return pd.DataFrame([rows])


@pytest.mark.parametrize("level", [0.02, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("log_odds", [-3.0, -0.2, 0.0, 1.5])
def test_two_shares_around_a_level_differ_by_the_log_odds(level, log_odds):
    """Against the root of the equation that defines the middle."""

    def shares(z):
        return expit(z + log_odds / 2), expit(z - log_odds / 2)

    a, b = shares(brentq(lambda z: sum(shares(z)) - 2 * level, -20, 20))
    assert a + b == pytest.approx(2 * level)
    assert logit(a) - logit(b) == pytest.approx(log_odds)
    found = scaled_difference(np.array([level]), np.array([log_odds]))
    assert found[0] == pytest.approx(a - b, abs=1e-9)


def test_the_order_of_two_detectors_changes_the_sign_alone():
    turned = {"estimate_a": 0.4, "estimate_b": 0.5, "log_odds": -0.4, "expected": -0.08}
    (one,), (other,) = (pair_prior().predict(of) for of in (pairs(), pairs(**turned)))
    assert one.value == pytest.approx(-other.value) and one.error == pytest.approx(other.error)
    assert one.value > 0


def test_by_hand():
    usual = {"std": 0.2, "exponent": 1.0, "floor": 0.01, "contradiction": 0.5}
    prior = PairPrior(slopes=(0.5, 0.25, 0.1), alone=(0.8, 0.1), **usual)
    half = np.log(0.6 / 0.4)  # .6 and .4 around .5
    (found,) = prior.predict(pairs(estimate_a=0.55, estimate_b=0.45, log_odds=2 * half))
    assert found.value == pytest.approx(0.5 * 0.2 + 0.25 * 0.1 + 0.1 * 0.08)
    s = np.std([0.2, 0.1, 0.08])
    assert found.error == pytest.approx(np.sqrt(0.2**2 * 0.25 * 0.5 + (0.5 * s) ** 2 + 0.01**2))
    (alone,) = prior.predict(pairs(estimate_a=0.55, estimate_b=0.45, log_odds=np.nan))
    assert alone.value == pytest.approx(0.8 * 0.1 + 0.1 * 0.08)


def test_differences_on_few_objects_vary_more():
    prior = PairPrior(std=0.2, exponent=1.0, floor=0.01, few=30.0, contradiction=0.0)
    few, many = (prior.predict(pairs(objects=n))[0].error for n in (30, 1e9))
    level = 0.45  # of .5 and .4
    assert many == pytest.approx(np.sqrt(0.2**2 * level * (1 - level) * 0.5 + 0.01**2))
    assert few**2 - 0.01**2 == pytest.approx(2 * (many**2 - 0.01**2))


def test_detectors_that_find_the_same_differ_little():
    alike = {"estimate_a": 0.4, "log_odds": 0.0, "expected": 0.0}
    same, apart = (
        pair_prior().predict(pairs(disagreement=u, **alike))[0].error for u in (0.0, 0.8)
    )
    floor = pair_prior().floor * pair_prior().wider[0]
    assert same == pytest.approx(floor) and same < 0.01 < 0.04 < apart


def test_differences_that_contradict_each_other_and_rare_categories_have_wider_errors():
    prior = PairPrior(rare=2.0, contradiction=0.5, floor=0.0, wider=(1.0, 1.5))
    (agree,) = prior.predict(pairs(log_odds=scaled(0.09), expected=0.1))
    (apart,) = prior.predict(pairs(log_odds=scaled(0.3), expected=0.1))
    assert apart.error > agree.error
    one, other = (
        prior.predict(pairs(usual=of, log_odds=scaled(0.1), expected=0.1))[0].error
        for of in (True, False)
    )
    assert other == pytest.approx(2.0 * 1.5 * one, rel=1e-3)


def scaled(difference, level=0.45):
    """Log-odds of two shares around a level."""
    return logit(level + difference / 2) - logit(level - difference / 2)


def test_of_a_detector_trained_where_it_was_labelled_the_difference_there_is_not_used():
    prior = PairPrior(trained=2.0)
    (trained,) = prior.predict(pairs(trained=True, log_odds=3.0))
    (alone,) = prior.predict(pairs(log_odds=np.nan))
    assert trained.value == alone.value
    assert trained.error == pytest.approx(2.0 * alone.error)


def test_a_difference_stays_inside_what_is_possible():
    (low,) = pair_prior().predict(pairs(estimate_a=0.02, estimate_b=0.02, log_odds=9.0))
    assert 0 < low.value <= 2 * 0.02


def test_the_mean_of_categories_has_an_error_between_shared_and_independent():
    (one,) = pair_prior().predict(pairs())
    mean = pair_prior().mean([one] * 4)
    assert mean.value == pytest.approx(one.value)
    assert one.error / 2 < mean.error < one.error


def labelled(**precision):
    rows = [
        {"source": "s", "category": c, "mAP": v, "n_boxes": n} for c, (v, n) in precision.items()
    ]
    return pd.DataFrame(rows)


def log_odds(p):
    return np.log((p + 0.02) / (1.02 - p))


def test_the_category_itself_counts_half_where_it_is_labelled_enough():
    a, b = labelled(car=(0.5, 100), cat=(0.3, 16)), labelled(car=(0.4, 100), cat=(0.3, 16))
    of_car = log_odds(0.5) - log_odds(0.4)
    overall = (10 * of_car + 4 * 0.0) / 14
    assert log_odds_on_labels(a, b, "mAP", ("dog",)) == pytest.approx(overall)
    assert log_odds_on_labels(a, b, "mAP", ("cat",)) == pytest.approx(overall)  # 16 boxes
    assert log_odds_on_labels(a, b, "mAP", ("car",)) == pytest.approx((of_car + overall) / 2)


def test_without_a_common_source_nothing_is_known():
    a = labelled(car=(0.5, 100))
    assert np.isnan(log_odds_on_labels(a, a.assign(source="other"), "mAP", ("car",)))
