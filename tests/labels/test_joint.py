"""The joint estimate of categories, against a conditional normal distribution and simulation."""

import math

import numpy as np
import pytest

from autoeval.labels.joint import STD_OF_UNKNOWN, JointPrior, MeasuredCategories, estimate_jointly
from autoeval.labels.values import NOTHING, ValueWithError, combine

MANY = 1e9  # degrees of freedom


def measured(at, values, errors, dof=MANY):
    m = len(at)
    covariance = np.diag(np.square(np.array(errors, float)))
    return MeasuredCategories(
        np.array(at, int), np.array(values, float), covariance, np.full(m, dof), np.eye(m)
    )


def prior_of(values, errors, error_of_mean, value_of_mean=None):
    each = [ValueWithError(v, e) for v, e in zip(values, errors, strict=True)]
    whole = ValueWithError(float(np.mean(values)), error_of_mean)
    return JointPrior.of(each, whole)


def test_the_covariance_gives_the_stated_errors_of_categories_and_of_their_mean():
    prior = prior_of([0.2, 0.4, 0.6, 0.5], [0.15, 0.2, 0.18, 0.2], 0.1)
    covariance = prior.covariance(np.arange(4))
    assert np.sqrt(np.diag(covariance)) == pytest.approx([0.15, 0.2, 0.18, 0.2])
    assert math.sqrt(covariance.mean()) == pytest.approx(0.1)
    off = covariance[~np.eye(4, dtype=bool)]
    assert off == pytest.approx(off[0])  # one level, alike in all


def test_one_category_is_the_combination_of_labels_and_prior():
    labels, free = ValueWithError(0.4, 0.06, 9), ValueWithError(0.5, 0.08, 6)
    joint = estimate_jointly(JointPrior.of([free]), measured([0], [0.4], [0.06], dof=9))
    both = combine(labels, free)
    for combined in (joint.mean, joint.categories[0]):
        assert combined.estimate.value == pytest.approx(both.estimate.value)
        assert combined.estimate.error == pytest.approx(both.estimate.error)
        assert combined.estimate.dof == pytest.approx(both.estimate.dof)
        assert combined.share == pytest.approx(both.share)


def test_values_are_cut_before_their_mean_and_intervals_move_along():
    """By hand: halfway between .1 and -.3 lies -.1, which is 0; the mean of 0 and .6 is .3."""
    none = np.zeros(2)
    prior = JointPrior(
        np.array([0.1, 0.6]), np.zeros((2, 2)), np.full(2, 0.1), none + math.inf, math.inf
    )
    joint = estimate_jointly(prior, measured([0, 1], [-0.3, 0.6], [0.1, 0.1]))
    assert [of.estimate.value for of in joint.categories] == pytest.approx([0, 0.6], abs=1e-12)
    assert joint.mean.estimate.value == pytest.approx(0.3, abs=1e-12)
    # errors of halves of .1 and .1, and of the mean of two of these; 1.645 of them make 90 %
    assert joint.categories[0].estimate.interval()[1] == pytest.approx(
        1.6449 * 0.1 / 2**0.5, abs=1e-4
    )
    ends = (0.3 - 1.6449 * 0.05, 0.3 + 1.6449 * 0.05)
    assert joint.mean.estimate.interval() == pytest.approx(ends, abs=1e-4)


def test_it_is_the_conditional_normal_distribution():
    """Against the formula of the conditional mean and variance, with a plain inverse."""
    rng = np.random.default_rng(0)
    values, errors = rng.uniform(0.2, 0.6, 6), rng.uniform(0.15, 0.25, 6)
    prior = prior_of(values, errors, 0.12)
    root = rng.normal(0, 0.05, (3, 3))
    covariance = root @ root.T + 0.01 * np.eye(3)
    at, d = np.array([1, 2, 5]), np.array([0.3, 0.5, 0.45])
    part = MeasuredCategories(at, d, covariance, np.full(3, MANY), np.eye(3))
    joint = estimate_jointly(prior, part)
    k = prior.covariance(np.arange(6))
    gain = k[:, at] @ np.linalg.inv(k[np.ix_(at, at)] + covariance)
    mean, spread = values + gain @ (d - values[at]), k - gain @ k[at]
    assert [combined.estimate.value for combined in joint.categories] == pytest.approx(mean)
    assert [combined.estimate.error for combined in joint.categories] == pytest.approx(
        np.sqrt(np.diag(spread))
    )
    assert joint.mean.estimate.value == pytest.approx(mean.mean())
    assert joint.mean.estimate.error == pytest.approx(math.sqrt(spread.mean()))


@pytest.mark.parametrize("n_measured", [0, 1, 10, 40])
def test_labels_never_widen_the_interval(n_measured):
    prior = prior_of(np.full(80, 0.4), np.full(80, 0.18), 0.08)
    at = np.arange(n_measured)
    joint = estimate_jointly(prior, measured(at, np.full(n_measured, 0.42), np.full(n_measured, 3)))
    assert joint.mean.estimate.error <= 0.08 + 1e-12
    assert max(combined.estimate.error for combined in joint.categories) <= 0.18 + 1e-12


def test_labels_of_some_categories_move_the_others_by_the_level_that_they_show():
    prior = prior_of(np.full(40, 0.4), np.full(40, 0.15), 0.1)
    joint = estimate_jointly(prior, measured(range(20), np.full(20, 0.5), np.full(20, 0.02)))
    assert 0.46 < joint.categories[30].estimate.value < 0.5
    assert joint.categories[30].estimate.error < 0.15


def test_a_contradiction_drops_the_level_and_keeps_how_categories_differ():
    values = np.linspace(0.1, 0.4, 20)
    prior = prior_of(values, np.full(20, 0.1), 0.03)
    joint = estimate_jointly(prior, measured(range(10), values[:10] + 0.3, np.full(10, 0.02)))
    assert joint.mean.conflict
    assert joint.mean.estimate.value == pytest.approx(values.mean() + 0.3, abs=0.01)
    last = joint.categories[-1].estimate
    assert last.value == pytest.approx(values[-1] + 0.3, abs=0.01)
    agreeing = estimate_jointly(prior, measured(range(10), values[:10] + 0.03, np.full(10, 0.02)))
    assert not agreeing.mean.conflict


def test_without_label_free_estimates_the_labels_decide():
    part = measured([0, 1], [0.3, 0.5], [0.05, 0.05])
    joint = estimate_jointly(JointPrior.of([NOTHING] * 3), part)
    assert joint.mean.estimate.value == pytest.approx(0.4, abs=1e-3)
    assert joint.categories[2].estimate.error > STD_OF_UNKNOWN
    none = estimate_jointly(JointPrior.of([NOTHING] * 2), measured([], [], []))
    assert not none.mean.estimate.known


def test_a_category_without_a_box_keeps_its_value():
    each = [ValueWithError(0.0, 0.0), ValueWithError(0.4, 0.1), ValueWithError(0.5, 0.1)]
    prior = JointPrior.of(each, ValueWithError(0.3, 0.06), np.array([1.0, 20.0, 50.0]))
    joint = estimate_jointly(prior, measured([1, 2], [0.2, 0.3], [0.05, 0.05]))
    assert joint.categories[0].estimate == ValueWithError(0.0, 0.0, math.inf)


def test_rare_categories_exceed_their_label_free_estimates():
    each = [ValueWithError(0.4, 0.1)] * 2
    prior = JointPrior.of(each, ValueWithError(0.4, 0.08), np.array([1.0, 9.0]), 0.3)
    # .3 of 1/2 and 1/10, less their mean, so that the mean over categories stays
    assert prior.values == pytest.approx([0.4 + 0.3 * 0.2, 0.4 - 0.3 * 0.2])


@pytest.mark.rare
def test_intervals_cover_nine_of_ten_where_the_model_holds():
    rng = np.random.default_rng(1)
    prior = prior_of(np.full(30, 0.4), np.full(30, 0.15), 0.08)
    covariance = prior.covariance(np.arange(30))
    hits = []
    for _ in range(1500):
        truth = 0.4 + rng.multivariate_normal(np.zeros(30), covariance)
        at = np.flatnonzero(rng.random(30) < 0.4)
        errors = rng.uniform(0.05, 0.3, len(at))
        part = measured(at, truth[at] + rng.normal(0, errors), errors)
        joint = estimate_jointly(prior, part)
        lower, upper = joint.mean.estimate.interval()
        of_one = joint.categories[0].estimate.interval()
        hits.append((lower <= truth.mean() <= upper, of_one[0] <= truth[0] <= of_one[1]))
    assert np.mean(hits, axis=0) == pytest.approx([0.9, 0.9], abs=0.025)


@pytest.mark.parametrize("error", [0.1, 0.2, 0.25, 0.3])
def test_labels_say_how_categories_differ_where_their_mean_alone_is_estimated(error):
    """Of a mean that is hardly known, categories had one error in common, and one value."""
    prior = JointPrior.of([NOTHING, NOTHING], ValueWithError(0.09, error))
    labels = MeasuredCategories(
        np.arange(2),
        np.array([0.24, 0.12]),
        np.diag([0.006, 0.01]) ** 2,
        np.full(2, 60.0),
        np.eye(2),
    )
    joint = estimate_jointly(prior, labels)
    for category, measured in zip(joint.categories, labels.values, strict=True):
        assert category.estimate.value == pytest.approx(measured, abs=0.003)
    assert joint.mean.estimate.value == pytest.approx(0.18, abs=0.002)
