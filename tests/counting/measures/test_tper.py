"""TPER: each convention, images without objects."""

import numpy as np
import pytest

from autoeval.counting.measures.count_errors import tper_curve
from autoeval.counting.predictions import read_predictions

TARGET = [10, 20, 100]
PRED = [15, 20, 70]  # relative errors 50, 0 and 30 percent


def test_by_hand_as_a_share_and_in_objects():
    curve = tper_curve(TARGET, PRED)
    expected = [1] + [2 / 3] * 6 + [1 / 3] * 4 + [0] * 10  # at 0, 5..30, 35..50, 55..100 percent
    assert curve.ratio.tolist() == pytest.approx(expected)
    assert curve.thresholds[[0, 6, 20]].tolist() == pytest.approx([0, 0.3, 1])
    # Trapezoids of width .05: the sum of the ordinates less half of the first and the last.
    assert curve.auc == pytest.approx(0.05 * (sum(expected) - 0.5))
    curve = tper_curve(TARGET, PRED, convention="absolute_released")
    # Absolute errors 5, 0 and 30, each with a little more: 5.0011 reaches 5, 30.00101 reaches 30.
    expected = [1] + [2 / 3] + [1 / 3] * 5 + [0] * 14
    assert curve.ratio.tolist() == pytest.approx(expected)


def test_the_paper_takes_its_threshold_as_a_multiple_of_the_count():
    # Errors 7, 10 and 30 are 7, 5 and .3 times the count; an image without objects always counts.
    curve = tper_curve([1, 2, 100, 0], [8, 12, 70, 0], convention="paper")
    assert curve.thresholds[[0, 1, 2, 20]].tolist() == [0, 5, 10, 100]
    assert curve.ratio.tolist() == [1, 3 / 4, *[1 / 4] * 19]
    assert curve.auc == pytest.approx(5 * (1 + 3 / 4 + 19 / 4 - (1 + 1 / 4) / 2))


@pytest.mark.parametrize(("dataset", "area"), [("jhu", 2.889), ("nwpu", 9.415), ("sta", 2.5)])
def test_the_paper_on_released_predictions(shared, dataset, area):
    """The formula worked out on the predictions of BL, apart from this program."""
    path = shared / "golden" / "bincrowd" / f"{dataset}_unbinned_tar_pred_error.txt"
    found = read_predictions(path)
    curve = tper_curve(found.target, found.pred, convention="paper")
    assert curve.auc == pytest.approx(area, abs=5e-4)


@pytest.mark.parametrize("n", [3, 7, 41, 1237])
def test_whole_counts_on_a_threshold_reach_it(n):
    target = np.full(20, 20 * n)
    pred = target + n * np.arange(1, 21)  # exactly 5, 10, ..., 100 percent
    ratio = tper_curve(target, pred).ratio
    assert ratio[1:].tolist() == pytest.approx([(20 - k) / 20 for k in range(20)])


def test_counts_with_decimals_on_a_threshold_reach_it():
    """6.3 for 6 was under 5 percent, 4.2 for 4 was not."""
    for target, pred, percent in (
        (6, 6.3, 5),
        (6, 5.7, 5),
        (4, 4.2, 5),
        (7, 7.7, 10),
        (3, 2.1, 30),
    ):
        curve = tper_curve([target], [pred])
        assert curve.ratio.sum() == percent / 5 + 1
        assert curve.auc == pytest.approx(percent / 100 + 0.025)
    assert tper_curve([6], [6.29999]).ratio.sum() == 1


def test_images_without_objects():
    # Nothing found, something found, and a perfect count of five.
    curve = tper_curve([0, 0, 5], [0, 2, 5])
    assert curve.ratio.tolist() == pytest.approx([1, *[1 / 3] * 20]) and curve.n_images == 3
    assert tper_curve([0], [0], convention="absolute_released").ratio.tolist() == [1] * 21
    with pytest.raises(ValueError, match="relative"):
        tper_curve([1], [1], convention="absolute")
