"""What two detectors find together, on boxes set by hand."""

import numpy as np
import pytest

from autoeval.comparison.unlabelled_difference import (
    CategoryBoxes,
    common_objects,
    expected_difference,
)


def found(boxes, p, *, missed=0.0, n_images=1):
    """Boxes on the first image, equally right at all IoU thresholds."""
    boxes, p = np.array(boxes, float).reshape(-1, 4), np.array(p, float)
    n_true = np.full(n_images, missed)
    n_true[0] += p.sum()
    image = np.zeros(len(p), int)
    return CategoryBoxes(image, boxes, p, np.tile(p, (10, 1)), n_true)


LEFT = [0, 0, 10, 10]
RIGHT = [50, 0, 60, 10]
NEAR_LEFT = [0, 0, 10, 9]  # IoU .9


def test_boxes_of_the_same_object_count_once():
    a, b = found([LEFT], [0.6]), found([NEAR_LEFT, RIGHT], [0.8, 0.5])
    assert common_objects(a, b) == pytest.approx([0.8 + 0.5])
    assert common_objects(b, a) == pytest.approx([0.8 + 0.5])


def test_what_neither_has_found_is_expected_by_either():
    a, b = found([LEFT], [0.6], missed=2.0), found([NEAR_LEFT], [0.6], missed=1.0)
    assert common_objects(a, b) == pytest.approx([0.6 + 1.5])


def test_a_box_has_one_partner_the_likeliest():
    """Two boxes of A lie on one of B: the unlikely one stands alone."""
    a, b = found([LEFT, NEAR_LEFT], [0.9, 0.1]), found([LEFT], [0.5])
    assert common_objects(a, b) == pytest.approx([0.9 + 0.1])


def test_the_detector_that_finds_more_is_better_by_the_recall():
    """Certain boxes, two of them against one: AP 1 against .5, to the 101 recall levels."""
    a, b = found([LEFT, RIGHT], [1.0, 1.0]), found([LEFT], [1.0])
    expected = expected_difference(a, b)
    assert expected.value == pytest.approx(1 - 51 / 101)
    assert expected.n_true == 2
    assert expected_difference(b, a).value == pytest.approx(-expected.value)


def test_influence_adds_up_to_nothing_and_falls_on_the_image_that_decides():
    a, b = found([LEFT, RIGHT], [1.0, 1.0], n_images=3), found([LEFT], [1.0], n_images=3)
    influence = expected_difference(a, b).influence
    assert influence.shape == (3,) and influence.sum() == pytest.approx(0, abs=1e-6)
    assert not influence[1:].any()


def test_nothing_found_is_no_difference():
    none = found([], [], n_images=4)
    expected = expected_difference(none, none)
    assert expected.value == 0 and not expected.influence.any()


def test_a_detector_without_a_box_of_a_category_has_found_none_of_its_objects():
    none, b = found([], []), found([LEFT, RIGHT], [0.8, 0.5])
    assert common_objects(none, b) == common_objects(b, none) == pytest.approx([1.3])
    value = expected_difference(none, b).value
    assert value < 0 and value == pytest.approx(-expected_difference(b, none).value)
