"""Slopes are found again, intervals widen where families differ, and sums over blocks are exact."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from autoeval.errors import InputError
from autoeval.published.change_slopes.slope_regression import Blocks, fit_slopes

TRUE = np.array([0.05, -0.03, 0.0])


def world(rng, *, n_families=12, n_kinds=8, apart=0.02, noise=0.01):
    """Changes of every family under every kind; slopes differ by family and by kind."""
    family, kind = (a.ravel() for a in np.meshgrid(range(n_families), range(n_kinds)))
    x = rng.normal(size=(len(family), len(TRUE)))
    own = rng.normal(0, apart, (2, max(n_families, n_kinds), len(TRUE)))
    slopes = TRUE + own[0][family] + own[1][kind]
    return x, (x * slopes).sum(axis=1) + rng.normal(0, noise, len(x)), family, kind


def test_slopes_are_found_again():
    x, y, family, kind = world(np.random.default_rng(0), apart=0.0)
    assert fit_slopes(x, y, family, kind).mean == pytest.approx(TRUE, abs=0.004)


def test_units_of_the_quantities_do_not_matter():
    x, y, family, kind = world(np.random.default_rng(1))
    units = np.array([1.0, 100.0, 0.01])
    plain, scaled = fit_slopes(x, y, family, kind), fit_slopes(x * units, y, family, kind)
    for a, b in zip(plain.predict(x[:5]), scaled.predict(x[:5] * units), strict=True):
        assert a == pytest.approx(b, rel=1e-3)


def test_intervals_cover_new_families_under_new_kinds():
    hits = []
    for seed in range(25):
        rng = np.random.default_rng(seed)
        x, y, family, kind = world(rng, n_families=13, n_kinds=9, apart=0.03)
        known = (family < 12) & (kind < 8)
        new = (family == 12) & (kind == 8)
        mean, std = fit_slopes(*(a[known] for a in (x, y, family, kind))).predict(x[new])
        hits += (np.abs(y[new] - mean) < 1.645 * std).tolist()
    assert 0.7 <= np.mean(hits) <= 1.0


def test_where_nothing_moved_the_prediction_is_zero():
    x, y, family, kind = world(np.random.default_rng(2))
    fitted = fit_slopes(x, y, family, kind)
    mean, std = fitted.predict(np.array([[0.0, 0, 0], [1, 1, 1], [3, 3, 3]]))
    assert mean[0] == 0 and std[0] == pytest.approx(fitted.noise)
    assert std[0] < std[1] < std[2]


def test_a_quantity_that_never_moved_says_nothing():
    x, y, family, kind = world(np.random.default_rng(3))
    x[:, 2] = 0
    fitted = fit_slopes(x, y, family, kind)
    assert fitted.mean[2] == 0 and np.isfinite(fitted.covariance).all()


def test_too_few_changes_are_refused():
    x, y, family, kind = world(np.random.default_rng(5))
    with pytest.raises(InputError, match="at least 8 changes"):
        fit_slopes(x[:7], y[:7], family[:7], kind[:7])


STDS = np.array([0.3, 0.2, 0.15, 0.1, 0.05])


def made(seed):
    rng = np.random.default_rng(seed)
    x, family, kind = rng.normal(size=(60, 3)), rng.integers(0, 7, 60), rng.integers(0, 4, 60)
    return x, rng.normal(0, 0.4, 60), family, kind


def covariance(x, family, kind):
    """Write the covariance of all rows down."""
    same_family, same_kind = np.equal.outer(family, family), np.equal.outer(kind, kind)
    shared, own, of_kind, both, noise = STDS**2
    slopes = shared + own * same_family + of_kind * same_kind + both * same_family * same_kind
    return (x @ x.T) * slopes + noise * np.eye(len(x))


@pytest.mark.parametrize("seed", range(3))
def test_blocks_equal_the_normal_distribution_of_all_rows(seed):
    x, y, family, kind = made(seed)
    whole = covariance(x, family, kind)
    mean, shared, loss = Blocks.of(x, y, family, kind).solved(STDS)
    reach = STDS[0] ** 2 * x
    assert mean == pytest.approx(reach.T @ np.linalg.solve(whole, y), rel=1e-8)
    left = STDS[0] ** 2 * np.eye(3) - reach.T @ np.linalg.solve(whole, reach)
    np.testing.assert_allclose(shared, left, atol=1e-10)
    expected = -multivariate_normal(np.zeros(60), whole).logpdf(y) - 30 * np.log(2 * np.pi)
    assert loss == pytest.approx(expected, rel=1e-9)


def test_the_order_of_rows_and_the_names_of_families_and_kinds_change_nothing():
    x, y, family, kind = made(5)
    turned = np.random.default_rng(0).permutation(60)
    names = np.array(list("zyxwvut"))[family]
    plain = Blocks.of(x, y, family, kind).solved(STDS)
    again = Blocks.of(x[turned], y[turned], names[turned], kind[turned]).solved(STDS)
    for one, other in zip(plain, again, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
