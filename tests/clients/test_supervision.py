"""supervision: its snippet of docs/how-to/predictions.md, and the data sets that it writes."""

import json

import cv2
import numpy as np
import pytest

from autoeval.io.labels.any_format import load_labels
from tests.doc_pages import snippet

pytestmark = pytest.mark.clients
sv = pytest.importorskip("supervision", reason="needs the extra 'clients'")

BOXES = {"a.jpg": [[1, 2, 31, 42], [50, 10, 90, 60]], "b.jpg": [[5, 5, 25, 45]]}  # xyxy


def test_the_snippet_gives_detections_that_annotators_draw(tmp_path, monkeypatch):
    common = {"image_id": 1, "file_name": "a.jpg", "estimated_mAP": 0.4}
    rows = [
        {**common, "category_id": 2, "category": "bus", "bbox": [1, 2, 30, 40], "score": 0.9},
        {**common, "category_id": 1, "category": "car", "bbox": [50, 10, 40, 50], "score": 0.5},
    ]
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "predictions.json").write_text(json.dumps(rows))
    monkeypatch.chdir(tmp_path)
    made = {}
    exec(snippet("docs/how-to/predictions.md", "supervision"), made)
    detections = made["detections"]
    np.testing.assert_allclose(detections.xyxy, BOXES["a.jpg"])
    assert detections.class_id.tolist() == [2, 1]
    black = np.zeros((100, 100, 3), np.uint8)
    boxes = sv.BoxAnnotator(thickness=1).annotate(black.copy(), detections)
    assert boxes[2, 15].any() and not boxes[20, 15].any()  # the upper edge, not the inside
    assert sv.LabelAnnotator().annotate(black.copy(), detections).any()


@pytest.fixture
def written(tmp_path):
    """One data set in each format that supervision writes."""
    for name in BOXES:
        cv2.imwrite(str(tmp_path / name), np.zeros((100, 100, 3), np.uint8))
    annotations = {
        str(tmp_path / name): sv.Detections(
            np.array(boxes, float), class_id=np.arange(len(boxes)) % 2
        )
        for name, boxes in BOXES.items()
    }
    data = sv.DetectionDataset(["car", "bus"], list(annotations), annotations)
    roots = {name: tmp_path / name for name in ("voc", "coco", "yolo")}
    data.as_pascal_voc(str(roots["voc"] / "images"), str(roots["voc"] / "ann"))
    data.as_coco(str(roots["coco"] / "images"), str(roots["coco"] / "ann.json"))
    root = roots["yolo"]
    data.as_yolo(str(root / "images"), str(root / "labels"), str(root / "data.yaml"))
    return roots


@pytest.mark.parametrize("name", ["voc", "coco", "yolo"])
def test_a_data_set_is_read_from_its_root(written, name):
    labels = load_labels(written[name])
    names = {image.image_id: image.file_name.rpartition("/")[2] for image in labels.images}
    assert sorted(names.values()) == ["a.jpg", "b.jpg"]
    assert sorted(labels.categories) == ["bus", "car"]
    read = [(names[box.image_id], box.category, *box.xywh) for box in labels.boxes]
    expected = [
        (file, ["car", "bus"][k % 2], x, y, x2 - x, y2 - y)
        for file, boxes in BOXES.items()
        for k, (x, y, x2, y2) in enumerate(boxes)
    ]
    for found, true in zip(sorted(read), sorted(expected), strict=True):
        assert found[:2] == true[:2]
        np.testing.assert_allclose(found[2:], true[2:], atol=1e-3)
