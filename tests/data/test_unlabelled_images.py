"""Images without labels as files or arrays, and when they were taken."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import cv2
import numpy as np
import pytest

from autoeval.data.coco import read_coco
from autoeval.data.find_images import list_images
from autoeval.data.image_folder import ImageFile, load_image_folder
from autoeval.errors import InputError

PIXELS = np.full((4, 6, 3), 7, np.uint8)


@pytest.fixture
def folder(tmp_path):
    for name in ("a/1.png", "a/2.png", "b/1.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        cv2.imwrite(str(tmp_path / name), PIXELS)
    return tmp_path


def test_paths_of_a_folder_have_the_names_that_the_folder_gives_them(folder):
    files = load_image_folder(folder)
    assert list_images(folder) == list_images(str(folder)) == files
    assert list_images([str(file.path) for file in files]) == files
    assert list_images(files) == files


def test_one_path_is_named_by_its_file_name(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert list_images(["a/1.png"]) == (ImageFile("1.png", Path("a/1.png")),)


def test_arrays_are_named_by_position_and_read_as_they_are():
    images = list_images(np.stack([PIXELS, PIXELS + 1]))
    assert [image.image_id for image in images] == ["0", "1"]
    assert np.array_equal(images[1].read(), PIXELS + 1)


@pytest.mark.parametrize(
    ("images", "message"),
    [
        ([], "at least one image"),
        ([PIXELS, PIXELS / 255], r"image 1 is \(4, 6, 3\) float64"),
        ([PIXELS[..., 0]], r"image 0 is \(4, 6\) uint8"),
        (PIXELS, r"image 0 is \(6, 3\) uint8"),  # one image in place of a sequence
        ([PIXELS, "a.png"], "a sequence of ndarray, str"),
        ([None], "a sequence of NoneType"),
        (3, "a sequence of int"),
        ("nowhere", "No folder or annotation file"),
    ],
)
def test_what_is_no_image_is_refused(images, message):
    with pytest.raises(InputError, match=message):
        list_images(images)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"date_captured": "2026-03-02 09:15:07"}, datetime(2026, 3, 2, 9, 15, 7)),  # COCO
        ({"date_captured": "2026-03-02T09:15:07+00:00"}, datetime(2026, 3, 2, 9, 15, 7)),
        ({"datetime": "2026-03-02T09:15:07Z"}, datetime(2026, 3, 2, 9, 15, 7)),
        ({"datetime": "2026:03:02 09:15:07"}, datetime(2026, 3, 2, 9, 15, 7)),  # as EXIF writes it
        ({"date_captured": "", "datetime": "2026-03-02"}, datetime(2026, 3, 2)),
        ({"date_captured": "yesterday"}, None),
        ({"date_captured": None}, None),
        ({"date_captured": 1_772_000_000}, None),  # in which unit?
        ({}, None),
    ],
)
def test_the_time_of_an_image_is_read(fields, expected, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"images": [{"id": 1, "file_name": "a.jpg", **fields}]}))
    assert read_coco(path).images[0].taken == expected
