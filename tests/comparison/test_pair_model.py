"""The label-free model of differences against laws and values worked out by hand."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from scipy.special import expit, logit

from autoeval.comparison.train_differences import plain_values
from autoeval.comparison.unlabelled_difference import (
    DifferenceMixture,
    LabelFree,
    LinearDifference,
    PairPrior,
    known_on_labels,
    pair_features,
    pair_prior,
)
from autoeval.labels.values import NOTHING, VariancePrior
from autoeval.model import DomainShift
from autoeval.runtime.files import shipped_config

# Every detector falls by exp(-1.5 h) at every site, and no site is like home.
SHIFT = DomainShift(
    constant=0.0,
    fall=1.5,
    fall_log_std=0.0,
    site_log_std=0.0,
    like_home=-40.0,
    like_home_slope=0.0,
    like_home_std=1.0,
    least_std=0.02,
    std_share=0.5,
)


def pairs(**columns):
    rows = {"estimate_a": 0.5, "estimate_b": 0.4, "log_odds": 0.4, "expected": 0.08}
    rows |= {"disagreement": 0.5, "objects": np.inf, "usual": True}
    rows |= {"home_a": np.nan, "home_b": np.nan}
    rows |= {"confidence_a": np.nan, "confidence_b": np.nan, **columns}
    return pd.DataFrame([rows])


def kind(slopes=(0.3, 0.3, 0.4), **numbers):
    usual = {"std": 0.2, "exponent": 1.0, "rare": 1.0, "contradiction": 0.0}
    return LinearDifference(slopes, **usual | numbers)


def prior(same=None, other=None, *, gate=(-50.0, 0.0, 0.0), few=0.0, floor=0.0, **others):
    """By default all detectors have the same training."""
    same = same or kind()
    both = DifferenceMixture(same, other or same, gate, few, floor)
    return PairPrior(**{"common": both, "alone": both, "home": same} | others)


@pytest.mark.parametrize("level", [0.02, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("log_odds", [-3.0, -0.2, 0.0, 1.5])
def test_two_shares_around_a_level_differ_by_the_log_odds(level, log_odds):
    """Against the root of the equation that defines the middle."""

    def shares(z):
        return expit(z + log_odds / 2), expit(z - log_odds / 2)

    a, b = shares(brentq(lambda z: sum(shares(z)) - 2 * level, -20, 20))
    assert a + b == pytest.approx(2 * level)
    assert logit(a) - logit(b) == pytest.approx(log_odds)
    seen = pair_features(pairs(estimate_a=level, estimate_b=level, log_odds=log_odds))
    assert seen.terms[:, 0] == pytest.approx([a - b, 0, 0.08], abs=1e-9)


def test_the_order_of_two_detectors_changes_the_sign_alone():
    turned = {"estimate_a": 0.4, "estimate_b": 0.5, "log_odds": -0.4, "expected": -0.08}
    (one,), (other,) = (pair_prior().predict(of) for of in (pairs(), pairs(**turned)))
    assert one.value == pytest.approx(-other.value) and one.error == pytest.approx(other.error)
    assert one.value > 0


def test_by_hand():
    of = prior(kind((0.5, 0.25, 0.1), contradiction=0.5), floor=0.01)
    half = np.log(0.6 / 0.4)  # .6 and .4 around .5
    (found,) = of.predict(pairs(estimate_a=0.55, estimate_b=0.45, log_odds=2 * half))
    assert found.value == pytest.approx(0.5 * 0.2 + 0.25 * 0.1 + 0.1 * 0.08)
    s = np.std([0.2, 0.1, 0.08])
    assert found.error == pytest.approx(np.sqrt(0.2**2 * 0.25 * 0.5 + (0.5 * s) ** 2 + 0.01**2))


def test_without_a_common_labelled_set_the_other_two_differences_count():
    alone = DifferenceMixture(kind((9.0, 0.8, 0.1)), kind(), (-50.0, 0.0, 0.0), 0.0, 0.0)
    (found,) = prior(alone=alone).predict(pairs(log_odds=np.nan))
    assert found.value == pytest.approx(0.8 * 0.1 + 0.1 * 0.08)


def test_differences_on_few_objects_vary_more():
    few, many = (prior(few=30.0, floor=0.01).predict(pairs(objects=n))[0].error for n in (30, 1e9))
    level = 0.45  # of .5 and .4
    assert many == pytest.approx(np.sqrt(0.2**2 * level * (1 - level) * 0.5 + 0.01**2))
    assert few**2 - 0.01**2 == pytest.approx(2 * (many**2 - 0.01**2))


def test_detectors_that_find_the_same_differ_little():
    alike = {"estimate_a": 0.4, "log_odds": 0.0, "expected": 0.0}
    same, apart = (
        pair_prior().predict(pairs(disagreement=u, **alike))[0].error for u in (0.0, 0.8)
    )
    assert same < 0.01 < 0.04 < apart


def test_detectors_that_agree_less_than_their_level_explains_are_probably_trained_apart():
    """Both kinds are mixed: the mean of the mixture, and its variance with that of the means."""
    gate = (np.log(3.0), 1.0, 1.0)  # g = 3/4 where logit u + logit m = 0
    of = prior(kind((0.0, 0.5, 0.0)), kind((0.0, 1.0, 0.0), std=0.4), gate=gate)
    row = pairs(estimate_a=0.45, estimate_b=0.35, disagreement=0.6, log_odds=0.0)  # level .4
    (found,) = of.predict(row)
    assert found.value == pytest.approx(0.25 * 0.05 + 0.75 * 0.1)
    one, other = (std**2 * 0.24 * 0.6 for std in (0.2, 0.4))
    of_means = 0.25 * 0.75 * (0.1 - 0.05) ** 2
    assert found.error == pytest.approx(np.sqrt(0.25 * one + 0.75 * other + of_means))
    assert pair_prior().common.gate[1] > 0  # the more they disagree, the more probably


def test_differences_that_contradict_each_other_and_rare_categories_have_wider_errors():
    of = prior(kind(rare=2.0, contradiction=0.5))
    (agree,) = of.predict(pairs(log_odds=scaled(0.09), expected=0.1))
    (apart,) = of.predict(pairs(log_odds=scaled(0.3), expected=0.1))
    assert apart.error > agree.error
    one, other = (
        of.predict(pairs(usual=usual, log_odds=scaled(0.1), expected=0.1))[0].error
        for usual in (True, False)
    )
    assert other == pytest.approx(2.0 * one, rel=1e-3)


def scaled(difference, level=0.45):
    """Log-odds of two shares around a level."""
    return logit(level + difference / 2) - logit(level - difference / 2)


def test_of_one_detector_at_home_the_difference_there_is_not_used_and_its_estimate_falls():
    of = prior(home=kind((9.0, 0.5, 0.1)))
    (found,) = of.predict(pairs(home_a=0.4, log_odds=3.0), SHIFT)
    a = 0.5 * np.exp(-1.5 * 0.4)
    assert found.value == pytest.approx(0.5 * (a - 0.4) + 0.1 * 0.08)
    level = (a + 0.4) / 2
    assert found.error == pytest.approx(0.2 * np.sqrt(level * (1 - level) * 0.5))
    other_way = pairs(estimate_a=0.4, estimate_b=0.5, home_b=0.4, expected=-0.08)
    (turned,) = of.predict(other_way, SHIFT)
    assert turned.value == pytest.approx(-found.value)


def test_how_far_a_detector_falls_is_a_random_effect_in_the_difference():
    """Half of the sites are like home: by hand, the mean and the variance of both cases."""
    of = prior(home=kind((0.0, 1.0, 0.0)))
    domain_shift = replace(SHIFT, like_home=-1.0, like_home_slope=5.0)
    (found,) = of.predict(pairs(home_b=0.4, confidence_b=0.2), domain_shift)  # -1 + 5 * .2 = 0
    values = np.array([0.5 - 0.4, 0.5 - 0.4 * np.exp(-1.5 * 0.4)])
    assert found.value == pytest.approx(values.mean())
    levels = np.array([0.45, (0.5 + 0.4 * np.exp(-0.6)) / 2])
    variances = 0.2**2 * levels * (1 - levels) * 0.5
    assert found.error == pytest.approx(np.sqrt(variances.mean() + values.var()))


def test_two_detectors_at_home_are_compared_as_any_two():
    (both,) = pair_prior().predict(pairs(home_a=0.4, home_b=0.5))
    (none,) = pair_prior().predict(pairs())
    assert both == none


def test_the_numbers_that_are_read_are_written_again():
    written = json.loads(json.dumps(plain_values(pair_prior())))
    assert written == json.loads(shipped_config("compare_prior.json").read_text())


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
    words = [("dog",), ("cat",), ("car",)]
    carried, each = known_on_labels(a, b, "mAP", words)
    assert each == pytest.approx([overall, overall, (of_car + overall) / 2])  # 16 boxes of cats
    assert carried == pytest.approx((0.1 + 0.0) / 2)


def test_without_a_common_source_nothing_is_known():
    a = labelled(car=(0.5, 100))
    carried, each = known_on_labels(a, a.assign(source="other"), "mAP", [("car",)])
    assert np.isnan([carried, *each]).all()


def test_another_labelled_set_of_the_same_name_is_no_common_one():
    """Two ``val.json`` with other labels; of the same one a detector may lack a few images."""
    a, other = labelled(car=(0.5, 100), cat=(0.3, 16)), labelled(car=(0.2, 70), cat=(0.1, 16))
    for pair in ((a, other), (other, a)):
        carried, each = known_on_labels(*pair, "mAP", [("car",)])
        assert np.isnan([carried, *each]).all()
    fewer = labelled(car=(0.4, 98), cat=(0.3, 15))
    forwards, backwards = (known_on_labels(*p, "mAP", [("car",)]) for p in ((a, fewer), (fewer, a)))
    assert forwards[0] == pytest.approx(0.05) and backwards[0] == pytest.approx(-0.05)
    assert forwards[1] == pytest.approx([-of for of in backwards[1]])
    both = [pd.concat([of, named.assign(source="t")]) for of, named in ((a, a), (other, fewer))]
    carried, each = known_on_labels(*both, "mAP", [("car",)])
    assert (carried, *each) == pytest.approx((forwards[0], *forwards[1]))


def test_a_loss_on_few_images_varies_at_least_as_expected_of_it():
    """One of four images is expected to lose in one category, none in the other."""
    influences = 0.1 * np.array([[3.0, -1, -1, -1], [0, 0, 0, 0]])
    expected = [SimpleNamespace(influence=influence) for influence in influences]
    laws = [VariancePrior(0.001, 4.0), VariancePrior(0.02, 4.0)]
    free = LabelFree([NOTHING] * 2, NOTHING, np.nan, expected, laws)
    left = (1 - pair_prior().influence) ** 2  # of the square of what is not predicted
    assert free.residual([0]) == VariancePrior(pytest.approx(left * 0.03), 4.0)
    assert free.residual([1]) == laws[1]
    assert free.residual([0, 1]).variance == pytest.approx(left * 0.03 / 4)
