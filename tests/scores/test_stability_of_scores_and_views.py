import math

import pytest
from made import computed, evidence, found

from autoeval.scores.box_stability import (
    ConfidenceStability,
    CumulativeConsensus,
    ViewConsistency,
    confidence_stability,
)
from autoeval.scores.box_stability_settings import BoxStabilitySettings

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


def test_consensus_is_the_mean_best_overlap_over_every_two_views():
    """Boxes that overlap by 3/5, by less than a half and not at all; a category that differs."""
    wide, near = [0, 0, 4, 2], [1, 0, 5, 2]  # IoU 3/5; with UNIT 1/2 and 1/5
    images = [
        # clean and first view: 2 x 3/5 of 2 + 1 boxes; clean and second, first and second: 0
        evidence(0, found(wide, FAR), views=(found(near), found())),
        # two views, the same boxes but one: 4 of 5 boxes overlap fully
        evidence(1, found(wide, FAR), views=(found(wide, FAR, UNIT),)),
        evidence(2, found(), views=(found(),)),  # nothing to compare
    ]
    first = (2 * 0.6 / 3 + 0 + 0) / 3
    second = (2 + 2 + 0.5) / 5  # UNIT overlaps with wide by one half
    assert computed(CumulativeConsensus(), *images)["ccs"] == pytest.approx((first + second) / 2)
    other = evidence(0, found(wide), views=(found(wide, labels=[1]),))
    assert computed(CumulativeConsensus(), other)["ccs"] == 0
    low = evidence(0, found(wide), views=(found(wide, FAR, scores=[0.9, 0.01]),))
    assert computed(CumulativeConsensus(), low)["ccs"] == 1


def test_no_pass_gives_nan():
    assert math.isnan(computed(ConfidenceStability())["confidence_stability"])
    assert math.isnan(computed(ViewConsistency(), evidence(0, found(UNIT)))["view_consistency"])
