"""Errors of counts over all images, by bin, and pooled."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import (
    mean_absolute_error,
    mean_absolute_percentage_error,
    root_mean_squared_error,
)

from autoeval.counting.binning import CountBins, load_bins, released_bins
from autoeval.counting.measures.count_errors import absolute_error, bin_table, mape, pooled, smape
from autoeval.counting.predictions import read_predictions
from autoeval.errors import InputError

RNG = np.random.default_rng(1)
TARGET = RNG.integers(1, 500, 50)
PRED = TARGET * RNG.lognormal(0, 0.3, 50)


def test_against_scikit_learn_and_laws_of_smape():
    found = absolute_error(TARGET, PRED)
    assert found["MAE"] == pytest.approx(mean_absolute_error(TARGET, PRED))
    assert found["RMSE"] == pytest.approx(root_mean_squared_error(TARGET, PRED))
    assert mape(TARGET, PRED) == pytest.approx(100 * mean_absolute_percentage_error(TARGET, PRED))
    assert smape(TARGET, PRED) == pytest.approx(smape(PRED, TARGET))
    assert 0 < smape(TARGET, PRED) < 100


def test_smape_by_hand():
    # 1/3, 0, a skipped answer, and a negative prediction: 4 / (2 + 2).
    found = smape([1, 5, 7, 2], [2, 5, np.nan, -2])
    assert found == pytest.approx(100 * (1 / 3 + 0 + 1 + 1) / 4)
    assert mape([0, 0], [1, 0]) is not None and np.isnan(mape([0, 0], [1, 0]))
    assert mape([0, 10], [99, 9]) == pytest.approx(10)
    assert smape([0], [0]) == 0 and smape([0], [3]) == 100
    with pytest.raises(InputError):
        smape([1.0], [np.inf])


BINS = CountBins((1.0, 4.0, 10.0, 20.0))
TARGET_MEASURES = np.array([0, 1, 4, 5, 10, 30])
PRED_MEASURES = np.array([2, 4, 3, 5, 14, 20])


def test_by_hand_with_under_and_overflow_kept_or_dropped():
    table = bin_table(TARGET_MEASURES, PRED_MEASURES, BINS)
    assert table["bin"].tolist() == ["below", "1–4", "4–10", "above"]  # 10–20 has no image
    assert table["n"].tolist() == [1, 2, 2, 1]
    assert table["mean"].tolist() == [2, 2, 2, 10]
    assert table["std"].tolist() == [0, 1, 2, 0]
    assert table["bias"].tolist() == [2, 1, 2, -10]
    mean, std = pooled(table)
    assert mean == (2 + 2 * 2 + 2 * 2 + 10) / 6
    assert std == pytest.approx(np.sqrt((2 * 1 + 2 * 4) / 6))
    table = bin_table(TARGET_MEASURES, PRED_MEASURES, BINS, "released")
    assert table["bin"].tolist() == ["1–4", "4–10"]
    assert pooled(table) == (2.0, pytest.approx(np.sqrt((2 * 1 + 2 * 4) / 4)))
    table = bin_table([50], [1], BINS, "released")
    assert table.empty and np.isnan(pooled(table)).all()


def test_pooled_mean_is_the_global_mean_and_pooled_variance_is_less():
    rng = np.random.default_rng(0)
    target = rng.geometric(0.01, 300)
    pred = target + rng.normal(0, 5 + target / 4)
    mean, std = pooled(bin_table(target, pred, released_bins(1, 400)))
    everything = absolute_error(target, pred)
    assert mean == pytest.approx(everything["MAE"])
    assert std < everything["std"]


@pytest.mark.parametrize(
    ("target", "pred", "message"),
    [
        ([], [], "got none"),
        ([1, 2], [1], "got 1 and 2"),
        ([1, np.nan], [1, 1], "item 1 is nan"),
        ([-1, 1], [1, 1], "item 0 is -1"),
        ([1, 1], [1, np.inf], "item 1 is inf"),
        ([1, 1], [np.nan, 1], "leave out skipped"),
    ],
)
def test_counts_that_cannot_be_compared(target, pred, message):
    with pytest.raises(InputError, match=message):
        bin_table(target, pred, BINS)


# Table II, BL, no binning: pooled MAE and std, and the global std. JHU's edges are not published;
# gamma = 0.1 on (0, 25791) reproduces its figures.
TABLE_2 = [
    ("jhu", lambda folder: released_bins(0, 25791, 0.1), 63.87, 216.36, 262.09),
    ("nwpu", lambda folder: load_bins(folder / "bins.json", "nwpu"), 102.48, 348.23, 560.63),
    ("sta", lambda folder: load_bins(folder / "bins.json", "sta"), 68.72, 61.91, None),
]


@pytest.mark.parametrize("mode", ["paper", "released"])
@pytest.mark.parametrize(("name", "bins", "mean", "std", "global_std"), TABLE_2)
def test_table_2(shared, name, bins, mean, std, global_std, mode):
    folder = shared / "golden" / "bincrowd"
    found = read_predictions(folder / f"{name}_unbinned_tar_pred_error.txt")
    table = bin_table(found.target, found.pred, bins(folder), mode)
    assert [round(value, 2) for value in pooled(table)] == [mean, std]
    if global_std is not None:
        assert round(absolute_error(found.target, found.pred)["std"], 2) == global_std
