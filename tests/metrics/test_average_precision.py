"""Average precision by hand and by laws."""

import numpy as np
import pytest

from autoeval.metrics.average_precision import average_precision, pool_ties

HITS = np.array([False, True, True, False])  # precision 0, 1/2, 2/3, 1/2


@pytest.mark.parametrize(
    ("interpolation", "expected"),
    [
        ("101-point", 51 / 101 * 2 / 3),  # up to recall .5
        ("all-point", 2 / 4 * 2 / 3),
        (None, (1 / 2 + 2 / 3) / 4),
    ],
)
def test_by_hand(interpolation, expected):
    found = average_precision(HITS, np.ones(4), 4, interpolation=interpolation)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("interpolation", ["101-point", "all-point", None])
def test_without_labelled_boxes_it_is_unknown_and_without_detections_zero(interpolation):
    found = average_precision(
        np.stack([HITS, HITS]), np.ones(4), np.array([0, 2]), interpolation=interpolation
    )
    assert np.isnan(found[0]) and found[1] > 0
    assert average_precision(np.zeros(0), np.zeros(0), 3, interpolation=interpolation) == 0


@pytest.mark.parametrize("interpolation", ["101-point", "all-point", None])
def test_an_ignored_detection_counts_as_if_it_were_not_there(interpolation):
    hits, counted = np.array([0, 1, 0, 1]), np.array([0, 1, 1, 1])
    without = average_precision(hits[1:], counted[1:], 3, interpolation=interpolation)
    found = average_precision(hits, counted, 3, interpolation=interpolation)
    assert found == pytest.approx(without)


def test_a_whole_weight_counts_a_detection_so_often():
    times = np.array([2, 1, 0, 3])
    hits = np.array([True, False, True, True])
    again = average_precision(np.repeat(hits, times), np.ones(6), 8, interpolation="all-point")
    # Interpolated, the copies of a hit share the precision at the last of them or better.
    found = average_precision(times * hits, times, 8, interpolation="all-point")
    assert found == pytest.approx(again)


def test_detections_of_equal_score_are_pooled():
    hits = np.array([[True, False, False], [False, False, True]])
    pooled = pool_ties(np.full(3, 0.5), hits)
    assert average_precision(*pooled, 1, interpolation="all-point") == pytest.approx(1 / 3)
    apart = pool_ties(np.array([0.1, 0.3, 0.2]), hits)
    np.testing.assert_array_equal(apart[0], hits[:, [1, 2, 0]])
