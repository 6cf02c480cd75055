"""Average precision with the boxes of a reference detector as probable labels."""

import math

import numpy as np
import pytest
from made import evidence, found, random_detections, shaken

from autoeval.calibration import ScoreCalibration
from autoeval.detections import Detections
from autoeval.metrics.mean_ap import MeanAP
from autoeval.metrics.weighted_matching import match_weighted
from autoeval.scores.reference import ReferenceAP

A, B, FAR = [0, 0, 10, 10], [20, 0, 30, 10], [50, 50, 60, 60]
LOW = [20, 0, 30, 7]  # IoU .7 with B
PLATT = ScoreCalibration(np.tile([0.0, 1.0, 1.0], (10, 1)), np.zeros(3))  # probability = score


def score_of(clean, reference, probabilities=None, *, score=None):
    score = score or ReferenceAP(PLATT)
    at, reference_at = (np.zeros(len(of), int) for of in (clean, reference))
    score.update_images(clean, at, reference, reference_at, 1, probabilities)
    return score.compute()["reference_ap"]


def test_three_boxes_worked_out_by_hand():
    """The first is A exactly, the second a ghost, the third has IoU .7 with B."""
    clean, reference = found(A, FAR, LOW, scores=[0.9, 0.7, 0.6]), found(A, B)
    # 1.3 objects. Up to IoU .7 the running hits are .8, .8, 1.3 of 1, 2, 3 boxes: precision .8 up
    # to a recall of .8 / 1.3 = .615, which 62 of the recalls 0, .01, ... reach, then 1.3 / 3.
    low = (62 * 0.8 + 39 * 1.3 / 3) / 101
    high = 62 * 0.8 / 101
    value = score_of(clean, reference, np.array([0.8, 0.5]))
    assert value == pytest.approx((5 * low + 5 * high) / 10)


def test_probabilities_are_those_of_the_calibration():
    clean = found(A, FAR, LOW, scores=[0.9, 0.7, 0.6])
    sure, given = found(A, B, scores=[0.8, 0.5]), np.array([0.8, 0.5])
    assert score_of(clean, sure) == pytest.approx(score_of(clean, sure, given), abs=1e-6)


def test_the_most_probable_of_the_overlapping_boxes_is_taken():
    """A box inside A has IoU .8 with it; at .5 to .8 the box takes the likelier A, then itself."""
    inside = [0, 0, 10, 8]
    matched = match_weighted(
        np.array([inside], float),
        np.zeros(1, int),
        np.array([inside, A], float),
        np.zeros(2, int),
        np.array([0.3, 0.9]),
    )
    np.testing.assert_array_equal(matched[:, 0], [0.9] * 7 + [0.3] * 3)


def test_with_certain_probabilities_it_is_cocos_average_precision_against_these_boxes():
    rng = np.random.default_rng(0)
    score, expected = ReferenceAP(PLATT), MeanAP(("a",))
    for k in range(60):
        clean = random_detections(rng, 8)
        clean = Detections(clean.boxes, clean.scores, np.zeros(len(clean)))
        boxes = shaken(rng, clean)[2:].boxes.astype(float)
        reference = Detections(boxes, np.full(len(boxes), 0.5), np.zeros(len(boxes)))
        score_of(clean, reference, np.ones(len(boxes)), score=score)
        expected.update(clean, boxes, np.zeros(len(boxes), int), np.zeros(len(boxes), bool))
        assert k < 59 or 0.1 < expected.compute()["mAP"] < 0.9
    assert score.compute()["reference_ap"] == pytest.approx(expected.compute()["mAP"], abs=1e-12)


def test_the_order_of_images_does_not_matter_and_parts_are_merged():
    rng = np.random.default_rng(1)
    images = [
        evidence(k, random_detections(rng), reference=random_detections(rng)) for k in range(9)
    ]
    whole, one, other = (ReferenceAP(PLATT) for _ in range(3))
    for k, image in enumerate(images):
        whole.update(image)
        (one if k < 4 else other).update(image)
    other.merge(one)
    assert 0 < whole.compute()["reference_ap"] < 1
    assert other.compute() == pytest.approx(whole.compute())


def test_nothing_found_is_worth_nothing_and_nothing_to_compare_with_is_not_known():
    assert score_of(found(), found(A)) == 0
    assert math.isnan(score_of(found(A), found()))
    assert math.isnan(ReferenceAP(PLATT).compute()["reference_ap"])


def test_drawing_images_again_gives_the_score_of_those_drawn_to_first_order():
    rng, score = np.random.default_rng(2), ReferenceAP(PLATT)
    images = []
    for k in range(200):
        clean = random_detections(rng)
        images.append(evidence(k, clean, reference=shaken(rng, clean)))
        score.update(images[-1])
    counts = np.ones((2, 200), int)
    counts[1, :20], counts[1, 20:40] = 2, 0
    again = ReferenceAP(PLATT)
    for image, n in zip(images, counts[1], strict=True):
        for _ in range(n):
            again.update(image)
    drawn = score.resample(counts)["reference_ap"]
    whole, other = score.compute()["reference_ap"], again.compute()["reference_ap"]
    assert drawn[0] == pytest.approx(whole)
    assert abs(drawn[1] - other) < 0.25 * abs(whole - other) + 0.002
