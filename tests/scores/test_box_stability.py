import math

import pytest
from made import evidence, found

from autoeval.scores.box_stability import BoxStability, StrictBoxStability, box_stability
from autoeval.scores.box_stability_settings import BoxStabilitySettings
from autoeval.scores.confidence_scores import BoxCount, DetectionRatio

UNIT, SHIFTED, FAR = [0, 0, 2, 2], [1, 0, 3, 2], [10, 0, 12, 2]
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
