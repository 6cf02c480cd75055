import math

import pytest
from made import computed, evidence, found

from autoeval.stability.scores.base import THRESHOLDS
from autoeval.stability.scores.box_stability import (
    BoxStability,
    BoxStabilitySettings,
    ConfidenceStability,
    CountStability,
    CumulativeConsensus,
    StrictBoxStability,
    ViewConsistency,
    box_stability,
    confidence_stability,
)
from autoeval.stability.scores.confidence_scores import BoxCount, DetectionRatio

UNIT = [0, 0, 2, 2]
SHIFTED = [1, 0, 3, 2]
FAR = [10, 0, 12, 2]
NOTHING = found()


@pytest.mark.parametrize(
    ("clean", "perturbed", "options", "expected"),
    [
        # one pair, IoU 1/3; the enclosing box is the union, so GIoU is the same
        ((UNIT,), (SHIFTED,), {}, 1 / 3),
        # GIoU of two boxes far apart: 0 - (24 - 8) / 24
        ((UNIT,), (FAR,), {}, -2 / 3),
        ((UNIT,), (FAR,), {"cost": "iou"}, 0),
        # the lost box costs nothing under `min`, and half under `max`
        ((UNIT, FAR), (UNIT,), {}, 1),
        ((UNIT, FAR), (UNIT,), {"normalise": "max"}, 1 / 2),
        # two pairs: 1/3 and 1
        ((UNIT, FAR), (FAR, SHIFTED), {}, 2 / 3),
    ],
)
def test_worked_by_hand(clean, perturbed, options, expected):
    value = box_stability(found(*clean), found(*perturbed), BoxStabilitySettings(**options))
    assert value == pytest.approx(expected)


@pytest.mark.parametrize("sides", [(found(UNIT), NOTHING), (NOTHING, found(UNIT))])
def test_an_empty_side_counts_as_zero_or_is_skipped(sides):
    assert box_stability(*sides) == 0
    assert math.isnan(box_stability(*sides, BoxStabilitySettings(empty="skip")))


def test_low_scores_are_left_out():
    clean = found(UNIT, FAR, scores=[0.9, 0.05])
    assert box_stability(clean, found(UNIT), BoxStabilitySettings(normalise="max")) == 1


def test_class_aware_matching_stays_within_a_category():
    clean = found(UNIT, FAR, labels=[0, 1])
    swapped = found(UNIT, FAR, labels=[1, 0])
    aware = BoxStabilitySettings(class_aware=True)
    assert box_stability(clean, swapped) == 1
    # both pairs join UNIT with FAR: GIoU -2/3
    assert box_stability(clean, swapped, aware) == pytest.approx(-2 / 3)
    # no category in common, so nothing is matched
    assert box_stability(found(UNIT), found(UNIT, labels=[3]), aware) == 0


IMAGES = [
    evidence(0, found(UNIT), found(SHIFTED)),
    evidence(1, found(UNIT, FAR), found(UNIT)),
    evidence(2, NOTHING, NOTHING),
    evidence(3, found(FAR), NOTHING),
]


def test_set_level_features_worked_by_hand():
    score, skipping, strict, ratio, count = (
        BoxStability(),
        BoxStability(BoxStabilitySettings(empty="skip")),
        StrictBoxStability(),
        DetectionRatio(),
        BoxCount(),
    )
    for image in IMAGES:
        for instance in (score, skipping, strict, ratio, count):
            instance.update(image)
    # equation 4: the two images without a pair count among the four
    assert score.compute()["bos"] == pytest.approx((1 / 3 + 1 + 0 + 0) / 4)
    assert skipping.compute()["bos"] == pytest.approx((1 / 3 + 1) / 2)
    assert strict.compute()["bos_strict"] == pytest.approx((1 / 3 + 1 / 2 + 0 + 0) / 4)
    assert count.compute() == {"boxes_per_image": 1.0, "no_box_share": 0.25}
    assert ratio.compute() == {
        "skipped_share": 0.5,
        "detection_ratio": pytest.approx((1 + 1 / 2 + 0) / 3),
    }


@pytest.mark.parametrize("option", [{"cost": "l2"}, {"empty": "one"}, {"normalise": "mean"}])
def test_unknown_options_are_named(option):
    with pytest.raises(ValueError, match=next(iter(option.values()))):
        BoxStabilitySettings(**option)


def boxes(*scores):
    return found(*([UNIT] * len(scores)), scores=scores)


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
