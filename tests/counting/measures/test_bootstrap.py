"""Bootstrap intervals: coverage, whole images, and sums equal to copied rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from autoeval.counting.binning.bins import CountBins
from autoeval.counting.evaluation.model_measures import compare_paired, measure_intervals
from autoeval.counting.measures.bootstrap import bootstrap_intervals, bootstrap_mean, bootstrap_sums
from autoeval.counting.measures.count_errors import (
    absolute_error,
    bin_table,
    mape,
    pooled,
    smape,
    tper_curve,
)
from autoeval.counting.predictions import CountPredictions
from autoeval.errors import InputError

BINS = CountBins((0.5, 4.0, 4.5, 12.0, 60.0))  # the second is empty; 0 and some others lie outside
N_RESAMPLES = 60
SEED = 7


def example():
    """Forty images whose ids are not in order; two have no prediction, one has no objects."""
    rng = np.random.default_rng(3)
    target = rng.geometric(0.06, 40).astype(float)
    target[5] = 0
    pred = target * rng.lognormal(0, 0.4, 40) + rng.normal(0, 1, 40)
    pred[[8, 20]] = np.nan
    return CountPredictions("m", tuple(f"i{k}" for k in rng.permutation(40)), target, pred)


def measured(target, pred, mode):
    """All measures by their plain functions."""
    mean, std = pooled(bin_table(target, pred, BINS, mode))
    return {
        "pooled MAE": mean,
        "pooled std": std,
        **absolute_error(target, pred),
        "MAPE": mape(target, pred),
        "TPER AUC relative": tper_curve(target, pred).auc,
    }


def looped(ids, statistics):
    """Draw the images in the order of their sorted ids and measure them, one resample at a time."""
    rng, by_id = np.random.default_rng(SEED), np.argsort(ids)
    draws = [statistics(by_id[rng.integers(len(ids), size=len(ids))]) for _ in range(N_RESAMPLES)]
    return {name: np.nanquantile([d[name] for d in draws], [0.025, 0.975]) for name in draws[0]}


@pytest.mark.parametrize("mode", ["paper", "released"])
@pytest.mark.parametrize("skipped", [True, False])
def test_intervals_equal_those_of_a_loop(mode, skipped):
    predictions = example()
    counted = predictions.select(predictions.answered)
    if not skipped:
        predictions = counted
    found = measure_intervals(predictions, counted, BINS, mode, n_resamples=N_RESAMPLES, seed=SEED)
    target, pred = counted.target, counted.pred
    expected = looped(counted.ids, lambda rows: measured(target[rows], pred[rows], mode))
    every = predictions.target, predictions.pred
    expected |= looped(
        predictions.ids, lambda rows: {"sMAPE": smape(every[0][rows], every[1][rows])}
    )
    values = measured(target, pred, mode) | {"sMAPE": smape(*every)}
    assert found.keys() == expected.keys()
    for name, ends in expected.items():
        assert found[name].value == pytest.approx(values[name], rel=1e-12), name
        assert (found[name].low, found[name].high) == pytest.approx(ends, rel=1e-12), name


def test_large_errors_of_little_spread_keep_their_deviation():
    """Errors of a million give or take 1: E[e²] - E[e]² in float64 would be off."""
    target, pred = np.ones(200), 1e6 + 1 + np.tile([-1.0, 1.0], 100)
    predictions = CountPredictions("m", tuple(map(str, range(200))), target, pred)
    bins = CountBins((0.0, 10.0))
    found = measure_intervals(predictions, predictions, bins, "paper", n_resamples=200, seed=0)
    for name in ("std", "pooled std"):
        assert found[name].value == pytest.approx(1.0, rel=1e-9)
        assert 0.95 < found[name].low <= found[name].high <= 1 + 1e-9


def test_the_number_of_images_and_of_resamples():
    alone = bootstrap_mean(np.array([3.0, 5.0]), ["a", "a"])
    assert alone.value == 4 and np.isnan([alone.low, alone.high]).all()
    for values, n_resamples, said in ((np.zeros(0), 9, "one image"), (np.ones(2), 0, "resample")):
        with pytest.raises(InputError, match=said):
            bootstrap_sums(
                lambda sums: {}, values[:, None], range(len(values)), n_resamples=n_resamples
            )
    with pytest.raises(InputError, match="at least one image"):
        bootstrap_intervals(mean_of(np.zeros(0)), [])


def mean_of(values):
    return lambda rows: {"mean": float(values[rows].mean())}


def test_against_scipy_and_rows_of_one_image_stay_together():
    values = np.random.default_rng(0).exponential(3, 80)
    found = bootstrap_intervals(mean_of(values), range(80), n_resamples=4000)["mean"]
    reference = stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=4000, rng=1
    ).confidence_interval
    assert found.value == values.mean()
    assert (found.low, found.high) == pytest.approx(reference, rel=0.02)
    values = np.random.default_rng(1).normal(size=50)
    repeated = np.repeat(values, 20)
    alone = bootstrap_intervals(mean_of(values), range(50), seed=3)["mean"]
    clustered = bootstrap_intervals(mean_of(repeated), np.repeat(range(50), 20), seed=3)["mean"]
    naive = bootstrap_intervals(mean_of(repeated), range(1000), seed=3)["mean"]
    assert (clustered.low, clustered.high) == pytest.approx((alone.low, alone.high))
    assert naive.high - naive.low < (clustered.high - clustered.low) / 3
    # As `bootstrap_intervals` draws them, for the same seed.
    rng = np.random.default_rng(0)
    values, images = rng.normal(size=50), rng.integers(12, size=50)
    expected = bootstrap_intervals(lambda rows: {"": values[rows].mean()}, images, seed=SEED)[""]
    found = bootstrap_mean(values, images, seed=SEED)
    assert (found.value, found.low, found.high) == pytest.approx(
        (expected.value, expected.low, expected.high), rel=1e-12
    )


def test_paired_comparison_against_scipy():
    rng = np.random.default_rng(5)
    target = rng.integers(5, 50, 60)
    pred_a, pred_b = target + rng.normal(0, 2, 60), target + rng.normal(0, 4, 60)
    found = compare_paired(target, pred_a, pred_b)
    errors = np.abs(pred_a - target), np.abs(pred_b - target)
    assert found["MAE A - B"] == pytest.approx(errors[0].mean() - errors[1].mean())
    assert found["high"] < 0
    assert found["Wilcoxon p"] == stats.wilcoxon(*errors).pvalue
    assert found["A nearer"] + found["B nearer"] == 60
    assert found["A nearer"] == (errors[0] < errors[1]).sum()
    rng = np.random.default_rng(6)
    target, a, b = rng.integers(5, 50, 30), rng.normal(20, 9, 30), rng.normal(20, 9, 30)
    forth, back = compare_paired(target, a, b), compare_paired(target, b, a)
    assert forth["low"] == pytest.approx(-back["high"])
    assert (forth["A nearer"], forth["B nearer"]) == (back["B nearer"], back["A nearer"])
    # In tenths the same errors are whole numbers, of which no bit is lost.
    target, tenths_a = rng.integers(1, 60, 60), rng.integers(-30, 30, 60)
    tenths_b = np.where(rng.random(60) < 0.5, -tenths_a, rng.integers(-20, 20, 60))
    found = compare_paired(target, target + tenths_a / 10, target + tenths_b / 10)
    whole = compare_paired(10 * target, 10 * target + tenths_a, 10 * target + tenths_b)
    assert whole["equal"] == (np.abs(tenths_a) == np.abs(tenths_b)).sum() > 20
    for name in ("Wilcoxon p", "A nearer", "B nearer", "equal"):
        assert found[name] == whole[name]
    found = compare_paired([1, 2], [3, 3], [3, 3])
    assert [found[name] for name in ("low", "high", "Wilcoxon p", "equal")] == [0, 0, 1, 2]
