"""Images without labels: found however they are named, as arrays, and when they were taken."""

from __future__ import annotations

import gzip
import io
import json
import os
import tarfile
import zipfile
from datetime import datetime
from pathlib import Path

import cv2
import numpy as np
import pandas as pd
import pytest

from autoeval.api.options import found_images
from autoeval.errors import InputError
from autoeval.io.coco import read_coco
from autoeval.io.find_images import find_images, list_images
from autoeval.io.image_lists import ImageFile, load_image_folder, read_image_list
from autoeval.io.images import UnreadableImageError
from autoeval.io.labels.any_format import load_labels
from autoeval.io.predictions import read_predictions


@pytest.fixture
def site(tmp_path):
    for name in ("a.jpg", "b/2.png", "b/10.png", "b/photo.heic", "notes.txt", ".hidden/x.jpg"):
        (tmp_path / "site" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "site" / name).touch()
    path = str(tmp_path / "site" / "f.avi")
    video = cv2.VideoWriter(path, cv2.VideoWriter_fourcc(*"MJPG"), 5, (32, 32))
    for _ in range(10):
        video.write(np.zeros((32, 32, 3), np.uint8))
    video.release()
    return tmp_path / "site"


def names(found):
    return [image.image_id for image in found.images]


def test_a_folder_names_what_is_passed_over(site):
    found = find_images(site)
    assert names(found) == ["a.jpg", "b/2.png", "b/10.png"]
    assert found.skipped == (
        "videos passed over: 1 (f.avi)",
        "images in formats that OpenCV does not read, passed over: 1 (b/photo.heic)",
        "other files passed over: 1 (notes.txt)",
        "hidden files passed over: 1 (.hidden/x.jpg)",
    )


def test_a_folder_of_videos_alone_says_that_frames_are_named(site):
    """It was refused as one without an image, as if videos were not read."""
    for name in ("a.jpg", "b/2.png", "b/10.png"):
        (site / name).unlink()
    with pytest.raises(InputError, match=r"f\.avi is a video: say with --every"):
        find_images(site)


def test_videos_of_a_folder_are_taken_where_a_step_is_given(site):
    found = find_images(site, every="1s")
    assert names(found) == ["a.jpg", "b/2.png", "b/10.png", "f.avi#0", "f.avi#5"]
    assert not any("video" in skipped for skipped in found.skipped)


def test_a_pattern(site):
    found = find_images(site / "**" / "*.png")
    assert names(found) == ["2.png", "10.png"]  # as in a folder
    assert found.skipped == ()
    with pytest.raises(InputError, match="No path in"):
        find_images(site / "*.bmp")


def test_a_pattern_lists_no_folders_and_no_other_files_for_predictions_either(site):
    """Each was an image in which the detector found nothing: ``notes.txt``, ``f.avi``, ``b``."""
    of_pattern = read_image_list(site / "*")
    assert [Path(image.file_name).name for image in of_pattern] == ["a.jpg"]
    assert len(read_image_list(site / "**" / "*.png")) == 2
    of_formats_not_decoded = read_image_list(site / "b" / "*")
    names_there = [Path(image.file_name).name for image in of_formats_not_decoded]
    assert names_there == ["2.png", "10.png", "photo.heic"]
    with pytest.raises(InputError, match="lists no image"):
        read_image_list(site / "n*.txt")


@pytest.mark.parametrize("name", ["new.json", "new.JSON", "new.json.gz"])
def test_a_coco_file_has_its_image_folder_also_where_labels_may_have_it(site, tmp_path, name):
    """Of another spelling than .json the folder was left out, and files beside it were read."""
    content = json.dumps({"images": [{"id": 1, "file_name": "a.jpg"}]}).encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    options = {"images": tmp_path / name, "img_dir": site}
    for labels in (False, True):
        (image,) = found_images(options, labels=labels)
        assert image.path.parent == site


def test_a_folder_of_images_that_is_not_there_is_refused(site, tmp_path):
    """Every image was named as unreadable, after a detector had been run on sites of a fit."""
    images = {"images": [{"id": 1, "file_name": "a.jpg"}]}
    (tmp_path / "new.json").write_text(json.dumps(images))
    with pytest.raises(InputError, match=r"No image folder .*nowhere"):
        find_images(tmp_path / "new.json", site / "nowhere")


def test_a_text_file_of_paths(site, tmp_path):
    lines = "# all\nsite/a.jpg\n\nsite/b/2.png\nsite/a.jpg\nsite/notes.md\n"
    (tmp_path / "list.txt").write_text(lines)
    found = find_images(tmp_path / "list.txt")
    assert names(found) == ["a.jpg", "b/2.png"]
    assert found.images[0].path.is_file()
    assert found.skipped == (
        "other files passed over: 1 (notes.md)",
        f"paths listed more than once, taken once: 1 ({site / 'a.jpg'})",
    )


def test_paths_of_a_list_may_be_relative_to_the_current_folder(site, tmp_path, monkeypatch):
    (site / "list.txt").write_text("site/a.jpg")
    monkeypatch.chdir(tmp_path)
    assert find_images("site/list.txt").images[0].path.is_file()


def test_standard_input(site, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{site}/b/2.png\n{site}/a.jpg\n"))
    assert names(find_images("-")) == ["b/2.png", "a.jpg"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    with pytest.raises(InputError, match="No path on standard input"):
        find_images("-")


def test_one_image_or_a_coco_file(site, tmp_path):
    assert names(find_images(site / "a.jpg")) == ["a.jpg"]
    content = {"images": [{"id": 7, "file_name": "site/a.jpg"}]}
    (tmp_path / "list.json").write_text(json.dumps(content))
    assert names(find_images(tmp_path / "list.json")) == ["7"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("empty", r"No image in .*expected files ending in"),
        ("empty.json", "No image in"),
        ("typo", "No folder or annotation file"),
        ("list.txt", "None of the 1 paths"),
        ("photo.txt", "is not a text file"),
    ],
)
def test_nothing_to_find(tmp_path, source, message):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty.json").write_text('{"images": []}')
    (tmp_path / "list.txt").write_text("a.doc")
    (tmp_path / "photo.txt").write_bytes(b"\x89PNG\xff")
    with pytest.raises(InputError, match=message):
        find_images(tmp_path / source)


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
        ({"images": [{"id": 1, "file_name": "a.png"}]}, "COCO JSON file.* but got dict"),
        (pd.DataFrame({"file_name": ["a.png"]}), "but got DataFrame"),
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


def touch(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def names_in(folder):
    return [image.image_id for image in load_image_folder(folder)]


def test_lists_images_in_natural_order_with_their_subfolders(tmp_path):
    touch(tmp_path, "10.jpg", "2.JPG", "b/1.png", "a/3.tif", "01.jpg", "1.jpg")
    assert names_in(tmp_path) == ["01.jpg", "1.jpg", "2.JPG", "10.jpg", "a/3.tif", "b/1.png"]


def test_passes_over_other_and_hidden_files(tmp_path):
    """A hidden folder further up does not matter."""
    folder = tmp_path / ".cache"
    touch(folder, "a.jpg", "notes.txt", "._a.jpg", ".thumbnails/a.jpg", "labels.json")
    (image,) = load_image_folder(folder)
    assert image.image_id == "a.jpg" and image.path == folder / "a.jpg"


@pytest.mark.parametrize(("where", "given"), [("images", 0), (".", 0), ("elsewhere", 1)])
def test_annotation_file_without_annotations(tmp_path, where, given):
    """Its image folder can be given."""
    touch(tmp_path / where, "x.jpg")
    ann_file = tmp_path / "list.json"
    ann_file.write_text(json.dumps({"images": [{"id": 7, "file_name": "x.jpg"}]}))
    (image,) = load_image_folder(ann_file, tmp_path / where if given else None)
    assert image.image_id == "7" and image.path.is_file()


def test_refuses_file_names_that_leave_the_folder(tmp_path):
    ann_file = tmp_path / "list.json"
    ann_file.write_text(json.dumps({"images": [{"id": 7, "file_name": "../x.jpg"}]}))
    with pytest.raises(InputError, match="leaves the image folder"):
        load_image_folder(ann_file)


def test_names_that_are_no_text_and_links_in_circles(tmp_path):
    touch(tmp_path, "a.jpg", os.fsdecode(b"bad\xff.jpg"), "deep/b.jpg")
    (tmp_path / "deep" / "up").symlink_to(tmp_path)
    (tmp_path / "loop.jpg").symlink_to(tmp_path / "loop.jpg")
    assert names_in(tmp_path) == ["a.jpg", r"bad\xff.jpg", "deep/b.jpg", "loop.jpg"]
    images = load_image_folder(tmp_path)
    assert images[1].path.exists()
    with pytest.raises(UnreadableImageError, match="symbolic links"):
        images[3].read()


def test_linked_folders_are_searched(tmp_path):
    touch(tmp_path, "elsewhere/a.jpg", "site/b.jpg")
    (tmp_path / "site" / "more").symlink_to(tmp_path / "elsewhere")
    assert names_in(tmp_path / "site") == ["b.jpg", "more/a.jpg"]


READERS = [load_labels, find_images, read_predictions, read_image_list]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("name", ["export.tar", "export.tar.gz", "EXPORT.TGZ"])
def test_an_archive_of_tar_is_to_be_unpacked(read, name, tmp_path):
    (tmp_path / "a.jpg").write_bytes(bytes(range(256)))
    with tarfile.open(tmp_path / name, "w" if name.endswith("tar") else "w:gz") as file:
        file.add(tmp_path / "a.jpg", "a.jpg")
    with pytest.raises(InputError, match=r"is a tar archive: unpack it"):
        read(tmp_path / name)


@pytest.mark.parametrize("read", READERS)
def test_an_archive_is_never_unpacked_wherever_its_files_would_go(read, tmp_path):
    """Its names climb out of the folder, or are absolute."""
    outside = tmp_path / "outside.txt"
    archive = tmp_path / "in" / "labels.zip"
    archive.parent.mkdir()
    with zipfile.ZipFile(archive, "w") as file:
        for name in ("../outside.txt", str(outside), "a/../../outside.txt"):
            file.writestr(name, "written")
    with pytest.raises(InputError, match=r"is a zip archive of 3 files .*: unpack it"):
        read(archive)
    assert [path.name for path in tmp_path.rglob("*")] == ["in", "labels.zip"]
