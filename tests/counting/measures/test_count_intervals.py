"""Bootstrap by image and paired comparison."""

import numpy as np
import pytest
from scipy import stats

from autoeval.counting.evaluation.compare import compare_paired
from autoeval.counting.measures.bootstrap import bootstrap_intervals
from autoeval.errors import InputError


def mean_of(values):
    return lambda rows: {"mean": float(values[rows].mean())}


def test_against_scipy():
    values = np.random.default_rng(0).exponential(3, 80)
    found = bootstrap_intervals(mean_of(values), range(80), n_resamples=4000)["mean"]
    reference = stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=4000, rng=1
    ).confidence_interval
    assert found.value == values.mean()
    assert (found.low, found.high) == pytest.approx(reference, rel=0.02)


def test_rows_of_one_image_stay_together():
    values = np.random.default_rng(1).normal(size=50)
    repeated = np.repeat(values, 20)
    alone = bootstrap_intervals(mean_of(values), range(50), seed=3)["mean"]
    clustered = bootstrap_intervals(mean_of(repeated), np.repeat(range(50), 20), seed=3)["mean"]
    naive = bootstrap_intervals(mean_of(repeated), range(1000), seed=3)["mean"]
    assert (clustered.low, clustered.high) == pytest.approx((alone.low, alone.high))
    assert naive.high - naive.low < (clustered.high - clustered.low) / 3


def test_no_rows():
    with pytest.raises(InputError, match="at least one image"):
        bootstrap_intervals(mean_of(np.zeros(0)), [])


def test_paired_comparison_against_scipy():
    rng = np.random.default_rng(5)
    target = rng.integers(5, 50, 60)
    pred_a, pred_b = target + rng.normal(0, 2, 60), target + rng.normal(0, 4, 60)
    found = compare_paired(target, pred_a, pred_b)
    errors = np.abs(pred_a - target), np.abs(pred_b - target)
    assert found.difference.value == pytest.approx(errors[0].mean() - errors[1].mean())
    assert found.difference.high < 0
    assert found.p_value == stats.wilcoxon(*errors).pvalue
    assert found.better + found.worse == 60 and found.better == (errors[0] < errors[1]).sum()


def test_swapping_the_models_swaps_the_signs():
    rng = np.random.default_rng(6)
    target, a, b = rng.integers(5, 50, 30), rng.normal(20, 9, 30), rng.normal(20, 9, 30)
    forth, back = compare_paired(target, a, b), compare_paired(target, b, a)
    assert forth.difference.low == pytest.approx(-back.difference.high)
    assert (forth.better, forth.worse) == (back.worse, back.better)


def test_equal_models():
    found = compare_paired([1, 2], [3, 3], [3, 3])
    assert (found.difference.low, found.difference.high, found.p_value) == (0, 0, 1)
    assert found.equal == 2
