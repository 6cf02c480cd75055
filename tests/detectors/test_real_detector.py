"""A detector with real weights on real photographs."""

import json

import cv2
import numpy as np
import pytest

from autoeval.detectors import DropoutSpec, load_detector

VEHICLES = ("car", "bus", "truck")


@pytest.fixture(scope="module")
def detector(shared):
    return load_detector("yolox_nano", checkpoint=shared / "weights" / "yolox_nano_coco.pth")


def test_boxes_are_those_of_mmdet(detector, shared):
    from mmdet.apis import inference_detector

    detector.model.cfg = detector.config
    for path in sorted((shared / "real" / "vehicle").glob("*/images/*.jpg"))[::150][:3]:
        image = cv2.imread(str(path))
        (seen,) = detector.observe([image], [path.name], dropout=DropoutSpec(), repeats=1)
        found = inference_detector(detector.model, image).pred_instances
        assert np.array_equal(seen.clean.boxes, found.bboxes.numpy())
        assert np.array_equal(seen.clean.scores, found.scores.numpy())
        assert np.array_equal(seen.clean.labels, found.labels.numpy())


def test_average_precision_is_that_of_a_detector(detector, shared):
    """AP50 of vehicles by pycocotools, as one category, on road-side photographs."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    folder = shared / "real" / "vehicle" / "highway_id"
    truth = json.loads((folder / "annotations.json").read_text())
    wanted = {c["id"] for c in truth["categories"] if c["name"] in (*VEHICLES, "vehicle")}
    images = truth["images"][:25]
    kept = {image["id"] for image in images}
    gold = COCO()
    gold.dataset = {
        "images": images,
        "categories": [{"id": 1, "name": "vehicle"}],
        "annotations": [
            {**a, "category_id": 1}
            for a in truth["annotations"]
            if a["category_id"] in wanted and a["image_id"] in kept
        ],
    }
    gold.createIndex()
    ours = {detector.categories.index(name) for name in VEHICLES}
    found = []
    for image in images:
        pixels = cv2.imread(str(folder / "images" / image["file_name"]))
        (seen,) = detector.observe([pixels], [image["file_name"]])
        for box, score, label in zip(
            seen.clean.boxes, seen.clean.scores, seen.clean.labels, strict=True
        ):
            if int(label) in ours:
                x1, y1, x2, y2 = map(float, box)
                found.append(
                    {
                        "image_id": image["id"],
                        "category_id": 1,
                        "bbox": [x1, y1, x2 - x1, y2 - y1],
                        "score": float(score),
                    }
                )
    evaluation = COCOeval(gold, gold.loadRes(found), "bbox")
    evaluation.evaluate()
    evaluation.accumulate()
    evaluation.summarize()
    assert evaluation.stats[1] > 0.6
