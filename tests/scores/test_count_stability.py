import math

import pytest
from made import computed, evidence, found

from autoeval.scores.base import THRESHOLDS
from autoeval.scores.box_stability import CountStability

BOX = [0, 0, 2, 2]


def boxes(*scores):
    return found(*([BOX] * len(scores)), scores=scores)


def test_counts_over_each_threshold_worked_by_hand():
    # over .30: 3 and 2 boxes, 1 and 2; over .60: 2 and 1, 0 and 2; over .90: none anywhere
    images = [
        evidence(0, boxes(0.8, 0.7, 0.4), boxes(0.7, 0.5)),
        evidence(1, boxes(0.5), boxes(0.8, 0.7)),
    ]
    features = computed(CountStability(), *images)
    assert features["count_stability@0.30"] == pytest.approx(1 - (1 / 3 + 1 / 2) / 2)
    assert features["count_stability_pooled@0.30"] == pytest.approx(1 - (1 + 1) / (3 + 2))
    assert features["count_stability@0.60"] == pytest.approx(1 - (1 / 2 + 2 / 2) / 2)
    assert features["count_stability_pooled@0.60"] == pytest.approx(1 - (1 + 2) / (2 + 2))
    assert features["count_stability@0.90"] == 1
    assert math.isnan(features["count_stability_pooled@0.90"])


def test_gaining_boxes_costs_as_much_as_losing_them():
    two, five = boxes(0.9, 0.9), boxes(*[0.9] * 5)
    lost, gained = (
        computed(CountStability(), evidence(0, *pair)) for pair in [(five, two), (two, five)]
    )
    assert lost == pytest.approx(gained, nan_ok=True)
    assert lost["count_stability@0.50"] == pytest.approx(2 / 5)


def test_repeats_are_averaged():
    features = computed(CountStability(), evidence(0, boxes(0.9, 0.9), boxes(0.9), boxes(0.9, 0.9)))
    assert features["count_stability@0.50"] == pytest.approx((1 / 2 + 1) / 2)
    assert features["count_stability_pooled@0.50"] == pytest.approx(3 / 4)


def test_identical_passes_are_wholly_stable():
    images = [evidence(k, boxes(*[0.97] * k), *[boxes(*[0.97] * k)] * 2) for k in range(4)]
    features = computed(CountStability(), *images)
    assert set(features.values()) == {1.0} and len(features) == 2 * len(THRESHOLDS)


def test_boxes_under_the_score_threshold_never_count():
    image = evidence(0, boxes(0.9, 0.2), boxes(0.9))
    assert computed(CountStability(), image)["count_stability@0.00"] == pytest.approx(1 / 2)
    assert computed(CountStability(score_thr=0.3), image)["count_stability@0.00"] == 1
