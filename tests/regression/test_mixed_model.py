"""The regression against an independent Gaussian process, and against worlds drawn from it."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, DotProduct

from autoeval.regression import (
    MixedModel,
    Pairs,
    Prior,
    Scaling,
    Variances,
    possible_variances,
    predict_intervals,
)

FLAT = Prior(least=1.0)
INTERCEPT, RISE = FLAT.intercept, FLAT.rise
WIDE = Prior(intercept_std=0.15, slopes=(0.04, 0.08, 0.16), spread_log_std=0.35)
FEW = possible_variances(WIDE)[::6]
UNIT = Scaling(np.zeros(2), np.ones(2), weight=1e12)  # learns nothing: scores are in their units


def alone(x, sampling=0.0, name="p"):
    """Pairs that share nothing."""
    names = np.array([f"{name}{k}" for k in range(len(x))])
    return Pairs(x, np.full(len(x), sampling), names, names, names)


def test_one_set_of_variances_is_the_gaussian_process_of_scikit_learn():
    rng = np.random.default_rng(0)
    x, y, new = rng.normal(size=(9, 2)), rng.uniform(size=9), rng.normal(size=(4, 2))
    variances = Variances(0.0, 0.0, 0.0, 0.01, 0.0064)
    ours = MixedModel(UNIT, prior=FLAT, variances=[variances])
    predicted = ours.fit(alone(x, 0.003), y).predict(alone(new, 0.003, "q"))
    kernel = ConstantKernel(FLAT.intercept_std**2) + ConstantKernel(0.0064) * DotProduct(
        0.0, "fixed"
    )
    process = GaussianProcessRegressor(kernel, alpha=0.013, optimizer=None)
    process.fit(x, y - INTERCEPT - RISE * x.mean(axis=1))
    mean, std = process.predict(new, return_std=True)
    np.testing.assert_allclose(
        predicted.mean, mean + INTERCEPT + RISE * new.mean(axis=1), atol=1e-8
    )
    np.testing.assert_allclose(predicted.std, np.sqrt(std**2 + 0.013), atol=1e-8)


def test_a_seen_place_lends_its_effect_to_its_other_categories():
    x = np.zeros((2, 2))
    seen = Pairs(x, np.zeros(2), *(np.array(n) for n in (["f", "g"], ["a", "b"], ["car", "bus"])))
    new = Pairs(x, np.zeros(2), *(np.array(n) for n in (["f", "h"], ["a", "c"], ["van", "van"])))
    variances = Variances(0.004, 0.004, 0.001, 0.001, 0.0064)
    model = MixedModel(UNIT, prior=FLAT, variances=[variances])
    predicted = model.fit(seen, np.array([0.6, 0.2])).predict(new)
    assert predicted.mean[0] > predicted.mean[1] + 0.05
    assert predicted.std[0] < predicted.std[1]


def test_what_categories_share_does_not_average_out():
    names = np.array(["f"] * 50)
    categories = np.array([f"c{k}" for k in range(50)])
    many = Pairs(np.zeros((50, 2)), np.zeros(50), names, names, categories)
    variances = Variances(0.004, 0.002, 0.001, 0.003, 0.0064)
    model = MixedModel(UNIT, prior=FLAT, variances=[variances])
    model.fit(alone(np.random.default_rng(0).normal(size=(200, 2))), np.full(200, 0.4))
    mean = model.predict(many, average=np.full((1, 50), 1 / 50))
    assert mean.std[0] == pytest.approx(np.sqrt(0.006 + 0.004 / 50), rel=0.02)


def world(rng, n_families, variances):
    """Draw pairs of two categories in families of one to three places, from the model itself."""
    family = np.repeat(np.arange(n_families), rng.integers(1, 4, n_families)).astype(str)
    place, category = np.arange(len(family)).astype(str), rng.choice(["car", "van"], len(family))
    x = rng.normal(size=(len(family), 2))
    effects = [variances.family, variances.place, variances.category]
    y = 0.5 + x @ rng.normal(RISE / 2, np.sqrt(variances.slope), 2)
    for names, variance in zip((family, place, category), effects, strict=True):
        each, of = np.unique(names, return_inverse=True)
        y = y + rng.normal(0, np.sqrt(variance), len(each))[of]
    y = y + rng.normal(0, np.sqrt(variances.pair), len(y))
    return Pairs(x, np.zeros(len(y)), family, place, category), y


@pytest.mark.parametrize("n_families", [3, 8])
def test_nominal_coverage_in_worlds_of_the_model(n_families):
    rng = np.random.default_rng(n_families)
    truth = Variances(0.004, 0.002, 0.001, 0.003, 0.0064)
    inside = []
    for _ in range(80):
        pairs, y = world(rng, n_families + 1, truth)
        own = pairs.family == str(n_families)
        model = MixedModel(UNIT, prior=FLAT, variances=FEW)
        predicted = model.fit(pairs[~own], y[~own]).predict(pairs[own])
        low, high = predicted.quantile(0.05), predicted.quantile(0.95)
        inside += list((low <= y[own]) & (y[own] <= high))
    assert 0.83 <= np.mean(inside) <= 0.97


def test_intervals_are_never_empty_or_inverted_on_drawn_tables():
    """Tables of any kind: constant scores, one pair, extremes, scores far outside the range."""
    rng = np.random.default_rng(7)
    for _ in range(80):
        n, p = rng.integers(1, 12), rng.integers(1, 5)
        names = [rng.integers(0, 3, n).astype(str) for _ in range(3)]
        x = rng.choice([0.0, 1.0], (n, p)) if rng.random() < 0.3 else rng.random((n, p))
        y = rng.choice([0.0, 1.0, 0.5], n) if rng.random() < 0.5 else rng.random(n)
        model = MixedModel(Scaling(np.full(p, 0.4), np.full(p, 0.2)), variances=FEW)
        model.fit(Pairs(x, np.full(n, 0.001), *names), y)
        new = alone(rng.choice([-50.0, -1.0, 0.0, 0.5, 1.0, 2.0, 50.0], (6, p)))
        for told in predict_intervals(model.predict(new)):
            assert told.refused or 0 <= told.lower < told.upper <= 1
            assert told.refused or told.upper - told.lower > 0.01
            assert told.refused == np.isnan(told.lower) == np.isnan(told.upper)


def test_an_interval_below_0_is_as_wide_from_the_edge_as_it_would_be_around_the_raw_value():
    x = np.linspace(0, 1, 12)[:, None]
    model = MixedModel(Scaling(np.array([0.5]), np.array([0.3])), prior=WIDE, variances=FEW)
    model.fit(alone(x), 0.3 + 0.5 * x[:, 0])
    (near,), (far,) = (
        predict_intervals(model.predict(alone(np.array([[at]])))) for at in (0.0, -0.75)
    )
    assert far.outside == "below" and far.value == far.lower == 0
    assert far.upper > 0.05 and far.reach > near.reach


def test_bad_input():
    with pytest.raises(ValueError, match="same N pairs"):
        Pairs(np.zeros((2, 1)), np.zeros(3), *[np.array(["a", "b"])] * 3)
    with pytest.raises(ValueError, match="finite scores"):
        alone(np.array([[np.nan]]))
    with pytest.raises(ValueError, match="at least one"):
        MixedModel(UNIT).fit(alone(np.zeros((0, 2))), np.zeros(0))
