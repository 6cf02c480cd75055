"""Label-free estimates as priors: by hand, and what left-out sites teach of their error."""

import math

import numpy as np
import pytest

from autoeval.estimation.estimate import Estimate
from autoeval.estimation.label_planning import error_elsewhere, priors_of, with_error
from autoeval.labels.values import ErrorOfPrior

REACH = 1.6448536  # standard deviations of a normal distribution to either side of its 90 %


def an_estimate(**changes):
    about = {"level": 0.9, "interval_method": "", "target": "mAP"}
    return Estimate(0.3, 0.1, 0.4, n_images=50, **(about | changes))


def test_the_longer_arm_is_the_error():
    assert priors_of(an_estimate())["mAP"].error == pytest.approx(0.2 / REACH)


def test_a_category_has_the_error_that_places_show_and_the_mean_its_own():
    per = {"car": {"value": 0.5, "lower": 0.4, "upper": 0.6}}
    per["bus"] = dict.fromkeys(("value", "lower", "upper"), math.nan)
    found = priors_of(an_estimate(per_category=per), ErrorOfPrior(2.0, True, 7.0))
    assert set(found) == {"mAP", "mAP/car"}  # of buses nothing is told
    assert found["mAP"].error == pytest.approx(0.2 / REACH)
    assert found["mAP/car"].error == pytest.approx(2 * math.sqrt(0.5 * 0.5) * 0.1 / REACH)
    assert found["mAP/car"].dof == 7


def held_out(n, error, *, groups=None):
    rng = np.random.default_rng(0)
    estimate, stated = rng.uniform(0.1, 0.9, n), 0.1
    return {
        "group": np.array([str(k % (groups or n)) for k in range(n)], object),
        "true": estimate + error(estimate) * rng.normal(size=n),
        "estimate": estimate,
        "lower": estimate - REACH * stated,
        "upper": estimate + REACH * stated,
    }


@pytest.mark.parametrize(
    ("error", "by_level"),
    [(lambda g: 0.05, False), (lambda g: 0.3 * np.sqrt(g * (1 - g)), True)],
)
def test_the_error_is_that_of_left_out_places_not_the_stated_one(error, by_level):
    found = error_elsewhere(held_out(600, error), 0.9)
    assert found.by_level == by_level
    for estimate in (0.1, 0.5):
        of = {"value": estimate, "lower": estimate - 0.1 * REACH, "upper": estimate + 0.1 * REACH}
        assert with_error(of, 0.9, found).error == pytest.approx(error(estimate), rel=0.15)


def test_a_place_that_states_more_has_more():
    found = error_elsewhere(held_out(100, lambda g: 0.05), 0.9)
    near, far = (
        with_error({"value": 0.4, "lower": 0.4 - reach, "upper": 0.4 + reach}, 0.9, found).error
        for reach in (0.1, 0.3)
    )
    assert far == pytest.approx(3 * near)


def test_four_groups_teach_nothing():
    assert error_elsewhere(held_out(40, lambda g: 0.05, groups=4), 0.9) is None
    assert error_elsewhere({}, 0.9) is None
