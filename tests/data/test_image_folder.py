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


def test_lists_images_in_natural_order_with_their_subfolders(tmp_path):
    touch(tmp_path, "10.jpg", "2.JPG", "b/1.png", "a/3.tif", "01.jpg", "1.jpg")
    names = [image.image_id for image in load_image_folder(tmp_path)]
    assert names == ["01.jpg", "1.jpg", "2.JPG", "10.jpg", "a/3.tif", "b/1.png"]


def test_passes_over_other_and_hidden_files(tmp_path):
    touch(tmp_path, "a.jpg", "notes.txt", "._a.jpg", ".thumbnails/a.jpg", "labels.json")
    (image,) = load_image_folder(tmp_path)
    assert image.image_id == "a.jpg" and image.path == tmp_path / "a.jpg"


def test_a_hidden_folder_further_up_does_not_matter(tmp_path):
    touch(tmp_path / ".cache", "a.jpg")
    assert len(load_image_folder(tmp_path / ".cache")) == 1


@pytest.mark.parametrize(("where", "given"), [("images", 0), (".", 0), ("elsewhere", 1)])
def test_annotation_file_without_annotations(tmp_path, where, given):
    """Its image folder can be given."""
    touch(tmp_path / where, "x.jpg")
    ann_file = tmp_path / "list.json"
    ann_file.write_text(json.dumps({"images": [{"id": 7, "file_name": "x.jpg"}]}))
    (image,) = load_image_folder(ann_file, tmp_path / where if given else None)
    assert image.image_id == "7" and image.path.is_file()


def test_empty_folder_and_wrong_path(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty.json").write_text('{"images": []}')
    with pytest.raises(InputError, match=r"No image in .*expected files ending in"):
        load_image_folder(tmp_path / "empty")
    with pytest.raises(InputError, match="No image in"):
        load_image_folder(tmp_path / "empty.json")
    with pytest.raises(InputError, match="No folder or annotation file"):
        load_image_folder(tmp_path / "typo")


def test_refuses_file_names_that_leave_the_folder(tmp_path):
    ann_file = tmp_path / "list.json"
    ann_file.write_text(json.dumps({"images": [{"id": 7, "file_name": "../x.jpg"}]}))
    with pytest.raises(InputError, match="leaves the image folder"):
        load_image_folder(ann_file)


def test_names_that_are_no_text_and_links_in_circles(tmp_path):
    touch(tmp_path, "a.jpg", os.fsdecode(b"bad\xff.jpg"), "deep/b.jpg")
    (tmp_path / "deep" / "up").symlink_to(tmp_path)
    (tmp_path / "loop.jpg").symlink_to(tmp_path / "loop.jpg")
    images = load_image_folder(tmp_path)
    names = [image.image_id for image in images]
    assert names == ["a.jpg", r"bad\xff.jpg", "deep/b.jpg", "loop.jpg"]
    assert images[1].path.exists()
    with pytest.raises(UnreadableImageError, match="symbolic links"):
        images[3].read()


def test_linked_folders_are_searched(tmp_path):
    touch(tmp_path, "elsewhere/a.jpg", "site/b.jpg")
    (tmp_path / "site" / "more").symlink_to(tmp_path / "elsewhere")
    names = [image.image_id for image in load_image_folder(tmp_path / "site")]
    assert names == ["b.jpg", "more/a.jpg"]
