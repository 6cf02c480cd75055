"""Every category on the images that hold it."""

import numpy as np
import pytest

from autoeval.detections import Detections, Evidence
from autoeval.estimation.observation.category_tally import CategoryTally

BOX = np.array([[0.0, 0, 20, 20]])


def image(name, found, scores, true, crowd=()):
    """An image with a box of each found and each true label, all in the same spot."""
    boxes = Detections(np.repeat(BOX, len(found), 0), np.array(scores), np.array(found))
    evidence = Evidence(name, (40, 40), boxes)
    n = len(true) + len(crowd)
    labels = np.array([*true, *crowd], int)
    return evidence, np.repeat(BOX, n, 0), labels, np.arange(n) >= len(true)


IMAGES = [
    image("a", [0, 1], [0.9, 0.6], [0]),
    image("b", [0], [0.5], [0, 1]),
    image("c", [1], [0.4], [], crowd=[0]),
]


def rows_of(images, **least):
    tally = CategoryTally(["car", "van"], ["ac", "confident_images"])
    for each in images:
        tally.update(*each)
    return tally.rows(**least)


def test_scores_and_accuracy_over_the_images_that_hold_it():
    (car, van), rare = rows_of(IMAGES, min_images=1, min_boxes=1)
    # cars: images a and b; the crowd of c does not make it one. Vans: b, where none is found.
    assert (car["n_images"], car["n_boxes"], car["mAP"]) == (2, 2, pytest.approx(1.0))
    assert car["ac"] == pytest.approx(0.7)
    assert (van["n_images"], van["n_boxes"], van["mAP"]) == (1, 1, 0.0)
    assert van["confident_images@0.20"] == 0.0 and np.isnan(van["ac"])
    assert rare == []


def test_categories_with_a_handful_of_boxes_are_named_and_left_out():
    rows, rare = rows_of(IMAGES, min_images=2, min_boxes=1)
    assert [row["category"] for row in rows] == ["car"] and rare == ["van"]


def test_parts_add_up():
    whole, *_ = rows_of(IMAGES, min_images=1, min_boxes=1)
    tally, rest = (CategoryTally(["car", "van"], ["ac", "confident_images"]) for _ in range(2))
    tally.update(*IMAGES[0])
    for each in IMAGES[1:]:
        rest.update(*each)
    tally.merge(rest)
    for merged, row in zip(tally.rows(min_images=1, min_boxes=1)[0], whole, strict=True):
        assert merged == pytest.approx(row, nan_ok=True)
