"""Images of which no label file is there: boxes on them are of no image that was not found."""

import json

import cv2
import numpy as np
import pytest

import autoeval
from autoeval.estimation.given import Predictions
from autoeval.estimation.labelled_sets import labels_with_files

N_IMAGES, UNLABELLED, EMPTY = 40, range(5), range(30, 36)
SIDE = 100
XYWH = [10.0, 20.0, 30.0, 40.0]


@pytest.fixture
def folder(tmp_path):
    """A YOLO data set with a car in each image, which the detector misses in some."""
    for part in ("images/val", "labels/val"):
        (tmp_path / part).mkdir(parents=True)
    x, y, w, h = XYWH
    line = f"0 {(x + w / 2) / SIDE} {(y + h / 2) / SIDE} {w / SIDE} {h / SIDE}\n"
    for k in range(N_IMAGES):
        cv2.imwrite(
            str(tmp_path / f"images/val/{k:04d}.png"), np.full((SIDE, SIDE, 3), k, np.uint8)
        )
        if k not in UNLABELLED:
            (tmp_path / f"labels/val/{k:04d}.txt").write_text(line)
    (tmp_path / "data.yaml").write_text("path: .\nval: images/val\nnames: [car]\n")
    return tmp_path


def boxes(images):
    return [
        {"file_name": f"{k:04d}.png", "category": "car", "bbox": XYWH, "score": 0.3 + 0.01 * k}
        for k in images
        if k not in EMPTY
    ]


@pytest.mark.parametrize("form", ["json", "text"])
def test_missed_objects_stay_where_images_without_labels_have_boxes(folder, form):
    """Five such images made six listed ones without a box those that could not be found."""
    path = folder / "boxes.json"
    path.write_text(json.dumps(boxes(range(N_IMAGES))))
    if form == "text":
        path = folder / "boxes"
        path.mkdir()
        for row in boxes(range(N_IMAGES)):
            x, y, w, h = XYWH
            line = f"car {row['score']} {x} {y} {x + w} {y + h}\n"
            (path / f"{row['file_name'][:4]}.txt").write_text(line)
    columns = ["class", "score", "left", "top", "right", "bottom"] if form == "text" else ()
    site = labels_with_files(folder / "data.yaml", Predictions(path, columns=columns))
    n_labelled = N_IMAGES - len(UNLABELLED)
    assert len(site) == len(site.truth) == n_labelled
    assert len(site.boxes) == n_labelled - len(EMPTY)
    codes = [notice.code for notice in site.left_out]
    assert "images-without-labels" in codes and "images-not-placed" not in codes


def test_a_reference_may_have_boxes_there_too(folder):
    for name, images in (("boxes", range(5, N_IMAGES)), ("reference", range(N_IMAGES))):
        (folder / f"{name}.json").write_text(json.dumps(boxes(images)))
    files = Predictions(folder / "boxes.json", reference=folder / "reference.json")
    site = labels_with_files(folder / "data.yaml", files)
    assert len(site) == N_IMAGES - len(UNLABELLED)


def test_other_images_are_still_not_placed(folder):
    rows = [*boxes(range(N_IMAGES)), {**boxes([0])[0], "file_name": "elsewhere.png"}]
    site = labels_with_files(folder / "data.yaml", Predictions(rows))
    (text,) = (notice for notice in site.left_out if notice.code == "images-not-placed")
    assert "elsewhere" in text and "0000" not in text


def test_images_without_labels_are_noted_once_where_a_detector_is_run(folder):
    def find(images):
        x, y, w, h = XYWH
        scores = [[0.3 + 0.01 * int(image[0, 0, 0])] for image in images]
        return [[[x, y, x + w, y + h]]] * len(images), scores, [["car"]] * len(images)

    fitted = autoeval.fit(folder / "data.yaml", autoeval.BlackBoxDetector(find, ["car"]))
    codes = [notice.code for notice in fitted.fit_result_.warnings]
    assert codes.count("images-without-labels") == 1
