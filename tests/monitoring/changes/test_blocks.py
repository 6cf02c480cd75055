"""Sums over blocks say what the covariance of all rows says."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from autoeval.monitoring.changes.slopes import Blocks

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
