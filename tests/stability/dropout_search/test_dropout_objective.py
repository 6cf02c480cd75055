"""R² against scipy's, its derivative against differences, its error against what it does."""

import numpy as np
import pytest
from scipy.stats import pearsonr

from autoeval.stability.dropout_search.trial import (
    compare_with_leader,
    correlation,
    gradient,
    r_squared,
    scores_of,
)

RNG = np.random.default_rng(0)
ACCURACY = RNG.random(12)
SCORES = ACCURACY[:, None] * [1, 0.5, 2] + RNG.normal(0, [0.1, 0.3, 0.6], (12, 3))


def test_equals_the_squared_correlation():
    found = r_squared(SCORES, ACCURACY), correlation(SCORES, ACCURACY)
    for column, r2, r in zip(SCORES.T, *found, strict=True):
        expected = pearsonr(column, ACCURACY).statistic
        assert expected > 0 and r == pytest.approx(expected)
        assert r2 == pytest.approx(expected**2)


def test_a_score_that_falls_with_accuracy_explains_nothing():
    assert r_squared(-SCORES, ACCURACY) == pytest.approx(0)
    assert (correlation(-SCORES, ACCURACY) < 0).all()


def test_a_constant_score_explains_nothing():
    assert r_squared(np.full((12, 1), 0.4), ACCURACY) == pytest.approx(0)


def test_nothing_to_explain():
    assert r_squared(SCORES, np.full(12, 0.3)) == pytest.approx(0)


def test_undefined_sample_sets_are_unexplained():
    """By hand: the line through the known sets, the mean of all for the others."""
    scores = SCORES[:, :1].copy()
    scores[[1, 5]] = np.nan
    known = ~np.isnan(scores[:, 0])
    line = np.poly1d(np.polyfit(scores[known, 0], ACCURACY[known], 1))
    estimate = np.where(known, line(np.nan_to_num(scores[:, 0])), ACCURACY.mean())
    left = ((ACCURACY - estimate) ** 2).sum() / ((ACCURACY - ACCURACY.mean()) ** 2).sum()
    assert r_squared(scores, ACCURACY) == pytest.approx(1 - left)
    assert r_squared(np.full((12, 1), np.nan), ACCURACY) == pytest.approx(0)


def test_scores_are_ratios_of_sums():
    sums = np.array([[[1.0, 0], [2, 0]]])
    counts = np.array([[[1.0, 0], [3, 0]]])
    assert scores_of(sums, counts)[0, 0] == 3 / 4
    assert np.isnan(scores_of(sums, counts)[0, 1])


def test_gradient_against_differences():
    step = 1e-6
    for s in (0, 7):
        moved = SCORES.copy()
        moved[s] += step
        slope = (r_squared(moved, ACCURACY) - r_squared(SCORES, ACCURACY)) / step
        assert gradient(SCORES, ACCURACY)[s] == pytest.approx(slope, rel=1e-3, abs=1e-6)


def images_of(n_sets, n_images, rng):
    """Scores of images: three dropouts that share most of their noise, of falling worth."""
    accuracy = rng.random(n_sets)
    common = rng.normal(0, 0.2, (n_sets, n_images, 1))
    own = rng.normal(0, 0.05, (n_sets, n_images, 3))
    worth = accuracy[:, None] + rng.normal(0, [0.1, 0.2, 0.4], (n_sets, 3))
    return accuracy, worth[:, None, :] + common + own


def test_all_images_leave_no_doubt():
    accuracy, values = images_of(20, 8, np.random.default_rng(1))
    size = np.full(20, 8)
    r2, errors = compare_with_leader(values, np.ones_like(values), accuracy, size, size)
    assert r2 == pytest.approx(r_squared(values.mean(1), accuracy))
    assert errors == pytest.approx(0)


def test_some_images_estimate_all():
    """Over many draws of 6 out of 30 images: little bias, and errors as large as announced."""
    accuracy, values = images_of(40, 30, np.random.default_rng(2))
    truth = r_squared(values.mean(1), accuracy)
    found, announced, plain = [], [], []
    for k in range(200):
        rng = np.random.default_rng([3, k])
        seen = rng.permuted(np.tile(np.arange(30), (40, 1)), axis=1)[:, :6]
        some = np.take_along_axis(values, seen[:, :, None], 1)
        full = np.full(40, 30)
        r2, errors = compare_with_leader(some, np.ones_like(some), accuracy, np.full(40, 6), full)
        found.append(r2 - r2[0])
        announced.append(errors)
        plain.append(r_squared(some.mean(1), accuracy))
    gaps = np.array(found)
    assert np.argmax(truth) == 0
    assert gaps.mean(0) == pytest.approx(truth - truth[0], abs=0.01)
    ratio = gaps[:, 1:].std(0) / np.mean(announced, 0)[1:]
    assert ((ratio > 0.8) & (ratio < 1.25)).all()
    assert np.mean(plain, 0)[0] < truth[0] - 0.03  # what the correction is there for
