"""Precision, recall and F1 at a threshold: by hand, against pycocotools, and by laws."""

import contextlib
import io

import numpy as np
import pytest
from pycocotools.cocoeval import COCOeval
from rankings import random_ranking
from test_against_pycocotools import coco_world, make_found, make_truth, random_world

from autoeval.accuracy.coco_evaluation import rank_categories
from autoeval.accuracy.measures import (
    MEASURES,
    OperatingPoint,
    count_curve,
    counts_at,
    find_target,
    image_counts,
    influence_on,
    value_of,
)
from autoeval.errors import InputError

STEP = 1e-6


def counts_of(truth, detections, category, threshold, level=0):
    return image_counts(rank_categories(detections, truth)[category], threshold, level)


def test_two_images_by_hand():
    """A hit, a second box on the same car, a miss, and a box in a crowd that does not count."""
    cars = [[0, 0, 10, 10], [20, 20, 30, 30], [0, 0, 10, 10], [50, 50, 90, 90]]
    truth = make_truth([0, 0, 1, 1], [0] * 4, cars, [False, False, False, True])
    boxes = [[0, 0, 10, 10], [0, 0, 10, 8], [0, 0, 10, 6], [60, 60, 70, 70], [20, 20, 30, 30]]
    detections = make_found(truth, [0, 0, 1, 1, 0], [0] * 5, boxes, [0.9, 0.8, 0.7, 0.6, 0.2])
    counts = counts_of(truth, detections, 0, 0.5)
    assert counts[:, :2].tolist() == [[1, 1], [2, 1], [2, 1]]
    assert [value_of(name, counts) for name in MEASURES] == pytest.approx([2 / 3, 2 / 3, 2 / 3])
    strict = counts_of(truth, detections, 0, 0.5, level=5)  # IoU .75: the third box has .6
    assert value_of("recall", strict) == pytest.approx(1 / 3)
    assert value_of("recall", counts_of(truth, detections, 0, 0.1)) == 1
    assert np.isnan(value_of("precision", counts_of(truth, detections, 0, 0.95)))
    assert value_of("recall", counts_of(truth, detections, 0, 0.95)) == 0
    assert np.isnan(
        value_of("recall", counts_of(truth, detections, 1, 0.1))
    )  # nobody labelled a bus


def test_a_score_equal_to_the_threshold_is_not_over_it():
    truth = make_truth([0], [0], [[0, 0, 10, 10]], [False])
    detections = make_found(truth, [0], [0], [[0, 0, 10, 10]], [0.3])
    assert counts_of(truth, detections, 0, 0.3)[1].sum() == 0
    curve = count_curve(rank_categories(detections, truth)[0])
    assert counts_at(curve, OperatingPoint("f1", 0.3))[1] == 0


@pytest.mark.parametrize("threshold", [0.12, 0.52])
def test_counts_are_those_of_pycocotools_on_the_boxes_over_the_threshold(threshold):
    truth, detections = random_world(3)
    over = detections.where(detections.scores > threshold)
    world, results = coco_world(truth, over)
    with contextlib.redirect_stdout(io.StringIO()):
        evaluation = COCOeval(world, results, "bbox")
        evaluation.evaluate()
    every = [e for e in evaluation.evalImgs if e and e["aRng"] == evaluation.params.areaRng[0]]
    for category in (0, 1):
        entries = [e for e in every if e["category_id"] == category]
        for level in (0, 5):
            kept = [~e["dtIgnore"][level].astype(bool) for e in entries]
            hits = sum(
                np.sum(e["dtMatches"][level][k] > 0) for e, k in zip(entries, kept, strict=True)
            )
            objects = sum(np.sum(np.array(e["gtIgnore"]) == 0) for e in entries)
            expected = [hits, sum(map(np.sum, kept)), objects]
            ours = counts_of(truth, detections, category, threshold, level).sum(axis=1)
            assert ours.tolist() == expected


@pytest.mark.parametrize("measure", MEASURES)
def test_the_influence_is_the_derivative_by_the_weight_of_an_image(measure):
    counts = image_counts(random_ranking(0), 0.4)
    weights = np.random.default_rng(1).uniform(0.5, 2, counts.shape[1])
    influence = influence_on(measure, counts, weights)
    assert influence @ weights == pytest.approx(0, abs=1e-9)
    for image in range(0, len(weights), 9):
        ends = [weights + sign * STEP * (np.arange(len(weights)) == image) for sign in (1, -1)]
        up, down = (value_of(measure, counts, w) for w in ends)
        assert influence[image] == pytest.approx((up - down) / (2 * STEP) * weights.sum(), abs=1e-6)


def test_f1_is_the_harmonic_mean():
    counts = image_counts(random_ranking(2), 0.3)
    p, r, f1 = (value_of(name, counts) for name in MEASURES)
    assert f1 == pytest.approx(2 * p * r / (p + r))


def test_a_curve_holds_the_counts_at_every_hundredth_and_survives_packing():
    ranking = random_ranking(4, ignored=0.1)
    curve = count_curve(ranking)
    for threshold, iou in ((0.01, 0.5), (0.3, 0.5), (0.57, 0.75), (0.99, 0.95)):
        point = OperatingPoint("recall", threshold, iou)
        expected = image_counts(ranking, threshold, point.level).sum(axis=1)
        assert counts_at(curve, point)[:, 0] == pytest.approx(expected)
    between = counts_at(curve, OperatingPoint("recall", 0.305))
    ends = [counts_at(curve, OperatingPoint("recall", t)) for t in (0.3, 0.31)]
    assert between == pytest.approx(np.mean(ends, axis=0), rel=1e-6)


def test_the_name_of_a_target_keeps_the_boxes_over_its_threshold():
    scores = np.float32([0.9999999, 0.9999995, 0.9999991, 0.12345682, 0.12345678, 0.1234567])
    for threshold in scores[1:]:
        named = OperatingPoint.of(str(OperatingPoint("recall", float(threshold))))
        over = np.sum(scores > np.float32(named.score_thr))
        assert over == np.sum(scores > threshold)


@pytest.mark.parametrize(
    ("name", "normal"),
    [
        ("recall@.30", "recall@0.3"),
        ("f1@0.25:0.50", "f1@0.25"),
        ("precision@.5:.750/a/b", "precision@0.5:0.75/a/b"),
        ("recall@0.12345678", "recall@0.12345678"),  # not that of 0.123457
        ("recall@0.9999995", "recall@0.9999995"),  # not that of 1
        ("recall@0.30000001192092896", "recall@0.3"),  # the same in single precision
        ("mAP50/car", "mAP50/car"),
    ],
)
def test_a_target_has_one_name_however_its_numbers_are_written(name, normal):
    assert find_target(name).name == normal


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("recall@1.2", "over 0 and under 1 but got 1.2"),
        ("recall@0", "over 0 and under 1 but got 0"),
        (
            "recall@0.99999999999",
            "over 0 and under 1 but got 0.99999999999",
        ),  # 1 in single precision
        ("f1@x", "a score threshold after @, such as recall@0.3"),
        ("recall@0.3:0.4", "an IoU of COCO's evaluation .* but got 0.4"),
        ("depth@0.3", "a target out of mAP"),
    ],
)
def test_a_name_that_is_no_operating_point(name, fault):
    with pytest.raises(InputError, match=fault):
        find_target(name)
