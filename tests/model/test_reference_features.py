"""Average precision with the boxes of a reference detector as probable labels."""

import math

import numpy as np
import pytest

from autoeval.accuracy.mean_ap import MeanAP
from autoeval.accuracy.weighted_matching import match_weighted
from autoeval.detections import Detections
from autoeval.model.calibration import ScoreCalibration
from autoeval.model.reference_features import ReferenceFeatures
from autoeval.targets import OperatingPoint
from tests.stability.scores.made import found, random_detections, shaken

A, B, FAR = [0, 0, 10, 10], [20, 0, 30, 10], [50, 50, 60, 60]
LOW = [20, 0, 30, 7]  # IoU .7 with B
COLUMNS = ("boxes", "scores", "labels")
PLATT = ScoreCalibration(np.tile([0.0, 1.0, 1.0], (10, 1)), np.zeros(3))  # probability = score


def joined(parts):
    """Lay the boxes of each image out one after the other, with the image of each."""
    columns = (np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS)
    return Detections(*columns), np.repeat(np.arange(len(parts)), [len(part) for part in parts])


def features_of(clean, reference, probabilities=None):
    """Compare the boxes of each image with those of the reference."""
    (clean, at), (reference, reference_at) = joined(clean), joined(reference)
    q = PLATT.at_half(reference.scores) if probabilities is None else probabilities
    n_images = int(max(at.max(initial=0), reference_at.max(initial=0))) + 1
    return ReferenceFeatures(clean, at, reference, reference_at, n_images, q)


def score_of(clean, reference, probabilities=None):
    return features_of([clean], [reference], probabilities).compute()["reference_ap"]


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
    expected, both = MeanAP(("a",)), []
    for k in range(60):
        clean = random_detections(rng, 8)
        clean = Detections(clean.boxes, clean.scores, np.zeros(len(clean)))
        boxes = shaken(rng, clean)[2:].boxes.astype(float)
        reference = Detections(boxes, np.full(len(boxes), 0.5), np.zeros(len(boxes)))
        both.append((clean, reference))
        expected.update(clean, boxes, np.zeros(len(boxes), int), np.zeros(len(boxes), bool))
        assert k < 59 or 0.1 < expected.compute()["mAP"] < 0.9
    certain = np.ones(sum(len(reference) for _, reference in both))
    score = features_of(*zip(*both, strict=True), certain)
    assert score.compute()["reference_ap"] == pytest.approx(expected.compute()["mAP"], abs=1e-12)


def test_nothing_found_is_worth_nothing_and_nothing_to_compare_with_is_not_known():
    assert score_of(found(), found(A)) == 0
    assert math.isnan(score_of(found(A), found()))


def test_drawing_images_again_gives_the_score_of_those_drawn_to_first_order():
    rng = np.random.default_rng(2)
    clean = [random_detections(rng) for _ in range(200)]
    reference = [shaken(rng, boxes) for boxes in clean]
    counts = np.ones((2, 200), int)
    counts[1, :20], counts[1, 20:40] = 2, 0
    score = features_of(clean, reference)
    there = np.repeat(np.arange(200), counts[1])
    again = features_of([clean[k] for k in there], [reference[k] for k in there])
    drawn = score.resample(counts)["reference_ap"]
    whole, other = score.compute()["reference_ap"], again.compute()["reference_ap"]
    assert drawn[0] == pytest.approx(whole)
    assert abs(drawn[1] - other) < 0.25 * abs(whole - other) + 0.002


def at_half(clean, reference, probabilities):
    at, reference_at = (np.zeros(len(boxes), int) for boxes in (clean, reference))
    named = {"at_thresholds": ["precision@0.5"]}
    return ReferenceFeatures(clean, at, reference, reference_at, 1, probabilities, **named)


def test_precision_over_a_threshold_by_hand():
    """Two of three boxes score over .5: one is matched to .8 of an object, the other to none."""
    clean, reference = found(A, FAR, LOW, scores=[0.9, 0.7, 0.4]), found(A, B)
    score = at_half(clean, reference, np.array([0.8, 0.5]))
    assert score.compute()["reference_precision@0.5"] == pytest.approx(0.8 / 2)
    drawn = score.resample(np.array([[1], [3], [0]]))["reference_precision@0.5"]
    np.testing.assert_allclose(drawn, [0.4, 0.4, np.nan])
    at = OperatingPoint.of("precision@0.5")
    assert score.curve.at(at)[:, 0] == pytest.approx([0.8, 2, 1.3])


def test_without_a_box_of_the_reference_nothing_is_known():
    score = at_half(found(A), found(), np.zeros(0))
    assert math.isnan(score.compute()["reference_precision@0.5"]) and score.curve is None
    assert np.isnan(score.resample(np.ones((2, 1), int))["reference_precision@0.5"]).all()
