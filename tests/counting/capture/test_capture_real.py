"""Building the real split."""

import json
import re

import cv2
import numpy as np
import pytest

from autoeval.counting.capture.making import build_real
from autoeval.counting.capture.split import read_items
from autoeval.counting.capture.task_run import get_task
from autoeval.errors import InputError


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
    (item,) = built.items
    assert built.warnings == () and item.box.tolist() == [5, 10, 55, 50]
    # Of the two points (10, 20) is behind the box; the third box is an exemplar, not a point.
    assert item.num_occluded == 1 and item.visible_points.tolist() == [[100, 50]]
    covered = built.read_image(item, "occluded")
    assert covered[15:45, 10:50].max() < 20 and covered[60:, :].min() > 190
    copy = built.image_path(item, "original").read_bytes()
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
    assert [item.image_file for item in built.items] == ["1.jpg"]
    (warning,) = built.warnings
    assert re.search(message, warning), warning
    assert (source / "out/warnings.txt").read_text().strip() == warning


def test_boxes_over_the_edge_and_object_names_become_warnings(source):
    record = _record("2.jpg", (240, 190, 50, 40), annotation_bboxes=[])
    built = _build(source, [record])
    assert built.items[0].box.tolist() == [240, 190, 260, 200]
    assert [p.split(":")[1] for p in built.warnings] == [
        " its box reached beyond the 260x200 image; clipped",
        " it has no object points, so the oracle tasks leave it out",
    ]
    (source / "classes.txt").write_text("1.jpg\tcups\n2.jpg\tmugs\n")
    records = [_record(f"{k}.jpg", (5, 10, 50, 40)) for k in (1, 2, 3)]
    built = _build(source, records, classes=source / "classes.txt")
    assert built.warnings == (
        "2.jpg: called 'cups' here and 'mugs' in FSC-147",
        "3.jpg: not an image of FSC-147",
    )
    with pytest.raises(InputError, match="None of the 1 items"):
        _build(source, [_record("4.jpg", (5, 10, 50, 40))])


def test_the_published_split_takes_points_of_fsc147(source):
    points = {"1.jpg": {"points": [[10, 10], [60, 60]]}, "2.jpg": {"points": [[10, 10]]}}
    (source / "fsc.json").write_text(json.dumps(points))
    records = [_record(f"{k}.jpg", (5, 5, 20, 20), annotation_bboxes=[]) for k in (1, 2, 3)]
    built = _build(source, records, annotations=source / "fsc.json")
    assert built.warnings == (
        "2.jpg: its true count is 2, but the annotations have 1 points",
        "3.jpg: not in the annotations",
        "3.jpg: it has no object points, so the oracle tasks leave it out",
    )
    with_task = get_task("oracle-visible").items(built.items)
    assert [item.image_file for item in with_task] == ["1.jpg", "2.jpg"]
    assert with_task[0].num_occluded == 1 and with_task[0].split == "real"
    assert with_task[0].visible_points.tolist() == [[60, 60]]


def test_released_real_metadata_reads_as_items(shared):
    items = read_items(shared / "golden/capture/real_validation_metadata.json")
    assert len(items) == 100 and {item.split for item in items} == {"real"}
    without = [item.image_file for item in items if item.points is None]
    assert without == ["6312.jpg"]
    # Every other item stores as many points as it counts objects.
    assert all(len(i.points) == i.ground_truth for i in items if i.points is not None)
