"""Slopes are found again, intervals widen where groups differ, and sums over blocks are exact."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

from autoeval.errors import InputError
from autoeval.stability.change_slopes.slope_regression import Blocks, fit_slopes

TRUE = np.array([0.05, -0.03, 0.0])


def world(rng, *, n_groups=12, n_kinds=8, apart=0.02, noise=0.01):
    """Changes of every group under every kind; slopes differ by group and by kind."""
    group, kind = (a.ravel() for a in np.meshgrid(range(n_groups), range(n_kinds)))
    x = rng.normal(size=(len(group), len(TRUE)))
    own = rng.normal(0, apart, (2, max(n_groups, n_kinds), len(TRUE)))
    slopes = TRUE + own[0][group] + own[1][kind]
    return x, (x * slopes).sum(axis=1) + rng.normal(0, noise, len(x)), group, kind


def test_slopes_are_found_again():
    x, y, group, kind = world(np.random.default_rng(0), apart=0.0)
    assert fit_slopes(x, y, group, kind).mean == pytest.approx(TRUE, abs=0.004)


def test_units_of_the_quantities_do_not_matter():
    x, y, group, kind = world(np.random.default_rng(1))
    units = np.array([1.0, 100.0, 0.01])
    plain, scaled = fit_slopes(x, y, group, kind), fit_slopes(x * units, y, group, kind)
    for a, b in zip(plain.predict(x[:5]), scaled.predict(x[:5] * units), strict=True):
        assert a == pytest.approx(b, rel=1e-3)


def test_intervals_cover_new_groups_under_new_kinds():
    hits = []
    for seed in range(25):
        rng = np.random.default_rng(seed)
        x, y, group, kind = world(rng, n_groups=13, n_kinds=9, apart=0.03)
        known = (group < 12) & (kind < 8)
        new = (group == 12) & (kind == 8)
        mean, std = fit_slopes(*(a[known] for a in (x, y, group, kind))).predict(x[new])
        hits += (np.abs(y[new] - mean) < 1.645 * std).tolist()
    assert 0.7 <= np.mean(hits) <= 1.0


def test_where_nothing_moved_the_prediction_is_zero():
    x, y, group, kind = world(np.random.default_rng(2))
    fitted = fit_slopes(x, y, group, kind)
    mean, std = fitted.predict(np.array([[0.0, 0, 0], [1, 1, 1], [3, 3, 3]]))
    assert mean[0] == 0 and std[0] == pytest.approx(fitted.noise)
    assert std[0] < std[1] < std[2]


def test_a_quantity_that_never_moved_says_nothing():
    x, y, group, kind = world(np.random.default_rng(3))
    x[:, 2] = 0
    fitted = fit_slopes(x, y, group, kind)
    assert fitted.mean[2] == 0 and np.isfinite(fitted.covariance).all()


def test_too_few_changes_are_refused():
    x, y, group, kind = world(np.random.default_rng(5))
    with pytest.raises(InputError, match="at least 8 changes"):
        fit_slopes(x[:7], y[:7], group[:7], kind[:7])


STDS = np.array([0.3, 0.2, 0.15, 0.1, 0.05])


def made(seed):
    rng = np.random.default_rng(seed)
    x, group, kind = rng.normal(size=(60, 3)), rng.integers(0, 7, 60), rng.integers(0, 4, 60)
    return x, rng.normal(0, 0.4, 60), group, kind


def covariance(x, group, kind):
    """Write the covariance of all rows down."""
    same_group, same_kind = np.equal.outer(group, group), np.equal.outer(kind, kind)
    shared, own, of_kind, both, noise = STDS**2
    slopes = shared + own * same_group + of_kind * same_kind + both * same_group * same_kind
    return (x @ x.T) * slopes + noise * np.eye(len(x))


@pytest.mark.parametrize("seed", range(3))
def test_blocks_equal_the_normal_distribution_of_all_rows(seed):
    x, y, group, kind = made(seed)
    whole = covariance(x, group, kind)
    blocks = Blocks.of(x, y, group, kind)
    mean, shared = blocks.solved(STDS)
    reach = STDS[0] ** 2 * x
    assert mean == pytest.approx(reach.T @ np.linalg.solve(whole, y), rel=1e-8)
    left = STDS[0] ** 2 * np.eye(3) - reach.T @ np.linalg.solve(whole, reach)
    np.testing.assert_allclose(shared, left, atol=1e-10)
    expected = -multivariate_normal(np.zeros(60), whole).logpdf(y) - 30 * np.log(2 * np.pi)
    assert blocks.loss(STDS)[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_derivatives_are_those_of_the_loss(seed):
    blocks = Blocks.of(*made(seed))
    expected = approx_fprime(np.log(STDS), lambda logs: blocks.loss(np.exp(logs))[0], 1e-6)
    assert blocks.loss(STDS)[1] == pytest.approx(expected, abs=1e-3)


def test_the_order_of_rows_and_the_names_of_groups_and_kinds_change_nothing():
    x, y, group, kind = made(5)
    turned = np.random.default_rng(0).permutation(60)
    names = np.array(list("zyxwvut"))[group]
    plain = Blocks.of(x, y, group, kind)
    again = Blocks.of(x[turned], y[turned], names[turned], kind[turned])
    for one, other in zip(plain.solved(STDS), again.solved(STDS), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
    for one, other in zip(plain.loss(STDS), again.loss(STDS), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
