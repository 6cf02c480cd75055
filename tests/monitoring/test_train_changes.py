"""Training the slopes of change: known ones come back, and those of the table are shipped."""

import json
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import approx_fprime

from autoeval.monitoring.box_change import AT, CONDITION, NUMBERS, moves, shipped_model
from autoeval.monitoring.train_changes import (
    GUESS,
    LARGE,
    TABLE,
    Blocks,
    _columns,
    fit_changes,
    fit_slopes,
    main,
)

MOVING = ("squares", "best", "size", "sure", "certain")  # what `condition` reads
SLOPES = np.array([0.3, 0.6, 0.1, 0.2])


def table(seed=0, n_groups=8, n_kinds=6, noise=0.0, of_group=0.0):
    """Changes of made-up sites whose accuracy follows their boxes by `SLOPES`."""
    rng = np.random.default_rng(seed)
    rows = []
    for group in range(n_groups):
        slopes = SLOPES + of_group * rng.normal(size=len(SLOPES))
        for kind in range(n_kinds):
            means = np.zeros((2, len(NUMBERS)))
            means[:, [AT[name] for name in MOVING]] = rng.uniform(0.3, 0.9, (2, len(MOVING)))
            level = rng.uniform(0.3, 0.7)
            x = moves(means[0], means[1], np.ones(len(CONDITION)), level)
            row = {"group": f"g{group}", "kind": f"k{kind}", "before": level}
            row["change"] = x @ slopes + noise * rng.normal()
            for when, mean in zip(("before", "after"), means, strict=True):
                row |= {f"{when}/{name}": value for name, value in zip(NUMBERS, mean, strict=True)}
            rows.append(row)
    return pd.DataFrame(rows)


def test_slopes_come_back_and_noise_is_found():
    exact = fit_slopes(*_columns(table()))
    np.testing.assert_allclose(exact.mean, SLOPES, atol=0.01)
    assert exact.noise < 0.005
    noisy = fit_slopes(*_columns(table(n_groups=30, noise=0.05)))
    np.testing.assert_allclose(noisy.mean, SLOPES, atol=0.08)
    assert noisy.noise == pytest.approx(0.05, rel=0.3)


def test_groups_that_differ_make_slopes_uncertain():
    alike, apart = (fit_slopes(*_columns(table(of_group=std))) for std in (0.0, 0.3))
    assert np.all(np.diag(apart.covariance) > 4 * np.diag(alike.covariance))


def test_one_slope_is_the_ridge_estimate_worked_out_here():
    """One group and one kind: the shared slope has the posterior of a regression by hand."""
    rng = np.random.default_rng(0)
    x, stds = rng.normal(size=(12, 1)), np.array([0.5, 0.2, 0.3, 0.1, 0.4])
    y = x[:, 0] * 0.7 + 0.1 * rng.normal(size=12)
    mean, covariance = Blocks.of(x, y, np.zeros(12), np.zeros(12)).solved(stds)
    of_y = (stds[:4] ** 2).sum() * x @ x.T + stds[4] ** 2 * np.eye(12)
    pull = stds[0] ** 2 * x.T @ np.linalg.inv(of_y)
    np.testing.assert_allclose(mean, pull @ y)
    np.testing.assert_allclose(covariance, stds[0] ** 2 - stds[0] ** 2 * pull @ x)


def test_the_slope_of_the_likelihood_is_that_of_finite_differences():
    blocks = Blocks.of(*_columns(table(noise=0.05, of_group=0.2)))
    logs = GUESS + 0.3
    expected = approx_fprime(logs, lambda at: blocks.loss(np.exp(at))[0], 1e-6)
    np.testing.assert_allclose(blocks.loss(np.exp(logs))[1], expected, rtol=2e-3, atol=2e-3)


def test_intervals_cover_groups_that_are_left_out():
    """Each end holds 95 % of what is left out; measured at new groups of the same world."""
    model = fit_changes(table(n_groups=10, n_kinds=5, noise=0.04, of_group=0.15))
    x, y, _, _ = _columns(table(seed=1, n_groups=60, n_kinds=5, noise=0.04, of_group=0.15))
    std = np.sqrt(np.einsum("np,pq,nq->n", x, model.covariance, x) + model.noise**2)
    error = (y - x @ model.mean) / (1.645 * std)
    lower, upper = model.widening
    assert min(lower, upper) >= 1  # one detector does not show how others differ from it
    assert 0 < (error < -lower).mean() < 0.1 and 0 < (error > upper).mean() < 0.1


def test_the_lower_end_covers_large_falls_by_themselves():
    """Slopes are estimated near 0: where groups fell far, they fell further than predicted."""
    model = fit_changes(table(n_groups=30, n_kinds=5, noise=0.04, of_group=0.15))
    x, y, _, _ = _columns(table(seed=1, n_groups=200, n_kinds=5, noise=0.04, of_group=0.15))
    std = np.sqrt(np.einsum("np,pq,nq->n", x, model.covariance, x) + model.noise**2)
    below = (y - x @ model.mean)[y < -LARGE] < -1.645 * model.widening[0] * std[y < -LARGE]
    assert len(below) > 100 and below.mean() < 0.12
    narrow = (y - x @ model.mean)[y < -LARGE] < -1.645 * std[y < -LARGE]
    assert narrow.mean() > below.mean() + 0.04  # without its factor it holds fewer


def test_the_shipped_slopes_are_those_of_the_table():
    fitted, shipped = fit_slopes(*_columns(pd.read_csv(TABLE))), shipped_model()
    np.testing.assert_allclose(fitted.mean, shipped.mean, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(fitted.covariance, shipped.covariance, rtol=1e-2, atol=1e-4)
    assert fitted.noise == pytest.approx(shipped.noise, rel=1e-3)


@pytest.mark.slow
def test_the_program_writes_the_shipped_file(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["train_changes", "--out", str(tmp_path / "changes.json")])
    main()
    written = json.loads((tmp_path / "changes.json").read_text())
    assert written["slopes"]["widening"] == pytest.approx(list(shipped_model().widening), rel=1e-3)
    assert written["origin"].startswith("186 changes of 6 kinds at sites of")
