"""Slopes are found again, and intervals widen where families and kinds differ."""

import numpy as np
import pytest

from autoeval.errors import InputError
from autoeval.monitoring.changes.slopes import Slopes, fit_slopes

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


def test_it_survives_being_written():
    fitted = fit_slopes(*world(np.random.default_rng(4)))
    again = Slopes.from_dict(fitted.to_dict())
    assert again.to_dict() == fitted.to_dict()


def test_too_few_changes_are_refused():
    x, y, family, kind = world(np.random.default_rng(5))
    with pytest.raises(InputError, match="at least 8 changes"):
        fit_slopes(x[:7], y[:7], family[:7], kind[:7])
