"""Average precision, and its influence function, by hand, by laws and numerical derivatives."""

from fractions import Fraction

import numpy as np
import pytest
from rankings import random_ranking

from autoeval.accuracy.measures import (
    RankedDetections,
    average_precision,
    influence_function,
    pool_ties,
)

HITS = np.array([False, True, True, False])  # precision 0, 1/2, 2/3, 1/2


@pytest.mark.parametrize(
    ("interpolation", "expected"),
    [
        ("101-point", 51 / 101 * 2 / 3),  # up to recall .5
        ("all-point", 2 / 4 * 2 / 3),
    ],
)
def test_by_hand(interpolation, expected):
    ap = average_precision(HITS, np.ones(4), 4, interpolation=interpolation)
    assert ap == pytest.approx(expected)


@pytest.mark.parametrize("interpolation", ["101-point", "all-point"])
def test_without_labelled_boxes_it_is_unknown_and_without_detections_zero(interpolation):
    ap = average_precision(
        np.stack([HITS, HITS]), np.ones(4), np.array([0, 2]), interpolation=interpolation
    )
    assert np.isnan(ap[0]) and ap[1] > 0
    assert average_precision(np.zeros(0), np.zeros(0), 3, interpolation=interpolation) == 0


@pytest.mark.parametrize("interpolation", ["101-point", "all-point"])
def test_an_ignored_detection_counts_as_if_it_were_not_there(interpolation):
    hits, counted = np.array([0, 1, 0, 1]), np.array([0, 1, 1, 1])
    without = average_precision(hits[1:], counted[1:], 3, interpolation=interpolation)
    ap = average_precision(hits, counted, 3, interpolation=interpolation)
    assert ap == pytest.approx(without)


def test_a_whole_weight_counts_a_detection_so_often():
    times = np.array([2, 1, 0, 3])
    hits = np.array([True, False, True, True])
    again = average_precision(np.repeat(hits, times), np.ones(6), 8, interpolation="all-point")
    # Interpolated, the copies of a hit share the precision at the last of them or better.
    ap = average_precision(times * hits, times, 8, interpolation="all-point")
    assert ap == pytest.approx(again)


def of_fractions(boxes, weights):
    """COCO's average precision of weighted images without any rounding, at the first threshold."""
    weights = [Fraction(float(weight)) for weight in weights]
    objects = sum(w * int(n) for w, n in zip(weights, boxes.n_true, strict=True))
    right = counted = Fraction(0)
    recall, precision = [], []
    for image, hit in zip(boxes.image, boxes.hits[0], strict=True):
        right, counted = right + weights[image] * int(hit), counted + weights[image]
        recall.append(right / objects)
        precision.append(right / counted)
    best = [max(precision[k:]) for k in range(len(precision))]
    total = Fraction(0)
    for level in range(101):
        total += next((p for r, p in zip(recall, best, strict=True) if 100 * r >= level), 0)
    return float(total / 101)


def test_weighted_images_are_counted_as_without_rounding_also_where_every_object_is_found():
    """Sums of weights in two orders differ in the last digit: the recall of 1 was not reached."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        n_true = rng.integers(1, 4, 12)
        image = np.append(np.repeat(np.arange(12), n_true), rng.integers(0, 12, 5))
        hits = (np.arange(len(image)) < n_true.sum())[None]  # all objects, and five wrong boxes
        boxes = RankedDetections.of(rng.random(len(image)), image, hits, n_true)
        weights = 1 / rng.uniform(0.05, 0.4, 12)
        expected = of_fractions(boxes, weights)
        assert boxes.average_precision(weights)[0] == pytest.approx(expected, abs=1e-9)
        equal = boxes.average_precision(np.full(12, 2.5))[0]
        assert equal == pytest.approx(boxes.average_precision()[0], abs=1e-9)


def test_equal_scores_are_ranked_by_their_image_in_whatever_order_they_are_given():
    """By hand: the box of image 0 is right, so that of one object the precision is 1."""
    image, hits = np.array([1, 0]), np.array([[False, True]])
    for order in ([0, 1], [1, 0]):
        ranked = RankedDetections.of(
            np.array([0.5, 0.5]), image[order], hits[:, order], np.array([1, 0])
        )
        assert ranked.average_precision().tolist() == [1.0]


def test_detections_of_equal_score_are_pooled():
    hits = np.array([[True, False, False], [False, False, True]])
    pooled = pool_ties(np.full(3, 0.5), hits)
    assert average_precision(*pooled, 1, interpolation="all-point") == pytest.approx(1 / 3)
    apart = pool_ties(np.array([0.1, 0.3, 0.2]), hits)
    np.testing.assert_array_equal(apart[0], hits[:, [1, 2, 0]])


STEP = 1e-5


def all_point(ranked):
    n_true = ranked.n_true.sum()
    return average_precision(ranked.hits, ranked.counted, n_true, interpolation="all-point")


def derivative(boxes, image, weights):
    """Central difference of the average precision by the weight of one image."""
    ends = []
    for sign in (1, -1):
        moved = weights.copy()
        moved[image] += sign * STEP
        ends.append(all_point(boxes.weighted(moved)))
    return (ends[0] - ends[1]) / (2 * STEP) * weights.sum()


def test_the_influence_is_the_derivative_by_the_weight_of_an_image():
    """With equal weights boxes tie for the highest precision, and its derivative has two sides."""
    boxes = random_ranking(0, ignored=0.1)
    weights = np.random.default_rng(1).uniform(0.5, 2, 40)
    influence = influence_function(boxes, weights)
    for image in range(0, len(boxes.n_true), 7):
        expected = derivative(boxes, image, weights)
        assert influence[:, image] == pytest.approx(expected, abs=1e-6)


def test_soft_labels_have_the_same_derivative():
    rng = np.random.default_rng(3)
    image = rng.integers(0, 20, 200)
    right = np.sort(rng.random((10, 200)), axis=0)[::-1]
    boxes = RankedDetections.of(rng.random(200), image, right, rng.uniform(3, 8, 20))
    influence = influence_function(boxes)
    expected = derivative(boxes, 4, np.ones(20))
    assert influence[:, 4] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_weighted_influences_sum_to_zero(seed):
    boxes = random_ranking(seed, ignored=0.2)
    weights = np.random.default_rng(seed).uniform(0.2, 3, len(boxes.n_true))
    assert influence_function(boxes, weights) @ weights == pytest.approx(0, abs=1e-9)


def test_whole_weights_count_images_as_often():
    boxes = random_ranking(5)
    times = np.random.default_rng(0).integers(0, 3, len(boxes.n_true))
    copies = np.repeat(np.arange(len(boxes.n_true)), times)
    parts = [(np.flatnonzero(boxes.image == image), k) for k, image in enumerate(copies)]
    rows = np.concatenate([part_rows for part_rows, _ in parts])
    at = np.concatenate([np.full(len(part_rows), k) for part_rows, k in parts])
    order = np.argsort(rows, kind="stable")
    of_copies = rows[order]
    drawn = RankedDetections(
        at[order],
        boxes.hits[:, of_copies],
        boxes.counted[:, of_copies],
        boxes.n_true[copies],
        boxes.scores[of_copies],
    )
    # Copies of a box have equal scores; COCO ranks them one by one, weights count them at once.
    few = boxes.average_precision(times.astype(float)) - drawn.average_precision()
    assert np.abs(few).max() < 0.03


def test_precision_by_hand():
    """Right, wrong, right: precision 1 and 2/3 at recalls of a half and one."""
    scores, image = np.array([0.9, 0.8, 0.7]), np.array([0, 1, 1])
    boxes = RankedDetections.of(scores, image, np.array([[1.0, 0, 1]]), np.ones(2))
    assert all_point(boxes) == pytest.approx((1 + 2 / 3) / 2)
    # IF of image 0 by the formula: N/G = 1; its box: t P + t A - C - AP g.
    above = 1 / 1 + 1 / 3  # A: t / D over the right boxes at or below
    loss = 1 / 1 + 2 / 9  # C: t T / D^2
    influence = influence_function(boxes)[0, 0]
    assert influence == pytest.approx(1 + above - loss - 5 / 6)
    assert boxes.average_precision()[0] == pytest.approx((51 * 1 + 50 * 2 / 3) / 101)


def test_without_true_boxes_nothing_is_known():
    boxes = RankedDetections.of(np.ones(1), np.zeros(1, int), np.zeros((10, 1)), np.zeros(3))
    assert np.isnan(influence_function(boxes)).all()
    assert np.isnan(boxes.average_precision()).all()


def test_without_boxes_the_precision_is_zero():
    boxes = RankedDetections.of(np.zeros(0), np.zeros(0, int), np.zeros((10, 0)), np.ones(3))
    assert influence_function(boxes) == pytest.approx(0)
    assert boxes.average_precision() == pytest.approx(0)


def test_the_mean_influence_is_the_first_order_error_of_a_sample():
    boxes = random_ranking(8, n_images=400)
    whole, rng = all_point(boxes), np.random.default_rng(0)
    influence = influence_function(boxes)
    errors, first_order = [], []
    for _ in range(60):
        images = rng.choice(400, 100, replace=False)
        few = all_point(boxes.take(images))
        errors.append(few.mean() - whole.mean())
        first_order.append(influence[:, images].mean())
    assert np.corrcoef(errors, first_order)[0, 1] > 0.97


def test_taking_images_keeps_their_boxes():
    boxes = random_ranking(2)
    few = boxes.take(np.array([7, 3]))
    assert len(few.n_true) == 2
    assert (few.n_true == boxes.n_true[[7, 3]]).all()
    assert (few.image == 0).sum() == (boxes.image == 7).sum()
