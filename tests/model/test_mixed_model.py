"""The regression against an independent Gaussian process, and against worlds drawn from it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, DotProduct

from autoeval.model import (
    MixedModel,
    Pairs,
    Prior,
    Variances,
    possible_variances,
    predict_intervals,
)

SLOPES = np.array([0.1, 0.05])
PRIOR = Prior(tuple(SLOPES), intercept_std=0.15, calibration_std=0.0, slope_std=0.08)
WIDE = replace(PRIOR, spread_log_std=0.5)


def alone(x, sampling=0.0, name="p"):
    """Pairs that share nothing."""
    names = np.array([f"{name}{k}" for k in range(len(x))])
    return Pairs(x, np.full(len(x), sampling), names, names, names)


def test_one_set_of_variances_is_the_gaussian_process_of_scikit_learn():
    rng = np.random.default_rng(0)
    x, y, new = rng.normal(size=(9, 2)), rng.uniform(size=9), rng.normal(size=(4, 2))
    variances = Variances(0.0, 0.0, 0.0, 0.01, 0.0064)
    prior = Prior((0.1, 0.05), (0.2, -1.0), (0.5, 2.0), intercept=0.4, intercept_std=0.03)
    prior = replace(prior, calibration_std=0.06)
    ours = MixedModel(prior, variances=[variances])
    predicted = ours.fit(alone(x, 0.003), y).predict(alone(new, 0.003, "q"))

    def line(at):
        return 0.4 + at @ SLOPES

    scaled, asked = (np.c_[(at[:, 0] - 0.2) / 0.5, (at[:, 1] + 1) / 2] for at in (x, new))
    # nine pairs: what the calibration leaves open of the intercept is a third of .06
    kernel = ConstantKernel(0.03**2 + 0.02**2) + ConstantKernel(0.0064) * DotProduct(0.0, "fixed")
    process = GaussianProcessRegressor(kernel, alpha=0.013, optimizer=None)
    process.fit(scaled, y - line(scaled))
    mean, std = process.predict(asked, return_std=True)
    np.testing.assert_allclose(predicted.mean, mean + line(asked), atol=1e-8)
    np.testing.assert_allclose(predicted.std, np.sqrt(std**2 + 0.013), atol=1e-8)


def test_what_is_known_of_a_category_moves_its_pairs_as_far_as_their_accuracies_leave_it():
    """One pair with a residual of .1 less the effect .2 of its category; shares of the variance."""
    variances = Variances(0.0, 0.0, 0.001, 0.009, 0.0)
    prior = Prior((0.0, 0.0), intercept=0.3, intercept_std=0.1, categories={"car": 0.2})
    prior = replace(prior, calibration_std=0.0)
    names = np.array(["a"])
    seen = Pairs(np.zeros((1, 2)), np.zeros(1), names, names, np.array(["car"]))
    model = MixedModel(prior, variances=[variances]).fit(seen, np.array([0.4]))
    other, van = np.array(["b", "b"]), np.array(["car", "van"])
    mean = model.predict(Pairs(np.zeros((2, 2)), np.zeros(2), other, other, van)).mean
    # the residual of -.1 is .01 intercept, .001 category and .009 pair, out of .02
    np.testing.assert_allclose(mean, [0.5 - 0.1 * 0.011 / 0.02, 0.3 - 0.1 * 0.01 / 0.02])


def test_the_possibilities_are_one_spread_divided_and_weighted_by_its_log_normal_prior():
    prior = Prior((0.1,), spread=0.1, spread_log_std=0.5, slope_std=0.02, group_slope_share=0.03)
    every = possible_variances(replace(prior, shares=(0.4, 0.1, 0.2, 0.3)))
    for variances in every:
        square = variances.group + variances.site + variances.category + variances.pair
        shares = (
            np.array([variances.group, variances.site, variances.category, variances.pair]) / square
        )
        np.testing.assert_allclose(shares, [0.4, 0.1, 0.2, 0.3])
        assert variances.slope == pytest.approx(0.0004) and variances.group_slope == pytest.approx(
            0.03 * square
        )
        # up to a constant: the points lie evenly on the scale of the logarithm
        assert variances.log_prior == pytest.approx(
            stats.norm.logpdf(np.log(square) / 2, np.log(0.1), 0.5) - stats.norm.logpdf(0, 0, 0.5)
        )
    spreads = np.log([variances.group for variances in every])
    np.testing.assert_allclose(np.diff(spreads), np.diff(spreads)[0])


def test_a_seen_place_lends_its_effect_to_its_other_categories():
    x = np.zeros((2, 2))
    seen = Pairs(x, np.zeros(2), *(np.array(n) for n in (["f", "g"], ["a", "b"], ["car", "bus"])))
    new = Pairs(x, np.zeros(2), *(np.array(n) for n in (["f", "h"], ["a", "c"], ["van", "van"])))
    variances = Variances(0.004, 0.004, 0.001, 0.001, 0.0064)
    model = MixedModel(PRIOR, variances=[variances])
    predicted = model.fit(seen, np.array([0.6, 0.2])).predict(new)
    assert predicted.mean[0] > predicted.mean[1] + 0.05
    assert predicted.std[0] < predicted.std[1]


def test_what_categories_share_does_not_average_out():
    names = np.array(["f"] * 50)
    categories = np.array([f"c{k}" for k in range(50)])
    many = Pairs(np.zeros((50, 2)), np.zeros(50), names, names, categories)
    variances = Variances(0.004, 0.002, 0.001, 0.003, 0.0064)
    model = MixedModel(PRIOR, variances=[variances])
    model.fit(alone(np.random.default_rng(0).normal(size=(200, 2))), np.full(200, 0.4))
    mean = model.predict(many, average=np.full((1, 50), 1 / 50))
    assert mean.std[0] == pytest.approx(np.sqrt(0.006 + 0.004 / 50), rel=0.02)


def world(rng, n_groups, variances):
    """Draw pairs of two categories in groups of one to three sites, from the model itself."""
    group = np.repeat(np.arange(n_groups), rng.integers(1, 4, n_groups)).astype(str)
    site, category = np.arange(len(group)).astype(str), rng.choice(["car", "van"], len(group))
    x = rng.normal(size=(len(group), 2))
    effects = [variances.group, variances.site, variances.category]
    y = 0.5 + x @ rng.normal(SLOPES, np.sqrt(variances.slope))
    for names, variance in zip((group, site, category), effects, strict=True):
        each, index = np.unique(names, return_inverse=True)
        y = y + rng.normal(0, np.sqrt(variance), len(each))[index]
    y = y + rng.normal(0, np.sqrt(variances.pair), len(y))
    return Pairs(x, np.zeros(len(y)), group, site, category), y


@pytest.mark.parametrize("n_groups", [3, 8])
def test_nominal_coverage_in_worlds_of_the_model(n_groups):
    rng = np.random.default_rng(n_groups)
    truth = Variances(0.004, 0.002, 0.001, 0.003, 0.0064)
    inside = []
    for _ in range(80):
        pairs, y = world(rng, n_groups + 1, truth)
        left_out = pairs.group == str(n_groups)
        model = MixedModel(WIDE)
        predicted = model.fit(pairs[~left_out], y[~left_out]).predict(pairs[left_out])
        low, high = predicted.quantile(0.05), predicted.quantile(0.95)
        inside += list((low <= y[left_out]) & (y[left_out] <= high))
    assert 0.83 <= np.mean(inside) <= 0.97


def test_intervals_are_never_empty_or_inverted_on_drawn_tables():
    """Tables of any kind: constant scores, one pair, extremes, scores far outside the range."""
    rng = np.random.default_rng(7)
    for _ in range(80):
        n, p = rng.integers(1, 12), rng.integers(1, 5)
        names = [rng.integers(0, 3, n).astype(str) for _ in range(3)]
        x = rng.choice([0.0, 1.0], (n, p)) if rng.random() < 0.3 else rng.random((n, p))
        y = rng.choice([0.0, 1.0, 0.5], n) if rng.random() < 0.5 else rng.random(n)
        model = MixedModel(Prior((0.1,) * int(p), location=(0.4,), scale=(0.2,)))
        model.fit(Pairs(x, np.full(n, 0.001), *names), y)
        new = alone(rng.choice([-50.0, -1.0, 0.0, 0.5, 1.0, 2.0, 50.0], (6, p)))
        for told in predict_intervals(model.predict(new)):
            assert np.isnan(told.value) or 0 <= told.lower < told.upper <= 1
            assert np.isnan(told.value) or told.upper - told.lower > 0.01
            assert np.isnan(told.value) == np.isnan(told.lower) == np.isnan(told.upper)


def test_an_interval_below_0_is_as_wide_from_the_edge_as_it_would_be_around_the_raw_value():
    x = np.linspace(0, 1, 12)[:, None]
    model = MixedModel(replace(WIDE, slopes=(0.1,), location=(0.5,), scale=(0.3,)))
    model.fit(alone(x), 0.3 + 0.5 * x[:, 0])
    (near,), (far,) = (
        predict_intervals(model.predict(alone(np.array([[at]])))) for at in (0.0, -0.75)
    )
    assert far.raw < 0 and far.value == far.lower == 0
    assert far.upper > 0.05 and far.reach > near.reach


def test_bad_input():
    with pytest.raises(ValueError, match="finite scores"):
        MixedModel(PRIOR).fit(alone(np.array([[np.nan, 0.0]])), np.zeros(1))
    with pytest.raises(ValueError, match="at least one"):
        MixedModel(PRIOR).fit(alone(np.zeros((0, 2))), np.zeros(0))


def test_a_category_of_a_group_shares_what_is_alike_there():
    """Two pairs of one category with variance .01, .006 of it in common: the second is .6 of it."""
    variances = Variances(0.0, 0.0, 0.0, 0.004, 0.0, group_category=0.006)
    prior = Prior((0.0, 0.0), intercept=0.3, intercept_std=1e-9, calibration_std=0.0)

    def pair(site, category, group="f"):
        names = (np.array([name]) for name in (group, site, category))
        return Pairs(np.zeros((1, 2)), np.zeros(1), *names)

    model = MixedModel(prior, variances=[variances]).fit(pair("a", "car"), np.array([0.4]))
    same, other, elsewhere = (
        model.predict(new_pair)
        for new_pair in (pair("b", "car"), pair("b", "bus"), pair("b", "car", "g"))
    )
    assert same.mean[0] == pytest.approx(0.36)
    assert same.std[0] == pytest.approx(np.sqrt(0.01 - 0.006**2 / 0.01))
    for mixture in (other, elsewhere):
        assert mixture.mean[0] == pytest.approx(0.3)
        assert mixture.std[0] == pytest.approx(0.1)


def test_draws_of_a_group_have_its_categories_in_common():
    variances = Variances(0.0, 0.0, 0.0, 0.004, 0.0, group_category=0.006)
    prior = Prior((0.0, 0.0), intercept=0.3, intercept_std=1e-9, calibration_std=0.0)
    model = MixedModel(prior, variances=[variances]).fit(alone(np.zeros((1, 2))), np.array([0.4]))
    names = [
        np.array(column) for column in (["f", "f", "f"], ["a", "b", "b"], ["car", "car", "bus"])
    ]
    drawn = model.draw(Pairs(np.zeros((3, 2)), np.zeros(3), *names), draws=100_000)
    expected = np.array([[1.0, 0.6, 0.0], [0.6, 1.0, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(np.corrcoef(drawn.T), expected, atol=0.01)
    np.testing.assert_allclose(drawn.std(axis=0), 0.1, rtol=0.02)
