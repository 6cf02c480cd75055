"""TPER: three conventions, images without objects."""

import numpy as np
import pytest

from autoeval.counting.measures.tper import tper_curve

TARGET, PRED = [10, 20, 100], [15, 20, 70]  # relative errors 50, 0 and 30 percent


def test_by_hand():
    curve = tper_curve(TARGET, PRED)
    expected = [1] + [2 / 3] * 6 + [1 / 3] * 4 + [0] * 10  # at 0, 5..30, 35..50, 55..100 percent
    assert curve.ratio.tolist() == pytest.approx(expected)
    assert curve.thresholds[[0, 6, 20]].tolist() == pytest.approx([0, 0.3, 1])
    # Trapezoids of width .05: the sum of the ordinates less half of the first and the last.
    assert curve.auc == pytest.approx(0.05 * (sum(expected) - 0.5))


def test_percent_is_a_hundred_times_relative():
    relative, percent = (tper_curve(TARGET, PRED, convention=c) for c in ("relative", "percent"))
    assert percent.ratio.tolist() == relative.ratio.tolist()
    assert percent.auc == pytest.approx(100 * relative.auc)


def test_the_released_convention_thresholds_the_error_in_objects():
    curve = tper_curve(TARGET, PRED, convention="absolute_released")
    # Absolute errors 5, 0 and 30, each with a little more: 5.0011 reaches 5, 30.00101 reaches 30.
    expected = [1] + [2 / 3] + [1 / 3] * 5 + [0] * 14
    assert curve.ratio.tolist() == pytest.approx(expected)


@pytest.mark.parametrize("n", [3, 7, 41, 1237])
def test_whole_counts_on_a_threshold_reach_it(n):
    target = np.full(20, 20 * n)
    pred = target + n * np.arange(1, 21)  # exactly 5, 10, ..., 100 percent
    ratio = tper_curve(target, pred).ratio
    assert ratio[1:].tolist() == pytest.approx([(20 - k) / 20 for k in range(20)])


@pytest.mark.parametrize(
    ("rule", "above_zero", "n_images"),
    [("exact", 1 / 3, 3), ("literal", 2 / 3, 3), ("skip", 0, 1)],
)
def test_images_without_objects(rule, above_zero, n_images):
    # Nothing found, something found, and a perfect count of five.
    curve = tper_curve([0, 0, 5], [0, 2, 5], zero_rule=rule)
    assert curve.ratio[0] == 1
    assert curve.ratio[1:].tolist() == pytest.approx([above_zero] * 20)
    assert (curve.n_images, curve.n_zero) == (n_images, 2)


def test_released_counts_images_without_objects_always():
    assert tper_curve([0], [0], convention="absolute_released").ratio.tolist() == [1] * 21


def test_nothing_but_images_without_objects():
    assert np.isnan(tper_curve([0], [1], zero_rule="skip").auc)


def test_unknown_words():
    with pytest.raises(ValueError, match="relative"):
        tper_curve([1], [1], convention="absolute")
    with pytest.raises(ValueError, match="literal"):
        tper_curve([1], [1], zero_rule="drop")
