"""Error by bin and pooled: by hand, and the figures of the paper's Table II."""

import numpy as np
import pytest

from autoeval.counting.binning import CountBins, load_bins, released_bins
from autoeval.counting.measures.count_errors import absolute_error, bin_table, pooled
from autoeval.counting.predictions import read_predictions
from autoeval.errors import InputError

BINS = CountBins((1.0, 4.0, 10.0, 20.0))
TARGET = np.array([0, 1, 4, 5, 10, 30])
PRED = np.array([2, 4, 3, 5, 14, 20])


def test_by_hand_with_under_and_overflow():
    table = bin_table(TARGET, PRED, BINS)
    assert table["bin"].tolist() == ["below", "1–4", "4–10", "above"]  # 10–20 has no image
    assert table["n"].tolist() == [1, 2, 2, 1]
    assert table["mean"].tolist() == [2, 2, 2, 10]
    assert table["std"].tolist() == [0, 1, 2, 0]
    assert table["bias"].tolist() == [2, 1, 2, -10]
    mean, std = pooled(table)
    assert mean == (2 + 2 * 2 + 2 * 2 + 10) / 6
    assert std == pytest.approx(np.sqrt((2 * 1 + 2 * 4) / 6))


def test_released_drops_what_lies_outside():
    table = bin_table(TARGET, PRED, BINS, "released")
    assert table["bin"].tolist() == ["1–4", "4–10"]
    assert pooled(table) == (2.0, pytest.approx(np.sqrt((2 * 1 + 2 * 4) / 4)))


def test_pooled_mean_is_the_global_mean_and_pooled_variance_is_less():
    rng = np.random.default_rng(0)
    target = rng.geometric(0.01, 300)
    pred = target + rng.normal(0, 5 + target / 4)
    mean, std = pooled(bin_table(target, pred, released_bins(1, 400)))
    everything = absolute_error(target, pred)
    assert mean == pytest.approx(everything["MAE"])
    assert std < everything["std"]


def test_nothing_inside_the_bins():
    table = bin_table([50], [1], BINS, "released")
    assert table.empty and np.isnan(pooled(table)).all()


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
