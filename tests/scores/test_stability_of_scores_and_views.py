import math

import pytest
from made import computed, evidence, found

from autoeval.scores.box_stability_settings import BoxStabilitySettings
from autoeval.scores.confidence_stability import ConfidenceStability, confidence_stability
from autoeval.scores.view_consistency import ViewConsistency

UNIT, SHIFTED, FAR = [0, 0, 2, 2], [1, 0, 3, 2], [10, 0, 12, 2]


def test_confidence_stability_matches_by_box_not_by_score():
    clean = found(UNIT, FAR, scores=[0.9, 0.5])
    perturbed = found(FAR, SHIFTED, scores=[0.9, 0.6])
    # FAR: .5 to .9; UNIT and SHIFTED: .9 to .6
    assert confidence_stability(clean, perturbed) == pytest.approx(1 - (0.4 + 0.3) / 2)


@pytest.mark.parametrize(("empty", "expected"), [("skip", 1 - 0.2), ("zero", (1 - 0.2) / 2)])
def test_confidence_stability_of_a_set(empty, expected):
    images = [
        evidence(0, found(UNIT, scores=[0.8]), found(UNIT, scores=[0.6])),
        evidence(1, found(UNIT), found()),
    ]
    score = ConfidenceStability(BoxStabilitySettings(empty=empty))
    assert computed(score, *images)["confidence_stability"] == pytest.approx(expected)


def test_view_consistency_is_the_mean_iou_over_views():
    # IoU 1/3 and 1 for the first image, 0 for the second, whose boxes lie apart
    images = [
        evidence(0, found(UNIT), views=(found(SHIFTED), found(UNIT))),
        evidence(1, found(UNIT), views=(found(FAR),)),
        evidence(2, found(), views=(found(UNIT),)),
    ]
    score = ViewConsistency(BoxStabilitySettings(cost="giou"))
    assert computed(score, *images)["view_consistency"] == pytest.approx((1 / 3 + 1 + 0) / 3)


def test_no_pass_gives_nan():
    assert math.isnan(computed(ConfidenceStability())["confidence_stability"])
    assert math.isnan(computed(ViewConsistency(), evidence(0, found(UNIT)))["view_consistency"])
