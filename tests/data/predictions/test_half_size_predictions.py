"""A second file, of a pass at half the size: refused where it cannot be one."""

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from autoeval.data.coco import read_coco
from autoeval.data.labels.content import LabelledImage
from autoeval.data.predictions import Predictions, read_predictions
from autoeval.data.predictions.prediction_checks import check_half_size, within_images
from autoeval.errors import InputError
from autoeval.estimation.site_boxes import PredictionFiles

PATH = Path("half.json")
N = 30


def found(scale=1.0, shake=0.0, score=0.9, seed=0):
    """One box in each of 30 images."""
    rng = np.random.default_rng(seed)
    images = tuple(LabelledImage(str(k), f"{k}.jpg", (200, 300)) for k in range(N))
    corner = np.random.default_rng(0).uniform(40, 100, (N, 2))
    boxes = scale * np.concatenate([corner, corner + 50], axis=1) + shake * rng.normal(size=(N, 4))
    scores = np.full(N, score, np.float32)
    none = np.zeros(N, int)
    return Predictions(images, ("car",), np.arange(N), none, boxes.astype("f4"), scores, {})


def test_boxes_near_those_at_full_size_are_right():
    check_half_size(found(), found(shake=2, score=0.7), PATH)
    check_half_size(found(), found(score=0.7), PATH)  # two decimals may make boxes equal
    check_half_size(found(), found(score=0.2), PATH)  # none that is confident
    few = np.arange(9)
    check_half_size(found(), found().where(few), PATH)


def test_the_same_file_twice():
    with pytest.raises(InputError, match=r"half\.json: 30 of 30 boxes over 0\.3 are exactly those"):
        check_half_size(found(), found(), PATH)


def test_boxes_that_are_still_half_as_large():
    with pytest.raises(InputError, match=r"30 of 30 boxes .* multiplied by two, and 0 as they are"):
        check_half_size(found(), found(scale=0.5, shake=1, score=0.7), PATH)


def test_boxes_of_the_canvas_are_taken_back_to_the_image():
    boxes = np.float32([[250, 50, 330, 90], [290, 50, 330, 90], [10, 150, 20, 260]])
    images = (*found().images[:1], LabelledImage("x", "x.jpg", None))
    # centres at 290 of 300 and 310 of 300 across, 205 of 200 down; the second image has no size
    for image, expected in ((0, [[250, 50, 300, 90]]), (1, boxes)):
        columns = np.full(3, image), np.zeros(3, int), boxes, np.ones(3, "f4")
        within = within_images(Predictions(images, ("car",), *columns, {}))
        np.testing.assert_array_equal(within.boxes, expected)


def test_a_sound_second_pass_gives_no_note(tmp_path):
    """Boxes of the grey part of the canvas reach beyond the image, as they do at full size."""
    row = {"category_id": 1, "bbox": [60, 60, 50, 50], "score": 0.9}
    rows = [{"image_id": k, **row} for k in range(9)]
    beyond = [{**row, "bbox": [320, 60, 50, 50], "score": 0.4} for row in rows]
    (tmp_path / "clean.json").write_text(json.dumps(rows))
    half = [{**row, "bbox": [61, 60, 50, 50], "score": 0.8} for row in rows]
    (tmp_path / "half.json").write_text(json.dumps([*half, *beyond]))
    files = PredictionFiles(tmp_path / "clean.json", tmp_path / "half.json")
    read = files.read(found().images, where="val.json", numbers={"1": "car"})
    assert read.half_size.problems == () and len(read.half_size) == 9
    plain = read_predictions(tmp_path / "half.json", images=found().images, numbers={"1": "car"})
    assert "beyond their images: 9" in plain.problems[0]


def test_a_real_second_pass(shared):
    """YOLOX-nano on photographs: sound as observed, refused where halved or repeated."""
    from autoeval.detectors import load_detector
    from autoeval.estimation.site_boxes import SiteBoxes

    folder = shared / "real/all/coco_mini"
    detector = load_detector("yolox_nano", checkpoint=shared / "weights/yolox_nano_coco.pth")
    names = [image.file_name for image in read_coco(folder / "annotations.json").images[:24]]
    images = [cv2.imread(str(folder / "images" / name)) for name in names]
    seen = detector.observe(images, names, wants=("half_size",))
    boxes = SiteBoxes.of_evidence(seen, detector.categories)
    check_half_size(boxes.clean, boxes.half_size, PATH)
    halved = boxes.half_size
    halved.boxes[:] /= 2
    with pytest.raises(InputError, match="multiplied by two"):
        check_half_size(boxes.clean, halved, PATH)
    with pytest.raises(InputError, match="are exactly those"):
        check_half_size(boxes.clean, boxes.clean, PATH)
