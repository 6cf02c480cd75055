import json
import os

import pytest

from autoeval.data.image_folder import load_image_folder
from autoeval.data.images import UnreadableImageError
from autoeval.errors import InputError


def touch(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def names(folder):
    return [image.image_id for image in load_image_folder(folder)]


def test_lists_images_in_natural_order_with_their_subfolders(tmp_path):
    touch(tmp_path, "10.jpg", "2.JPG", "b/1.png", "a/3.tif", "01.jpg", "1.jpg")
    assert names(tmp_path) == ["01.jpg", "1.jpg", "2.JPG", "10.jpg", "a/3.tif", "b/1.png"]


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
    assert names(tmp_path) == ["a.jpg", r"bad\xff.jpg", "deep/b.jpg", "loop.jpg"]
    images = load_image_folder(tmp_path)
    assert images[1].path.exists()
    with pytest.raises(UnreadableImageError, match="symbolic links"):
        images[3].read()


def test_linked_folders_are_searched(tmp_path):
    touch(tmp_path, "elsewhere/a.jpg", "site/b.jpg")
    (tmp_path / "site" / "more").symlink_to(tmp_path / "elsewhere")
    assert names(tmp_path / "site") == ["b.jpg", "more/a.jpg"]
