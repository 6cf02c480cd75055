import math

import numpy as np
import pytest
from made import computed, evidence, found, random_detections, shaken

from autoeval.accuracy.coco_evaluation import MeanAP
from autoeval.stability.scores.agreement import HardReferenceAP, StabilityAP

FEATURES = ["stability_ap@0.20", "stability_ap@0.30", "stability_ap@0.40", "stability_ap@0.50"]
A = [0, 0, 10, 10]
B = [20, 0, 30, 10]
FAR = [50, 50, 60, 60]


def test_the_same_boxes_agree_wholly_and_others_not_at_all():
    clean = found(A, B, scores=[0.9, 0.6])
    assert computed(StabilityAP(), evidence(0, clean, clean)) == dict.fromkeys(FEATURES, 1.0)
    assert computed(StabilityAP(), evidence(0, clean, found(FAR))) == dict.fromkeys(FEATURES, 0.0)
    assert computed(StabilityAP(), evidence(0, clean, found())) == dict.fromkeys(FEATURES, 0.0)


def test_a_case_worked_out_by_hand():
    """Two sure boxes; the other pass finds one exactly, one with IoU .7, and a ghost between."""
    clean = found(A, B, scores=[0.9, 0.35])
    low = [20, 0, 30, 7]
    again = evidence(0, clean, found(A, FAR, low, scores=[0.8, 0.7, 0.6]))
    # Up to IoU .7 precision is 1 at the first half of recall and 2/3 at the second, above it 1, 0.
    both = (5 * (0.5 + 0.5 * 2 / 3) + 5 * 0.5) / 10
    alone = 1.0  # where B does not stand for the truth, the best box is right
    assert computed(StabilityAP(), again) == pytest.approx(
        dict(zip(FEATURES, [both, both, alone, alone], strict=True))
    )


def test_categories_are_matched_and_averaged_apart():
    clean = found(A, B, B, labels=[0, 1, 1])
    swapped = found(A, B, scores=[0.9, 0.8], labels=[0, 0])
    values = computed(StabilityAP(), evidence(0, clean, swapped))
    # Category 0: its box comes first, so the second costs nothing. Category 1: nothing found.
    assert values["stability_ap@0.50"] == pytest.approx(0.5)


def test_it_is_close_to_the_average_precision_of_an_independent_evaluation():
    """COCO's reads precision at 101 recalls, here the whole area counts: equal to about .01."""
    rng = np.random.default_rng(0)
    score, reference = StabilityAP(), MeanAP(("a", "b"))
    for k in range(60):
        clean = random_detections(rng, 8)
        again = shaken(rng, clean)
        score.update(evidence(k, clean, again))
        sure = clean.above(0.3)
        boxes = sure.boxes.astype(float)
        reference.update(again, boxes, sure.labels, np.zeros(len(sure), bool))
    expected = reference.compute()["mAP"]
    assert 0.1 < expected < 0.9
    assert score.compute()["stability_ap@0.30"] == pytest.approx(expected, abs=0.01)


def test_nothing_confident_gives_no_agreement():
    values = computed(StabilityAP(), evidence(0, found(A, scores=[0.25]), found(A)))
    assert values["stability_ap@0.20"] == 1.0
    assert all(math.isnan(values[name]) for name in FEATURES[1:])
    assert all(math.isnan(value) for value in StabilityAP().compute().values())


def test_with_a_reference_for_truth_it_is_the_accuracy_by_its_boxes():
    """As COCO's evaluation has it when the reference's confident boxes are labels, to about .01."""
    rng = np.random.default_rng(5)
    score, metrics = HardReferenceAP(), {t: MeanAP(["a", "b"]) for t in (0.2, 0.3, 0.4, 0.5)}
    for k in range(60):
        clean, reference = random_detections(rng), random_detections(rng, 5)
        reference = shaken(rng, clean) if k % 2 else reference
        score.update(evidence(k, clean, reference=reference))
        for least, metric in metrics.items():
            sure = reference.above(least)
            metric.update(clean, sure.boxes, sure.labels, np.zeros(len(sure), bool))
    for least, metric in metrics.items():
        expected = metric.compute()["mAP"]
        assert 0.05 < expected < 0.9
        assert score.compute()[f"hard_reference_ap@{least:.2f}"] == pytest.approx(
            expected, abs=0.01
        )


def test_a_pass_without_a_reference_has_no_agreement_with_one():
    assert "without reference" in HardReferenceAP().absence(evidence(0, found(A)))


def test_how_many_images_are_matched_together_changes_no_bit():
    """150 images are matched in three parts as they come, and one by one where they are merged."""
    rng = np.random.default_rng(3)
    whole, merged = StabilityAP(), StabilityAP()
    for k in range(150):
        clean = random_detections(rng, k % 9)
        image = evidence(k, clean, shaken(rng, clean)[1:])
        alone = StabilityAP()
        for score in (whole, alone):
            score.update(image)
        merged.merge(alone)
    assert 0.1 < whole.compute()["stability_ap@0.30"] < 0.9
    assert whole.compute() == merged.compute()
    counts = rng.integers(0, 3, (4, 150))
    for name, values in whole.resample(counts).items():
        np.testing.assert_array_equal(values, merged.resample(counts)[name])
