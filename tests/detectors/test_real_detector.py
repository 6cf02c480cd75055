"""A detector with real weights on real photographs."""

import cv2
import numpy as np
import pytest
from branching import same

from autoeval.accuracy.coco_evaluation import MeanAP
from autoeval.detections import Detections
from autoeval.detectors import load_detector
from autoeval.io.coco import read_coco

VEHICLES = ("car", "bus", "truck")


@pytest.fixture(scope="module")
def detector(shared):
    return load_detector("yolox_nano", checkpoint=shared / "weights" / "yolox_nano_coco.pth")


def test_boxes_are_those_of_mmdet(detector, shared):
    from mmdet.apis import inference_detector

    detector.model.cfg = detector.config
    for path in sorted((shared / "real" / "vehicle").glob("*/images/*.jpg"))[::150][:3]:
        image = cv2.imread(str(path))
        (seen,) = detector.observe([image], [path.name])
        found = inference_detector(detector.model, image).pred_instances.numpy()
        assert same(seen.clean, Detections(found.bboxes, found.scores, found.labels))


def test_average_precision_is_that_of_a_detector(detector, shared):
    """AP50 of vehicles, as one category, on road-side photographs."""
    folder = shared / "real" / "vehicle" / "highway_id"
    labels = read_coco(folder / "annotations.json")
    images = labels.images[:25]
    ours = [detector.categories.index(name) for name in VEHICLES]
    metric = MeanAP(["vehicle"])
    for image in images:
        pixels = cv2.imread(str(folder / "images" / image.file_name))
        (seen,) = detector.observe([pixels], [image.file_name])
        found = seen.clean[np.isin(seen.clean.labels, ours)]
        found = Detections(found.boxes, found.scores, np.zeros(len(found), int))
        own = [box for box in labels.boxes if box.image_id == image.image_id]
        own = [box for box in own if box.category in (*VEHICLES, "vehicle")]
        xywh = np.array([box.xywh for box in own]).reshape(-1, 4)
        boxes = np.concatenate([xywh[:, :2], xywh[:, :2] + xywh[:, 2:]], axis=1)
        metric.update(found, boxes, np.zeros(len(own), int), [box.iscrowd for box in own])
    assert metric.compute()["mAP50"] > 0.6
