import math

import numpy as np
import pytest
from made import computed, evidence, found

from autoeval.detections import Candidates
from autoeval.errors import InputError
from autoeval.stability.scores.pcr import (
    PredictionConsistencyReliability,
    consistency_and_reliability,
)

BOX = [0, 0, 4, 4]
RIGHT = [1, 0, 5, 4]
LEFT = [-1, 0, 3, 4]
ELSEWHERE = [20, 0, 24, 4]
NEAR_ELSEWHERE = [21, 0, 25, 4]


def candidates(boxes, scores, kept, labels=None):
    labels = np.zeros(len(scores)) if labels is None else labels
    return Candidates(np.array(boxes).reshape(-1, 4), scores, labels, kept)


def of_one(candidates):
    (values,) = consistency_and_reliability([candidates])
    return values


def test_consistency_with_one_suppressed_candidate():
    # IoU 12/20; centres 1 apart; half the diagonal is sqrt(8); the weight at s = .5 is 1/2
    value, _ = of_one(candidates([BOX, RIGHT], [0.5, 0.4], [True, False]))
    assert value == pytest.approx((0.6 + 1 - 1 / math.sqrt(8)) / 2 / 2)


def test_the_box_around_all_suppressed_candidates_counts():
    # the box around them is [-1, 0, 5, 4]: IoU 16/24, same centre
    value, _ = of_one(candidates([BOX, RIGHT, LEFT], [0.5, 0.4, 0.3], [True, False, False]))
    assert value == pytest.approx((16 / 24 + 1) / 2 / 2)


def test_a_kept_box_that_suppressed_nothing_counts_as_zero():
    # the weight of s = .4 is 1 / (1 + e^-6)
    value, _ = of_one(candidates([BOX, BOX, ELSEWHERE], [0.4, 0.3, 0.4], [True, False, True]))
    assert value == pytest.approx(1 / (1 + math.exp(-6)) / 2)


def test_reliability_is_the_share_of_candidates_of_confident_boxes():
    boxes = [BOX, RIGHT, LEFT, ELSEWHERE, NEAR_ELSEWHERE]
    scores = [0.9, 0.5, 0.6, 0.45, 0.4]
    _, value = of_one(candidates(boxes, scores, [True, False, False, True, 0]))
    half, over, under = (0.2 + 0.8 / (1 + math.exp(-10 * (s - 0.5))) for s in (0.5, 0.6, 0.4))
    assert half == pytest.approx(0.6)
    assert value == pytest.approx((half + over) / (half + over + under))


def test_candidates_of_another_category_are_not_its_own():
    mixed = candidates([BOX, BOX, RIGHT], [0.9, 0.8, 0.7], [True, True, False], labels=[0, 1, 1])
    # the one suppressed candidate belongs to the box of category 1 alone
    consistency, reliability = of_one(mixed)
    weight = 1 / (1 + math.exp(60 * (0.8 - 0.5)))
    assert consistency == pytest.approx((0.6 + 1 - 1 / math.sqrt(8)) / 2 * weight / 2)
    assert reliability == pytest.approx(1)


def test_images_without_a_value_are_left_out_of_the_mean():
    images = [
        evidence(0, found(), candidates=candidates([], [], [])),
        evidence(1, found(), candidates=candidates([ELSEWHERE], [0.9], [True])),
        evidence(2, found(), candidates=candidates([BOX, BOX], [0.9, 0.9], [True, False])),
        # under the score threshold
        evidence(3, found(), candidates=candidates([BOX, BOX], [0.04, 0.03], [True, False])),
    ]
    features = computed(PredictionConsistencyReliability(), *images)
    assert features["pcr_reliability"] == pytest.approx(1)
    assert features["pcr_consistency"] == pytest.approx((0 + 1 / (1 + math.exp(24))) / 2)


def test_images_at_once_have_the_values_that_each_has_alone():
    """Among them one without a candidate, one without a kept one, one without a suppressed one."""
    rng = np.random.default_rng(0)
    corners = rng.integers(0, 12, (60, 2)).astype(np.float32)
    boxes = np.hstack([corners, corners + rng.integers(3, 9, (60, 2))]).astype(np.float32)
    scores = rng.uniform(0.1, 1, 60).astype(np.float32)
    several = candidates(boxes, scores, rng.random(60) < 0.4, rng.integers(0, 2, 60))
    images = [
        several,
        candidates([], [], []),
        candidates([BOX, RIGHT], [0.5, 0.4], [False, False]),
        several[:40],
        candidates([ELSEWHERE], [0.9], [True]),
        several[::-1],
    ]
    together = consistency_and_reliability(images)
    np.testing.assert_array_equal(together, [of_one(image) for image in images])
    np.testing.assert_array_equal(np.isnan(together).any(axis=1), [0, 1, 1, 0, 1, 0])
    assert 0 < together[0, 0] < 1 and together[0] == pytest.approx(together[5], rel=1e-12)


def test_evidence_without_candidates_is_refused_with_the_reason():
    missing = {"candidates": "DETRHead makes no use of NMS"}
    with pytest.raises(InputError, match="DETRHead makes no use of NMS"):
        PredictionConsistencyReliability().update(evidence(0, found(), missing=missing))
