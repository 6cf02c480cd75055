"""Features of boxes, by hand."""

import math

import numpy as np
import pytest

from autoeval.accuracy.coco_evaluation import MeanAP, match_weighted
from autoeval.accuracy.measures import OperatingPoint, RankedDetections, counts_at
from autoeval.detections import Detections
from autoeval.model.calibration import ScoreCalibration
from autoeval.model.pair_table import CalibratedFeatures, ReferenceFeatures
from tests.stability.scores.made import found, random_detections, shaken

LEVELS = 10
TRUE = np.stack([np.linspace(1.0, -2.0, LEVELS), np.full(LEVELS, 1.2), np.full(LEVELS, 0.7)], 1)
MISSED = np.array([-0.5, 0.8, 0.4])
CALIBRATION = ScoreCalibration(TRUE, MISSED)
N = 30
WIDE = 1000.0  # sides of images, pixels
A = [0, 0, 10, 10]
B = [20, 0, 30, 10]
FAR = [50, 50, 60, 60]
LOW = [20, 0, 30, 7]  # IoU .7 with B
COLUMNS = ("boxes", "scores", "labels")
PLATT = ScoreCalibration(np.tile([0.0, 1.0, 1.0], (10, 1)), np.zeros(3))  # probability = score


def boxes(n=200):
    rng = np.random.default_rng(0)
    scores = rng.beta(0.5, 1.5, n)
    return scores, rng.uniform(-4, 0, n), np.sort(rng.integers(0, N, n))


def features_of(*parts, calibration=CALIBRATION, **options):
    """Read boxes of several sets of images, laid out one after the other.

    Of each set: scores, logarithms of sides relative to those of the image, image, n images.
    """
    starts = np.cumsum([0, *(n for *_, n in parts)])
    scores, sides = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    image = np.concatenate([part[2] + start for part, start in zip(parts, starts, strict=False)])
    corners = np.zeros((len(scores), 4))
    corners[:, 2:] = WIDE * np.exp(sides)[:, None]
    area = np.full(int(starts[-1]), WIDE**2)
    options = {"probabilities": calibration.probabilities(scores)} | options
    return CalibratedFeatures(calibration, corners, scores, image, area, **options)


def test_images_without_the_category_change_no_score():
    """Neither those without a box, nor those whose boxes are right with less than .05."""
    scores, sides, image = boxes()
    base = features_of((scores, sides, image, N)).values
    assert all(np.isfinite(list(base.values())))
    assert CALIBRATION.at_half(np.array([0.01]))[0] < 0.05
    doubted = (np.full(40, 0.01), np.full(40, -0.5), np.arange(40), 40)
    none = (np.zeros(0), np.zeros(0), np.zeros(0, int), 40)
    for more in (none, doubted):
        assert features_of((scores, sides, image, N), more).values == base
        assert features_of(more, (scores, sides, image, N)).values == pytest.approx(base)
    nothing = features_of(doubted, none).values
    assert set(nothing) == set(base) and np.isnan(list(nothing.values())).all()


def test_expected_ap_of_known_boxes_is_their_average_precision():
    """Probabilities of 0 and 1, and no missed object; every image holds a true box."""
    rng = np.random.default_rng(0)
    scores, sides, image = boxes()
    hits = np.minimum.accumulate(rng.random((LEVELS, len(scores))) < 0.9, axis=0)
    hits[0, np.unique(image, return_index=True)[1]] = True
    nothing_missed = ScoreCalibration(TRUE, np.array([-700.0, 0, 0]))
    given = hits.astype(float)
    score = features_of((scores, sides, image, N), calibration=nothing_missed, probabilities=given)
    n_true = np.bincount(image[hits[0]], minlength=N)
    ranked = RankedDetections.of(scores, image, hits, n_true)
    assert score.values["expected_ap"] == pytest.approx(ranked.average_precision().mean())


def test_expected_ap_predicts_that_of_labels_drawn_from_the_probabilities():
    """Means over draws: the AP of expected labels is close to the expected AP of labels."""
    rng = np.random.default_rng(0)
    scores, sides, image = boxes(n=3000)
    score = features_of((scores, sides, image, N))
    p = CALIBRATION.probabilities(scores)
    missed = CALIBRATION.n_missed(p[0], image, N)
    drawn = []
    for _ in range(20):
        hits = rng.random(len(scores)) < p
        n_true = np.bincount(image[hits[0]], minlength=N) + rng.poisson(missed)
        drawn.append(RankedDetections.of(scores, image, hits, n_true).average_precision().mean())
    assert score.values["expected_ap"] == pytest.approx(np.mean(drawn), abs=0.02)


def test_likely_share_and_size_by_hand():
    """Two images, each with a box under .05; probabilities are confidences."""
    same = ScoreCalibration(np.tile([0.0, 1, 1], (LEVELS, 1)), MISSED)
    scores = np.array([0.9, 0.2, 0.04, 0.6, 0.03])
    sides = np.array([-1.0, -2, -9, -3, -9])
    features = features_of((scores, sides, np.array([0, 0, 0, 1, 1]), 2), calibration=same).values
    assert features["likely_share"] == pytest.approx((1 / 2 + 1) / 2)
    weighted = 0.9 * -1 + 0.2 * -2 + 0.6 * -3
    assert features["box_size"] == pytest.approx(weighted / (0.9 + 0.2 + 0.6))


def test_drawn_once_each_they_are_the_scores():
    score = features_of((*boxes(), N))
    once = score.resample(np.ones((1, N), int))
    assert {name: values[0] for name, values in once.items()} == pytest.approx(score.values)
    never = score.resample(np.zeros((1, N), int))
    assert np.isnan([values[0] for values in never.values()]).all()


def test_sides_are_relative_to_those_of_the_image():
    """The second box, of no width, counts as a millionth of the area; probabilities: scores."""
    corners, scores = np.array([[0.0, 0, 20, 20], [5, 5, 5, 9]]), np.array([0.6, 0.4])

    def side(area):
        boxes, p = (corners, scores, np.array([0, 0])), PLATT.probabilities(scores)
        return CalibratedFeatures(PLATT, *boxes, area, probabilities=p).values["box_size"]

    assert side(np.array([1600.0])) == pytest.approx(0.6 * np.log(20 / 40) + 0.4 * np.log(1e-3))
    assert np.isnan(side(np.full(1, np.nan)))


def joined(parts):
    """Lay the boxes of each image out one after the other, with the image of each."""
    columns = (np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS)
    return Detections(*columns), np.repeat(np.arange(len(parts)), [len(part) for part in parts])


def reference_features_of(clean, reference, probabilities=None):
    """Compare the boxes of each image with those of the reference."""
    (clean, at), (reference, reference_at) = joined(clean), joined(reference)
    q = PLATT.at_half(reference.scores) if probabilities is None else probabilities
    n_images = int(max(at.max(initial=0), reference_at.max(initial=0))) + 1
    return ReferenceFeatures(clean, at, reference, reference_at, n_images, q)


def score_of(clean, reference, probabilities=None):
    return reference_features_of([clean], [reference], probabilities).values["reference_ap"]


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
    score = reference_features_of(*zip(*both, strict=True), certain)
    assert score.values["reference_ap"] == pytest.approx(expected.compute()["mAP"], abs=1e-12)


def test_nothing_found_is_worth_nothing_and_nothing_to_compare_with_is_not_known():
    assert score_of(found(), found(A)) == 0
    assert math.isnan(score_of(found(A), found()))


def test_drawing_images_again_gives_the_score_of_those_drawn_to_first_order():
    rng = np.random.default_rng(2)
    clean = [random_detections(rng) for _ in range(200)]
    reference = [shaken(rng, boxes) for boxes in clean]
    counts = np.ones((2, 200), int)
    counts[1, :20], counts[1, 20:40] = 2, 0
    score = reference_features_of(clean, reference)
    there = np.repeat(np.arange(200), counts[1])
    again = reference_features_of([clean[k] for k in there], [reference[k] for k in there])
    drawn = score.resample(counts)["reference_ap"]
    whole, other = score.values["reference_ap"], again.values["reference_ap"]
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
    assert score.values["reference_precision@0.5"] == pytest.approx(0.8 / 2)
    drawn = score.resample(np.array([[1], [3], [0]]))["reference_precision@0.5"]
    np.testing.assert_allclose(drawn, [0.4, 0.4, np.nan])
    at = OperatingPoint.of("precision@0.5")
    assert counts_at(score.curve, at)[:, 0] == pytest.approx([0.8, 2, 1.3])


def test_without_a_box_of_the_reference_nothing_is_known():
    score = at_half(found(A), found(), np.zeros(0))
    assert math.isnan(score.values["reference_precision@0.5"]) and score.curve is None
    assert np.isnan(score.resample(np.ones((2, 1), int))["reference_precision@0.5"]).all()
