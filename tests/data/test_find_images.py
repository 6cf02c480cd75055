import io
import json

import cv2
import numpy as np
import pytest

from autoeval.data.find_images import find_images
from autoeval.errors import InputError


@pytest.fixture
def site(tmp_path):
    for name in ("a.jpg", "b/2.png", "b/10.png", "b/photo.heic", "notes.txt", ".hidden/x.jpg"):
        (tmp_path / "site" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "site" / name).write_text("")
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


def test_videos_of_a_folder_are_taken_where_a_step_is_given(site):
    found = find_images(site, every="1s")
    assert names(found) == ["a.jpg", "b/2.png", "b/10.png", "f.avi#0", "f.avi#5"]
    assert not any("video" in skipped for skipped in found.skipped)


def test_a_pattern(site):
    found = find_images(site / "**" / "*.png")
    assert names(found) == ["10.png", "2.png"]
    assert found.skipped == ()
    with pytest.raises(InputError, match="No path in"):
        find_images(site / "*.bmp")


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
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "list.txt").write_text("site/a.jpg")
    monkeypatch.chdir(tmp_path)
    assert find_images("lists/list.txt").images[0].path.is_file()


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


def test_nothing_to_find(site, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "list.txt").write_text("a.doc")
    (tmp_path / "photo.txt").write_bytes(b"\x89PNG\xff")
    for source, message in (
        ("empty", "No image in"),
        ("typo", "No folder or annotation file"),
        ("list.txt", "None of the 1 paths"),
        ("photo.txt", "is not a text file"),
    ):
        with pytest.raises(InputError, match=message):
            find_images(tmp_path / source)
