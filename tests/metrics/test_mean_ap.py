"""COCO's mean average precision by hand; `test_against_pycocotools` has it on random boxes."""

import math

import numpy as np
import pytest

from autoeval.detections import Detections
from autoeval.metrics.mean_ap import MeanAP

NO = np.zeros(0, bool)


def found(boxes, scores, labels=None):
    boxes = np.asarray(boxes, float).reshape(-1, 4)
    return Detections(boxes, np.asarray(scores), np.zeros(len(boxes)) if labels is None else labels)


def evaluate(images, categories=("car",)):
    metric = MeanAP(categories)
    for detections, boxes, labels, iscrowd in images:
        metric.update(detections, np.asarray(boxes, float).reshape(-1, 4), labels, iscrowd)
    return metric.compute()


BOX, OTHER = [0, 0, 10, 10], [50, 50, 60, 60]


@pytest.mark.parametrize(
    ("images", "expected"),
    [
        # one of two objects found, no false alarm: precision 1 up to recall .5, 51 of 101 points
        ([(found([BOX], [0.9]), [BOX, OTHER], [0, 0], [0, 0])], 51 / 101),
        # a false alarm above the hit: precision 1/2 everywhere
        ([(found([OTHER, BOX], [0.9, 0.5]), [BOX], [0], [0])], 1 / 2),
        # IoU 8/10 passes the seven thresholds from .50 to .80
        ([(found([[0, 0, 10, 8]], [0.9]), [BOX], [0], [0])], 7 / 10),
        # objects, but no detection at all
        ([(found([], []), [BOX], [0], [0])], 0),
        # a detection inside a crowd region is ignored, the object beside it is found
        ([(found([BOX, OTHER], [0.5, 0.9]), [BOX, OTHER], [0, 0], [0, 1])], 1),
    ],
)
def test_worked_by_hand(images, expected):
    assert evaluate(images)["mAP"] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("images", [[], [(found([BOX], [0.9]), [], [], NO)]])
def test_no_true_box_gives_nan(images):
    assert all(math.isnan(value) for value in evaluate(images).values())


def random_scenes(seed):
    rng = np.random.default_rng(seed)
    images = []
    for _ in range(12):
        n = rng.integers(0, 6)
        xy = rng.uniform(0, 80, (n, 2))
        boxes = np.concatenate([xy, xy + rng.uniform(4, 40, (n, 2))], 1)
        labels = rng.integers(0, 3, n)
        shaken = boxes + rng.normal(0, 2, boxes.shape)
        noise = rng.uniform(0, 50, (2, 4)).cumsum(1)
        detections = Detections(
            np.concatenate([shaken, noise]),
            rng.choice([0.2, 0.5, 0.9], n + 2),  # ties on purpose
            np.concatenate([labels, [0, 1]]),
        )
        images.append((detections, boxes, labels, rng.random(n) < 0.1))
    return images


def test_categories_are_reported_one_by_one():
    images = [(found([BOX, OTHER], [0.9, 0.8], [0, 1]), [BOX, [0, 0, 5, 5]], [0, 1], [0, 0])]
    values = evaluate(images, ("car", "bus", "tram"))
    assert values["mAP/car"] == pytest.approx(1) and values["mAP/bus"] == 0
    assert math.isnan(values["mAP/tram"]) and values["mAP"] == pytest.approx(0.5)


@pytest.mark.parametrize("cut", [0, 1, 7, 12])
def test_merged_parts_equal_the_whole_to_the_last_bit(cut):
    images, categories = random_scenes(0), ("car", "bus", "truck")
    first, second = MeanAP(categories), MeanAP(categories)
    for metric, part in ((first, images[:cut]), (second, images[cut:])):
        for detections, boxes, labels, iscrowd in part:
            metric.update(detections, boxes, labels, iscrowd)
    first.merge(second)
    assert first.compute() == evaluate(images, categories)
    assert first.n_boxes == sum(len(labels) for _, _, labels, _ in images)
