import itertools

import numpy as np
import pytest
from hypothesis.extra.numpy import arrays
from steady import given, st

from autoeval.boxes import Boxes, LabelledImage, box_giou, box_iou, match_boxes, overlapping_pairs

corner = st.integers(0, 40)


def boxes(count):
    def order(raw):
        xy, size = raw[:, :2], raw[:, 2:]
        return np.concatenate([xy, xy + size + 1], axis=1).astype(float)

    return arrays(np.int64, (count, 4), elements=corner).map(order)


@pytest.mark.parametrize(
    ("a", "b", "iou", "giou"),
    [
        # identical
        ([0, 0, 2, 2], [0, 0, 2, 2], 1, 1),
        # half shifted: intersection 2, union 6, enclosing 6
        ([0, 0, 2, 2], [1, 0, 3, 2], 1 / 3, 1 / 3),
        # diagonal shift: intersection 1, union 7, enclosing 9
        ([0, 0, 2, 2], [1, 1, 3, 3], 1 / 7, 1 / 7 - 2 / 9),
        # apart: union 2, enclosing 10
        ([0, 0, 1, 1], [9, 0, 10, 1], 0, -8 / 10),
        # two points in one place have no area at all
        ([3, 3, 3, 3], [3, 3, 3, 3], 0, 0),
    ],
)
def test_overlaps_worked_by_hand(a, b, iou, giou):
    a, b = np.array([a], float), np.array([b], float)
    assert box_iou(a, b)[0, 0] == pytest.approx(iou)
    assert box_giou(a, b)[0, 0] == pytest.approx(giou)


@given(boxes(3), boxes(4))
def test_giou_is_below_iou_and_iou_is_that_of_both_orders(a, b):
    iou, giou = box_iou(a, b), box_giou(a, b)
    assert (giou <= iou + 1e-12).all() and (giou >= -1).all()
    assert np.array_equal(box_iou(b, a).T, iou)


@given(boxes(3), boxes(4))
def test_scaling_an_axis_changes_no_overlap(a, b):
    # so boxes in [0, 1] and boxes in pixels give the same stability score
    scale = np.array([1 / 640, 1 / 480] * 2)
    assert np.allclose(box_giou(a * scale, b * scale), box_giou(a, b), atol=1e-9)


def test_leading_dimensions_are_a_batch():
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 3, 5, 4)).cumsum(-1), rng.random((2, 3, 6, 4)).cumsum(-1)
    batched = box_giou(a, b)
    assert batched.shape == (2, 3, 5, 6)
    assert np.array_equal(batched[1, 2], box_giou(a[1, 2], b[1, 2]))


@given(boxes(3), boxes(4), st.sampled_from(["iou", "giou"]))
def test_matching_is_the_best_of_all_assignments(a, b, cost):
    overlaps = {"iou": box_iou, "giou": box_giou}[cost](a, b)
    best = max(
        sum(overlaps[i, j] for i, j in enumerate(columns))
        for columns in itertools.permutations(range(4), 3)
    )
    assert match_boxes(a, b, cost=cost)[2].sum() == pytest.approx(best)


def test_matching_nothing_gives_nothing():
    rows, columns, overlaps = match_boxes(np.zeros((0, 4)), np.zeros((3, 4)))
    assert len(rows) == len(columns) == len(overlaps) == 0


def test_unknown_cost_is_named():
    with pytest.raises(ValueError, match="l1"):
        match_boxes(np.zeros((1, 4)), np.zeros((1, 4)), cost="l1")


def test_boxes_given_in_single_precision_overlap_as_others_do():
    """One pixel at the end of a large image: in single precision 16777216 + 1 is 16777216."""
    corners, none = np.array([[16777216, 0, 16777218, 1]], np.float32), np.zeros(1, np.int64)
    given_boxes = Boxes((LabelledImage("7", "7.jpg", None),), ("car",), none, none, corners)
    other = np.array([[16777217.0, 0, 16777219, 1]])
    _, _, overlaps = overlapping_pairs(given_boxes.boxes, none, other, none, least=0.1)
    assert overlaps == pytest.approx([1 / 3], abs=1e-12)  # one of three pixels
    assert (given_boxes.boxes.dtype, given_boxes.scores.dtype) == (np.float64, np.float64)


def test_boxes_of_words_that_do_not_count_are_of_no_category_without_a_name():
    """They all became boxes of it: labels of a COCO file may list a category called ''."""
    corners, scores = np.tile([0.0, 0, 9, 9], (3, 1)), np.array([0.9, 0.8, 0.7])
    images, (image, label) = (LabelledImage("7", "7.jpg", None),), (np.zeros(3, int), np.arange(3))
    read = Boxes(images, ("car", "", "bus"), image, label, corners, scores)
    kept = read.as_categories(("car", ""))
    assert (kept.label.tolist(), kept.scores.tolist()) == ([0, 1], [0.9, 0.8])
    assert read.as_categories(("car", "van")).scores.tolist() == [0.9]
