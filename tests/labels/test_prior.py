"""The label-free estimate as a prior, against hand-computed values and simulation."""

import math

import numpy as np
import pytest

from autoeval.labels.values import NOTHING, ValueWithError, combine, fit_error_of_prior


def test_by_hand():
    labels, prior = ValueWithError(0.4, 0.06, 9), ValueWithError(0.5, 0.08, math.inf)
    both = combine(labels, prior).estimate
    within, between = 0.06**2, 0.08**2
    assert both.value == pytest.approx((between * 0.4 + within * 0.5) / (between + within))
    of_weights = 4 * (between * within) ** 2 / (9 * (between + within) ** 3)
    assert both.error**2 == pytest.approx(between * within / (between + within) + of_weights)


def test_a_contradicted_prior_is_dropped():
    combined = combine(ValueWithError(0.2, 0.06, 9), ValueWithError(0.5, 0.08))
    assert combined.conflict
    assert combined.estimate == ValueWithError(0.2, 0.06, 9)
    assert not combine(ValueWithError(0.31, 0.06, 9), ValueWithError(0.5, 0.08)).conflict


def test_what_is_not_known_leaves_the_other():
    one = ValueWithError(0.4, 0.1, 9)
    assert combine(one, NOTHING).estimate == one
    assert combine(NOTHING, one).estimate == one


def test_degrees_of_freedom_lie_between():
    one = ValueWithError(0.4, 0.1, 9)
    assert combine(one, ValueWithError(0.4, 1e6, math.inf)).estimate.dof == pytest.approx(9)
    assert combine(one, ValueWithError(0.4, 1e-6, math.inf)).estimate.dof > 1e6
    assert 9 < combine(one, ValueWithError(0.4, 0.1, 9)).estimate.dof < 30


@pytest.mark.parametrize("by_level", [False, True])
def test_the_form_of_the_error_is_found(by_level):
    rng = np.random.default_rng(1)
    estimates = rng.uniform(0.02, 0.98, 400)
    shape = np.sqrt(estimates * (1 - estimates)) if by_level else 1.0
    truths = estimates + rng.normal(0, 0.12 * shape, 400)
    fitted = fit_error_of_prior(estimates, truths, [str(k % 40) for k in range(400)])
    assert fitted.by_level == by_level
    assert fitted.scale == pytest.approx(0.12, rel=0.15)
    if by_level:
        assert fitted.at(0.05).error < 0.5 * fitted.at(0.5).error


def test_a_group_counts_once():
    estimates = np.full(11, 0.5)
    truths = np.append(np.full(10, 0.7), 0.5)  # ten sources of one group, all missed alike
    fitted = fit_error_of_prior(estimates, truths, ["a"] * 10 + ["b"])
    shape = 0.5 if fitted.by_level else 1.0
    assert fitted.scale * shape == pytest.approx(math.sqrt(0.5 * 0.2**2))


@pytest.mark.parametrize("k", [10, 20, 50])
def test_combined_intervals_cover_nine_of_ten(k):
    rng = np.random.default_rng(k)
    hits, n = 0, 2500
    for _ in range(n):
        truth = 0.5
        values = truth + rng.normal(0, 0.2, k)
        labels = ValueWithError(values.mean(), values.std(ddof=1) / math.sqrt(k), k - 1)
        free = ValueWithError(truth + rng.normal(0, 0.08), 0.08)
        lower, upper = combine(labels, free).estimate.interval()
        hits += lower <= truth <= upper
    assert 0.87 <= hits / n <= 0.93
