"""Building the real split and a split of one's own."""

import json
import re

import cv2
import numpy as np
import pytest

from autoeval.counting.capture.own import (
    ImageChoice,
    build_own,
    coco_candidates,
    fair_box,
    hidden_by,
    point_candidates,
)
from autoeval.counting.capture.real import build_real
from autoeval.counting.capture.records import read_items
from autoeval.counting.capture.regularity import fit_circle, regularity, ring_regularity
from autoeval.errors import InputError

GRID = np.stack(np.meshgrid(np.arange(6) * 30.0, np.arange(4) * 30.0), -1).reshape(-1, 2) + 40


def _image(path, width=260, height=200):
    path.parent.mkdir(exist_ok=True)
    cv2.imwrite(str(path), np.full((height, width, 3), 200, np.uint8))


def _record(name, box, **more):
    points = [[10.0, 20.0, 2, 2], [100.0, 50.0, 2, 2], [0.0, 0.0, 30.0, 40.0]]
    keys = dict(zip(("x", "y", "width", "height"), box, strict=True))
    record = {"image_file": name, "object": "cups", "ground_truth": 2, "bbox": keys}
    return {**record, "annotation_bboxes": points, **more}


@pytest.fixture
def source(tmp_path):
    for name in ("1.jpg", "2.jpg", "3.jpg"):
        _image(tmp_path / "images" / name)
    (tmp_path / "images/broken.jpg").write_bytes(b"not an image")
    return tmp_path


def _build(source, records, **options):
    (source / "meta.json").write_text(json.dumps(records))
    return build_real(source / "meta.json", source / "images", source / "out", **options)


def test_real_images_are_covered_and_originals_copied(source):
    built = _build(source, [_record("1.jpg", (5, 10, 50, 40))])
    (item,) = built.split.items
    assert built.problems == () and item.box.tolist() == [5, 10, 55, 50]
    # Of the two points (10, 20) is behind the box; the third box is an exemplar, not a point.
    assert item.num_occluded == 1 and item.visible_points.tolist() == [[100, 50]]
    covered = built.split.read_image(item, "occluded")
    assert covered[15:45, 10:50].max() < 20 and covered[60:, :].min() > 190
    copy = built.split.image_path(item, "original").read_bytes()
    assert copy == (source / "images/1.jpg").read_bytes()


BAD_RECORDS = [
    (_record("4.jpg", (5, 10, 50, 40)), "4.jpg: left out: .*no such file"),
    (_record("broken.jpg", (5, 10, 50, 40)), "broken.jpg: left out: .*not an image"),
    (_record("2.jpg", (260, 10, 50, 40)), r"2.jpg: left out: .*\[260, 10, 310, 50\].*260x200"),
    (_record("2.jpg", (5, 10, 0, 40)), "2.jpg: left out: its box"),
    (_record("../1.jpg", (5, 10, 50, 40)), "left out: .*leaves the image folder"),
    (_record("2.jpg", (5, 10, 50, 40), bbox=None), "2.jpg: left out: it has no bbox"),
]


@pytest.mark.parametrize(("record", "message"), BAD_RECORDS)
def test_items_that_cannot_be_built_are_named_and_the_others_kept(source, record, message):
    built = _build(source, [record, _record("1.jpg", (5, 10, 50, 40))])
    assert [item.image_file for item in built.split.items] == ["1.jpg"]
    (problem,) = built.problems
    assert re.search(message, problem), problem
    assert (source / "out/problems.txt").read_text().strip() == problem


def test_boxes_over_the_edge_are_clipped_and_missing_points_named(source):
    record = _record("2.jpg", (240, 190, 50, 40), annotation_bboxes=[])
    built = _build(source, [record])
    assert built.split.items[0].box.tolist() == [240, 190, 260, 200]
    assert [p.split(":")[1] for p in built.problems] == [
        " its box reached beyond the 260x200 image; clipped",
        " it has no object points, so the oracle tasks leave it out",
    ]


def test_object_names_are_compared_with_fsc(source):
    (source / "classes.txt").write_text("1.jpg\tcups\n2.jpg\tmugs\n")
    records = [_record(f"{k}.jpg", (5, 10, 50, 40)) for k in (1, 2, 3)]
    built = _build(source, records, classes=source / "classes.txt")
    assert built.problems == (
        "2.jpg: called 'cups' here and 'mugs' in FSC-147",
        "3.jpg: not an image of FSC-147",
    )


def test_nothing_built_is_an_error(source):
    with pytest.raises(InputError, match="None of the 1 items"):
        _build(source, [_record("4.jpg", (5, 10, 50, 40))])


def test_released_real_metadata_reads_as_items(shared):
    items = read_items(shared / "golden/capture/real_validation_metadata.json")
    assert len(items) == 100 and {item.split for item in items} == {"real"}
    without = [item.image_file for item in items if item.points is None]
    assert without == ["6312.jpg"]
    # Every other item stores as many points as it counts objects.
    assert all(len(i.points) == i.ground_truth for i in items if i.points is not None)


def test_regularity_of_patterns_and_of_chance():
    rng = np.random.default_rng(0)
    chance = [regularity(rng.random((24, 2))) for _ in range(100)]
    angles = np.arange(11) * 2 * np.pi / 11
    ring = np.column_stack([np.cos(angles), np.sin(angles)]) * 40 + 7
    assert np.quantile(chance, 0.99) < 0.4 < 0.9 < regularity(GRID)
    assert regularity(ring) == 1 and regularity(np.arange(20).reshape(-1, 2)) == 1
    assert regularity(GRID[:4]) == 0
    # Neither direction, size, place nor shear matters.
    assert regularity(GRID @ [[0.6, 0.8], [-0.8, 0.6]] * 3 - 50) == pytest.approx(
        regularity(GRID),
        abs=0.05,  # equally near neighbours are taken in any order
    )
    noisy = [regularity(GRID + rng.normal(0, s, GRID.shape)) for s in (0, 3, 6, 12)]
    assert noisy == sorted(noisy, reverse=True)
    assert ring_regularity(np.arange(12.0).reshape(-1, 2)) == 0  # a line is no ring


def test_circle_through_three_points():
    centre, radius = fit_circle(np.array([[3.0, 0.0], [0.0, 3.0], [-3.0, 0.0]]) + 5)
    assert centre == pytest.approx([5, 5]) and radius == pytest.approx(3)
    assert fit_circle(np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]))[1] == np.inf


def _coco(folder, boxes, name="1.jpg"):
    document = {
        "images": [{"id": 1, "file_name": name, "width": 260, "height": 200}],
        "categories": [{"id": 1, "name": "cup"}, {"id": 2, "name": "tea pot"}],
        "annotations": [
            {"id": k, "image_id": 1, "category_id": c, "bbox": [float(v) for v in box]}
            for k, (c, box) in enumerate(boxes)
        ],
    }
    (folder / "coco.json").write_text(json.dumps(document))
    return folder / "coco.json"


def test_own_split_from_coco_keeps_the_regular_and_says_why_not_the_rest(source):
    rng = np.random.default_rng(1)
    cups = [(1, [x - 5, y - 5, 10, 10]) for x, y in GRID]
    pots = [(2, [*xy, 6, 6]) for xy in rng.uniform(10, 180, (20, 2))]
    found, problems = coco_candidates(_coco(source, cups + pots), source / "images")
    built = build_own(found, source / "out")
    (item,) = built.split.items
    assert problems == [] and item.image_file == "1_cup.jpg" and item.object_name == "cups"
    assert item.ground_truth == 24 and 3 <= item.num_occluded <= 12
    assert built.problems[0].startswith("1_tea-pot.jpg: regularity 0.")
    assert len(item.visible_points) == 24 - item.num_occluded
    x0, y0, x1, y1 = item.box
    covered = built.split.read_image(item, "occluded")
    assert covered[y0 + 1 : y1 - 1, x0 + 1 : x1 - 1].max() < 30


def test_own_split_from_points(source):
    entries = {
        "1.jpg": {"points": GRID.tolist(), "object": "pins"},
        "2.jpg": {"points": GRID[:5].tolist()},
        "nowhere.jpg": {"points": GRID.tolist()},
    }
    (source / "points.json").write_text(json.dumps(entries))
    found, _ = point_candidates(source / "points.json", source / "images", object_name="things")
    built = build_own(found, source / "out")
    assert [item.object_name for item in built.split.items] == ["pins"]
    assert built.problems[0] == "2.jpg: 5 objects, at least 8 wanted"
    assert "no such file" in built.problems[1]


def test_fair_box_hides_a_share_and_keeps_the_extent():
    boxes = np.column_stack([GRID - 4, GRID + 4])
    choice = ImageChoice(hidden_share=(0.1, 0.3))
    for name in "abcdefgh":
        box = fair_box(boxes, (260, 200), choice, name)
        hidden = hidden_by(boxes, box)
        assert 0.1 <= hidden.mean() <= 0.3
        assert np.ptp(GRID[~hidden], axis=0).tolist() == np.ptp(GRID, axis=0).tolist()
        assert box.min() >= 0 and box[2] <= 260 and box[3] <= 200
        np.testing.assert_array_equal(box, fair_box(boxes, (260, 200), choice, name))
    with pytest.raises(InputError, match="none of 200 boxes"):
        fair_box(boxes, (260, 200), ImageChoice(hidden_share=(0.98, 0.99)), "a")


def test_own_split_without_a_regular_image_is_an_error(source):
    found, _ = coco_candidates(_coco(source, [(1, [5, 5, 10, 10])]), source / "images")
    with pytest.raises(InputError, match="1 objects, at least 8"):
        build_own(found, source / "out")
    (source / "points.json").write_text("[1, 2]")
    with pytest.raises(InputError, match="map image names"):
        point_candidates(source / "points.json", source / "images")
