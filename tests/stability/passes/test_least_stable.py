"""Which images are kept."""

import numpy as np
import pytest

from autoeval.detections import Detections, Evidence
from autoeval.stability.methods.scored_pass import LeastStableImages


def boxes(*xyxy, score=0.9):
    n = len(xyxy)
    return Detections(np.reshape(xyxy, (n, 4)), np.full(n, score), np.zeros(n))


STILL = boxes([0, 0, 10, 10])
# Both within the hull (0, 0, 10, 10), which the larger fills: GIoU = IoU = .5 and .2.
HALF = boxes([0, 0, 10, 5])
FIFTH = boxes([0, 0, 10, 2])


def evidence(name, clean, *perturbed):
    return Evidence(name, (20, 20), clean, perturbed)


SEEN = [
    evidence("still", STILL, STILL, STILL),
    evidence("wandering", STILL, HALF, FIFTH),  # (.5 + .2) / 2
    evidence("lost", STILL, STILL, Detections.empty()),  # (1 + 0) / 2
    evidence("doubled", STILL, boxes([0, 0, 10, 10], [0, 0, 10, 10]), STILL),  # (1/2 + 1) / 2
    evidence("nothing", Detections.empty(), Detections.empty(), Detections.empty()),
    evidence("faint", boxes([0, 0, 9, 9], score=0.04), Detections.empty(), Detections.empty()),
]


def kept(images, n_images=3):
    accumulator = LeastStableImages(n_images)
    for image in images:
        accumulator.update(image)
    return accumulator


def order(accumulator):
    return [image.image_id for image in accumulator.images]


def test_the_least_stable_come_first_and_images_without_boxes_never():
    accumulator = kept(SEEN, n_images=9)
    assert order(accumulator) == ["wandering", "lost", "doubled", "still"]
    stability = [image.stability for image in accumulator.images]
    assert stability == pytest.approx([0.35, 0.5, 0.75, 1.0])


def test_no_more_than_asked_for_are_kept_whatever_the_order():
    assert order(kept(SEEN)) == order(kept(SEEN[::-1])) == ["wandering", "lost", "doubled"]


def test_boxes_under_the_threshold_are_not_kept():
    faint = boxes([0, 0, 10, 10], [0, 0, 4, 4])
    faint = Detections(faint.boxes, [0.9, 0.05], faint.labels)
    (image,) = kept([evidence("a", faint, HALF)]).images
    assert len(image.clean) == 1 and image.stability == pytest.approx(0.5)


def test_a_pass_without_repeats_keeps_nothing():
    assert kept([evidence("a", STILL)]).images == []
