"""What predictions should not look like: gaps, copies, a second pass that cannot be one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from autoeval.boxes import Boxes, DetectorRun, LabelledImage
from autoeval.errors import InputError
from autoeval.io.coco import read_coco
from autoeval.io.predictions import read_predictions
from autoeval.io.predictions.covered_images import joined_files, unseen_images
from autoeval.io.predictions.reading import unusual_boxes

N = 100


def found(n_boxes, floor=0.01):
    """Predictions with so many boxes in each of 100 images."""
    image = np.repeat(np.arange(N), n_boxes)
    images = tuple(LabelledImage(str(k), f"{k}.jpg", None) for k in range(N))
    scores = np.full(len(image), 0.5)
    scores[:1] = floor
    boxes = np.tile([0.0, 0, 9, 9], (len(image), 1))
    return Boxes(images, ("car",), image, np.zeros(len(image), int), boxes, scores)


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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_score_is_low_in_any_precision(dtype):
    """Of .05 in single precision, as of Parquet, all 100 images counted, and of JSON 50."""
    boxes = found(np.repeat([0, 5], [50, 50]))
    scores = np.full(len(boxes), 0.05, dtype).astype(np.float64)
    unseen, (warning,) = unseen_images(replace(boxes, scores=scores), np.arange(N), "p.json")
    assert len(unseen) == 50 and warning.severity == "warning"


@pytest.mark.parametrize(("empty", "unseen"), [(1, 0), (2, 2)])
def test_one_image_of_a_few_may_be_empty(empty, unseen):
    boxes = found(np.repeat([0, 5, 0], [empty, 20 - empty, 80]))
    few = boxes.on_images(np.arange(20))
    assert len(unseen_images(few, np.arange(20), "p.json", refuse=True)[0]) == unseen


def test_images_that_the_predictions_list_were_seen():
    boxes = replace(found(np.repeat([0, 5], [50, 50])), lists_images=True)
    unseen, warnings = unseen_images(boxes, np.arange(N), "p.json", refuse=True)
    assert not len(unseen) and warnings == ()


def test_only_images_that_should_have_been_seen_count():
    n_boxes = np.repeat([0, 5], [50, 50])
    assert unseen_images(found(n_boxes), np.arange(50, 100), "p.json")[1] == ()
    unseen, (warning,) = unseen_images(found(n_boxes), np.arange(40, 100), "p.json")
    assert warning.startswith("10 of 60 images") and len(unseen) == 50


def test_gaps_in_lists_that_begin_higher_are_a_note():
    """Whether the detector has seen these images nobody knows."""
    n_boxes = np.repeat([0, 5], [50, 50])
    cut = found(n_boxes, floor=0.06)
    unseen, (note,) = unseen_images(cut, np.arange(N), "p.json", refuse=True)
    assert not len(unseen) and (note.code, note.severity) == ("images-not-covered", "note")
    assert note.startswith("50 of 100 images have no box in p.json, whose scores begin at 0.06")
    assert unseen_images(cut, np.arange(N), "p.json", complete=False)[1] == ()
    with pytest.raises(InputError, match="50 of 100 images have no box"):
        unseen_images(found(n_boxes, floor=0.05), np.arange(N), "p.json", refuse=True)


@pytest.mark.parametrize(
    ("n_boxes", "n_end"),
    [
        ([5] * 80 + [0] * 20, 20),  # as where the predictions are of 80 other images
        ([0] * 20 + [5] * 80, None),
        ([5] * 96 + [0] * 4, None),  # four may be empty
        ([5] * 95 + [0] * 5, 5),
        ([5] * 80 + [0] * 5 + [5] * 2 + [0] * 13, None),  # not three times as many as before
        ([5, 5, 5, 0] * 20 + [0] * 20, None),  # a quarter of the others is empty
        ([5] * 19 + [0] * 81, None),  # of 19 nothing is known
    ],
)
def test_a_list_that_ends_without_boxes_is_another_one(n_boxes, n_end):
    boxes = found(n_boxes, floor=0.25)
    unseen, warnings = unseen_images(boxes, np.arange(N), "p.json", refuse=True)
    of_end = [warning for warning in warnings if warning.severity == "warning"]
    assert not len(unseen) and len(of_end) == (n_end is not None)
    if n_end:
        assert warnings[0].code == "images-not-covered"
        assert warnings[0].startswith(f"the last {n_end} of 100 images have no box in p.json")
    assert unseen_images(boxes, np.arange(N), "p.json", complete=False)[1] == ()


def test_more_than_a_third_is_refused():
    third, more = (np.repeat([0, 5], [k, N - k]) for k in (33, 34))
    assert unseen_images(found(third), np.arange(N), "p.json", refuse=True)[1] != ()
    with pytest.raises(InputError, match=r"34 of 100 images.*--incomplete"):
        unseen_images(found(more), np.arange(N), "p.json", refuse=True)


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


@pytest.mark.parametrize(("scale", "warned"), [(1, False), (0.01, True)])
def test_shares_of_an_image_among_pixels_of_others_are_warned_of(scale, warned, tmp_path):
    """The boxes of one image of 60 are shares of its 100 pixels, in predictions and in labels."""
    bboxes = [[side * (scale if k == 7 else 1) for side in (40, 0, 30, 50)] for k in range(60)]
    rows = [
        {"image_id": k, "category_id": 1, "score": 0.5, "bbox": bbox}
        for k, bbox in enumerate(bboxes)
    ]
    images = [{"id": k, "file_name": f"{k}.jpg", "width": 100, "height": 100} for k in range(60)]
    labels = read_coco(
        {"images": images, "annotations": rows, "categories": [{"id": 1, "name": "car"}]}
    )
    read = read_predictions(rows, images=labels.images, numbers=NUMBERS)
    for notices in (read.left_out, labels.warnings):
        assert ("boxes-in-shares" in {notice.code for notice in notices}) == warned


NUMBERS = {str(k): f"category {k}" for k in range(100)}


def _rewritten(folder, rows):
    (folder / "rows.json").write_text(json.dumps(rows))
    return folder / "rows.json"


@pytest.mark.parametrize(
    ("at_edge", "nearer", "refused"),
    [(10, 0, True), (9, 0, False), (10, 1, False)],
)
def test_centres_are_half_a_side_or_more_from_the_edges(at_edge, nearer, refused, tmp_path):
    """Of 60 boxes, 20 wide and high, ten begin at the edge of their image."""
    firsts = [10] * at_edge + [9] * nearer
    firsts += [30] * (60 - len(firsts))
    rows = [
        {"image_id": k, "category_id": 1, "score": 0.5, "bbox": [first, 40, 20, 20]}
        for k, first in enumerate(firsts)
    ]
    if refused:
        with pytest.raises(InputError, match="centre x"):
            read_predictions(_rewritten(tmp_path, rows), numbers=NUMBERS)
    else:
        assert len(read_predictions(_rewritten(tmp_path, rows), numbers=NUMBERS)) == 60
    images = [LabelledImage(str(k), f"{k}.jpg", (200, 200)) for k in range(60)]
    assert len(read_predictions(_rewritten(tmp_path, rows), images=images, numbers=NUMBERS)) == 60


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


@pytest.mark.parametrize(
    ("scale", "codes"),
    [
        ((1, 1), []),
        ((0.75, 1), []),
        ((0.5, 0.7), ["boxes-in-a-corner"]),
        ((0.65, 1), ["boxes-in-a-corner"]),  # a letterbox of 416 for images of 640 x 360
        ((0.65, 1.15), ["boxes-in-a-corner", "boxes-beyond-images"]),  # stretched to a square
    ],
)
def test_boxes_of_a_smaller_copy_of_the_images_are_named(scale, codes, tmp_path):
    """Boxes at every place of images of 200 x 100 pixels, squeezed towards the upper left."""
    x, y = scale
    rows = [
        {"image_id": k, "category_id": 1, "score": 0.5, "bbox": [x * k, y * k / 2, x * 6, y * 6]}
        for k in range(190)
    ]
    images = [LabelledImage(str(k), f"{k}.jpg", (100, 200)) for k in range(190)]
    read = read_predictions(_rewritten(tmp_path, rows), images=images, numbers=NUMBERS)
    assert [notice.code for notice in read.left_out] == codes


@pytest.mark.parametrize("side", ["left", "top", "right", "bottom"])
def test_boxes_beyond_any_edge_are_counted(side, tmp_path):
    """Mirrored images have the same warning: those beyond the left and the upper edge had none."""
    bbox = {
        "left": [-5, 40, 20, 9],
        "top": [90, -3, 20, 9],
        "right": [185, 40, 20, 9],
        "bottom": [90, 94, 20, 9],
    }
    places = [bbox[side], [-4, -2, 208, 104]]  # the second reaches 2 % beyond all, and no more
    rows = [{"image_id": 0, "category_id": 1, "score": 0.5, "bbox": place} for place in places]
    images = [LabelledImage("0", "0.jpg", (100, 200))]
    read = read_predictions(_rewritten(tmp_path, rows), images=images, numbers=NUMBERS)
    (notice,) = read.left_out
    assert notice.code == "boxes-beyond-images" and notice.endswith(": 1")


def test_large_objects_of_a_detector_that_does_not_cut_boxes_are_no_corners(tmp_path):
    """All sides are longer than what is left of them; one box begins outside, and none ends so."""
    places = [[-30, 5, 300, 300]]
    places += [[280 + k % 7, 200, 290 + k % 7, 205 + k] for k in range(40)]
    rows = [
        {"image_id": k, "category_id": 1, "score": 0.5, "bbox": place}
        for k, place in enumerate(places)
    ]
    images = [LabelledImage(str(k), f"{k}.jpg", (480, 640)) for k in range(len(rows))]
    read = read_predictions(_rewritten(tmp_path, rows), images=images, numbers=NUMBERS)
    assert [notice.code for notice in read.left_out] == ["boxes-beyond-images"]


def test_boxes_that_lie_around_their_image_are_no_corners_and_of_no_larger_image(tmp_path):
    """As of a network that does not cut them: most reach beyond, but as many to the left."""
    around = [[-50, 40, 20, 9], [190, 40, 40, 9], [90, 40, 20, 9]]
    rows = [
        {"image_id": k, "category_id": 1, "score": 0.5, "bbox": place}
        for k in range(8)
        for place in around
    ]
    images = [LabelledImage(str(k), f"{k}.jpg", (100, 200)) for k in range(8)]
    read = read_predictions(_rewritten(tmp_path, rows), images=images, numbers=NUMBERS)
    (notice,) = [notice for notice in read.left_out if notice.code == "boxes-beyond-images"]
    assert notice.endswith(": 16") and len(read) == 24


def test_boxes_that_this_software_wrote_may_lie_in_a_corner():
    """It wrote them in pixels of the images: a fixed camera sees its road in one corner."""
    places = np.arange(190.0)
    boxes = np.stack([0.4 * places, 0.2 * places, 0.4 * places + 5, 0.2 * places + 5], axis=1)
    images = tuple(LabelledImage(str(k), f"{k}.jpg", (100, 200)) for k in range(190))
    read = Boxes(images, ("car",), np.arange(190), np.zeros(190, int), boxes)
    (corner,) = unusual_boxes(Path("boxes.parquet"), read)
    assert corner.code == "boxes-in-a-corner"
    run = DetectorRun("any", {}, "", is_identified=True, backbone="")
    assert unusual_boxes(Path("boxes.parquet"), replace(read, run=run)) == ()


@pytest.mark.parametrize("box", [[100.0, 140.0, 400.0, 380.0], [0.1, 0.1, 0.9, 0.8]])
def test_boxes_that_this_software_wrote_are_in_pixels_wherever_they_lie(box):
    """As those of a YOLOX in what pads a strip of 640 by 60: they are false positives."""
    images = tuple(LabelledImage(str(k), f"{k}.jpg", (60, 640)) for k in range(30))
    read = Boxes(images, ("car",), np.arange(30), np.zeros(30, int), np.array([box] * 30))
    with pytest.raises(InputError):
        unusual_boxes(Path("boxes.parquet"), read)
    run = DetectorRun("any", {}, "", is_identified=True, backbone="")
    notices = unusual_boxes(Path("boxes.parquet"), replace(read, run=run))
    assert [notice.code for notice in notices] == ["boxes-beyond-images"] * (box[3] > 60)


def rows_of(n_images, *, per_image=3, first=1):
    """Boxes of two categories, those of an image in a row; ids count from `first`."""
    return [(first + k, j % 2) for k in range(n_images) for j in range(per_image)]


@pytest.mark.parametrize(
    ("rows", "warned"),
    [
        (rows_of(20) + rows_of(12), True),  # both begin at 1
        (rows_of(40) + rows_of(4), False),  # four may be copies that fill a batch
        (rows_of(20) + rows_of(12, first=21), False),
        (rows_of(20) + rows_of(20), True),  # two runs over the same images
        (sorted(rows_of(20), key=lambda row: row[1]), False),  # by category
        (sorted(rows_of(20) + rows_of(12)), False),  # by image: nothing shows it any more
        (rows_of(20)[::-1], False),
        ([(k * k * k % 13, k % 2) for k in range(40)], False),  # in no order
    ],
)
def test_files_that_were_joined_come_back_to_their_images(rows, warned):
    image, label = np.array(rows).T
    warnings = joined_files(image, label)
    assert [(one.code, one.severity) for one in warnings] == [("images-merged", "warning")] * warned


@pytest.mark.parametrize(("n_images", "most"), [(21, 3), (40, 3), (40, 4)])
def test_few_boxes_sorted_by_score_are_not_taken_for_joined_files(n_images, most):
    """Up to eight parts can be cut so that each image stands once in each: up to 18 in 100 were."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        image = np.repeat(np.arange(n_images), rng.integers(1, most + 1, n_images))
        rng.shuffle(image)
        assert joined_files(image, np.zeros(len(image), int)) == ()


def test_joined_files_are_warned_of_at_every_door(tmp_path):
    boxes = [
        {"image_id": k, "category": f"thing {j}", "bbox": [40 * n, 9, 30, 30], "score": 0.5}
        for n, (k, j) in enumerate(rows_of(20) + rows_of(12))
    ]
    (tmp_path / "joined.json").write_text(json.dumps(boxes))
    for given in (tmp_path / "joined.json", boxes):
        codes = [getattr(notice, "code", "") for notice in read_predictions(given).left_out]
        assert "images-merged" in codes
