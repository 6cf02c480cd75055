"""What predictions should not look like: gaps, copies, a second pass that cannot be one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from autoeval.errors import InputError
from autoeval.estimation.given_boxes import Predictions
from autoeval.io.coco import read_coco
from autoeval.io.labels.content import LabelledImage
from autoeval.io.labels.truth import Truth
from autoeval.io.predictions import FoundBoxes, read_predictions
from autoeval.io.predictions.prediction_checks import (
    check_half_size,
    unseen_images,
    within_images,
)

N = 100


def found(n_boxes, floor=0.01):
    """Predictions with so many boxes in each of 100 images."""
    image = np.repeat(np.arange(N), n_boxes)
    images = tuple(LabelledImage(str(k), f"{k}.jpg", None) for k in range(N))
    scores = np.full(len(image), 0.5)
    scores[:1] = floor
    boxes = np.tile([0.0, 0, 9, 9], (len(image), 1))
    return FoundBoxes(images, ("car",), image, np.zeros(len(image), int), boxes, scores, {})


@pytest.mark.parametrize(
    ("empty", "single", "warned"),
    [
        (0, 0, False),
        (3, 0, False),  # 3 % is not over 3 %
        (4, 0, True),
        (25, 15, False),  # many with one box: a detector that hardly finds anything
        (25, 11, False),
        (25, 10, True),  # 25 - 20 are more than 3
        (50, 0, True),
    ],
)
def test_images_without_a_box(empty, single, warned):
    n_boxes = np.repeat([0, 1, 5], [empty, single, N - empty - single])
    unseen, warnings = unseen_images(found(n_boxes), np.arange(N), "p.json")
    assert len(warnings) == warned and unseen.tolist() == list(range(empty if warned else 0))
    assert not warned or warnings[0].startswith(f"{empty} of 100 images have no box in p.json")
    seen, warnings = unseen_images(found(n_boxes), np.arange(N), "p.json", complete=False)
    assert len(warnings) == warned and not len(seen)


def test_images_that_the_predictions_list_were_seen():
    boxes = replace(found(np.repeat([0, 5], [50, 50])), lists_images=True)
    unseen, warnings = unseen_images(boxes, np.arange(N), "p.json", refuse=True)
    assert not len(unseen) and warnings == ()


def test_only_images_that_should_have_been_seen_count():
    n_boxes = np.repeat([0, 5], [50, 50])
    assert unseen_images(found(n_boxes), np.arange(50, 100), "p.json")[1] == ()
    unseen, (warning,) = unseen_images(found(n_boxes), np.arange(40, 100), "p.json")
    assert warning.startswith("10 of 60 images") and len(unseen) == 50


def test_lists_that_begin_higher_say_nothing():
    n_boxes = np.repeat([0, 5], [50, 50])
    assert unseen_images(found(n_boxes, floor=0.06), np.arange(N), "p.json", refuse=True)[1] == ()
    with pytest.raises(InputError, match="50 of 100 images have no box"):
        unseen_images(found(n_boxes, floor=0.05), np.arange(N), "p.json", refuse=True)


def test_more_than_a_third_is_refused():
    third, more = (np.repeat([0, 5], [k, N - k]) for k in (33, 34))
    assert unseen_images(found(third), np.arange(N), "p.json", refuse=True)[1] != ()
    with pytest.raises(InputError, match=r"34 of 100 images.*complete=no"):
        unseen_images(found(more), np.arange(N), "p.json", refuse=True)


def test_no_real_set_is_warned_of_and_half_of_one_is_refused(shared):
    """All sets and detectors at hand: the detectors were run on every image."""
    paths = sorted((shared / "real_predictions").glob("*/*/*.json"))
    assert len(paths) >= 100
    for path in paths:
        task, seed = path.parent.name, path.stem
        labels = read_coco(shared / "real" / task / seed / "annotations.json")
        read = read_predictions(path, images=labels.images)
        images = np.unique(Truth.of(labels).image)
        assert unseen_images(read, images, path.name, refuse=True)[1] == (), path
    half = read.where(read.image < len(labels.images) // 2)
    with pytest.raises(InputError, match="have no box"):
        unseen_images(half, images, path.name, refuse=True)


PATH = Path("half.json")
M = 30


def at_scale(scale=1.0, shake=0.0, score=0.9, seed=0):
    """One box in each of 30 images."""
    rng = np.random.default_rng(seed)
    images = tuple(LabelledImage(str(k), f"{k}.jpg", (200, 300)) for k in range(M))
    corner = np.random.default_rng(0).uniform(40, 100, (M, 2))
    boxes = scale * np.concatenate([corner, corner + 50], axis=1) + shake * rng.normal(size=(M, 4))
    scores = np.full(M, score)
    none = np.zeros(M, int)
    return FoundBoxes(images, ("car",), np.arange(M), none, boxes.astype("f4"), scores, {})


def test_boxes_near_those_at_full_size_are_right():
    check_half_size(at_scale(), at_scale(shake=2, score=0.7), PATH)
    check_half_size(at_scale(), at_scale(score=0.7), PATH)  # two decimals may make boxes equal
    check_half_size(at_scale(), at_scale(score=0.2), PATH)  # none that is confident
    few = np.arange(9)
    check_half_size(at_scale(), at_scale().where(few), PATH)


def test_the_same_file_twice():
    with pytest.raises(InputError, match=r"half\.json: 30 of 30 boxes over 0\.3 are exactly those"):
        check_half_size(at_scale(), at_scale(), PATH)


def test_boxes_that_are_still_half_as_large():
    with pytest.raises(InputError, match=r"30 of 30 boxes .* multiplied by two, and 0 as they are"):
        check_half_size(at_scale(), at_scale(scale=0.5, shake=1, score=0.7), PATH)


def test_boxes_of_the_canvas_are_taken_back_to_the_image():
    boxes = np.float32([[250, 50, 330, 90], [290, 50, 330, 90], [10, 150, 20, 260]])
    images = (*at_scale().images[:1], LabelledImage("x", "x.jpg", None))
    # centres at 290 of 300 and 310 of 300 across, 205 of 200 down; the second image has no size
    for image, expected in ((0, [[250, 50, 300, 90]]), (1, boxes)):
        columns = np.full(3, image), np.zeros(3, int), boxes, np.ones(3, "f4")
        within = within_images(FoundBoxes(images, ("car",), *columns, {}))
        np.testing.assert_array_equal(within.boxes, expected)


def test_predictions_of_a_list_without_images_are_none(tmp_path):
    row = {"image_id": 1, "category_id": 1, "bbox": [60, 60, 50, 50], "score": 0.9}
    (tmp_path / "clean.json").write_text(json.dumps([row]))
    assert len(read_predictions(tmp_path / "clean.json", images=(), numbers={"1": "car"})) == 0


def test_boxes_may_reach_beyond_but_their_centres_not(tmp_path):
    """A network that does not cut boxes at the edge, on objects that fill the image."""
    images = (LabelledImage("0", "0.jpg", (100, 100)),)

    def read(n_centred_beyond):
        left = [95 if k < n_centred_beyond else 40 for k in range(100)]
        rows = [
            {"image_id": 0, "category_id": 1, "bbox": [x, 40, 100, 30], "score": (k + 1) / 1000}
            for k, x in enumerate(left)
        ]
        (tmp_path / "clean.json").write_text(json.dumps(rows))
        return read_predictions(tmp_path / "clean.json", images=images, numbers={"1": "car"})

    assert "beyond their images: 100" in read(15).left_out[0]
    with pytest.raises(InputError, match="100% of the boxes reach out"):
        read(16)


def test_a_sound_second_pass_gives_no_note(tmp_path):
    """Boxes of the grey part of the canvas reach beyond the image, as they do at full size."""
    row = {"category_id": 1, "bbox": [60, 60, 50, 50], "score": 0.9}
    rows = [{"image_id": k, **row} for k in range(9)]
    beyond = [{**row, "bbox": [320, 60, 50, 50], "score": 0.4} for row in rows]
    (tmp_path / "clean.json").write_text(json.dumps(rows))
    half = [{**row, "bbox": [61, 60, 50, 50], "score": 0.8} for row in rows]
    (tmp_path / "half.json").write_text(json.dumps([*half, *beyond]))
    files = Predictions(tmp_path / "clean.json", tmp_path / "half.json")
    read = files.read(at_scale().images, where="val.json", numbers={"1": "car"})
    assert read.half_size.left_out == () and len(read.half_size) == 9
    plain = read_predictions(tmp_path / "half.json", images=at_scale().images, numbers={"1": "car"})
    assert "beyond their images: 9" in plain.left_out[0]


def test_a_real_second_pass(shared):
    """YOLOX-nano on photographs: sound as observed, refused where halved or repeated."""
    from autoeval.detectors import load_detector
    from autoeval.sites.site_boxes import SiteBoxes

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


REAL = ["yolo26n/vehicle", "nanodet_plus/all", "fastestdet/person", "yolov8n/two"]


@pytest.mark.parametrize("folder", REAL)
def test_corners_are_recognised_without_the_sizes_of_images(folder, shared, tmp_path):
    """Real files are read, and refused once their widths and heights are corners."""
    for file in sorted((shared / "real_predictions" / folder).glob("*.json"))[:4]:
        rows = json.loads(file.read_text())
        for least in (0, 0.3):
            widths = [row for row in rows if row["score"] > least]
            if len(widths) < 20:
                continue
            assert len(read_predictions(_rewritten(tmp_path, widths), numbers=NUMBERS))
            corners = [{**row, "bbox": _corners(row["bbox"])} for row in widths]
            with pytest.raises(InputError, match=r"write \[x1, y1, x2 - x1, y2 - y1\]"):
                read_predictions(_rewritten(tmp_path, corners), numbers=NUMBERS)


NUMBERS = {str(k): f"category {k}" for k in range(100)}


def _corners(bbox):
    x, y, width, height = bbox
    return [x, y, x + width, y + height]


def _rewritten(folder, rows):
    (folder / "rows.json").write_text(json.dumps(rows))
    return folder / "rows.json"


@pytest.mark.parametrize(
    ("size", "refused"), [(None, True), ((100, 100), True), ((200, 200), False)]
)
def test_corners_within_images_of_known_size_may_be_widths(size, refused, tmp_path):
    """A few boxes of these reach beyond images of 100 pixels, and none beyond 200."""
    rows = [
        {"image_id": k, "category_id": 1, "score": 0.5, "bbox": [k, k, k + 9, k + 9]}
        for k in range(1, 60)
    ]
    images = [LabelledImage(str(k), f"{k}.jpg", size) for k in range(1, 60)]
    file = _rewritten(tmp_path, rows)
    if refused:
        with pytest.raises(InputError, match="corners"):
            read_predictions(file, images=images, numbers=NUMBERS)
    else:
        assert len(read_predictions(file, images=images, numbers=NUMBERS)) == 59
