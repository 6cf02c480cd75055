"""Lists of images: text, COCO, folders."""

import json

import pytest

from autoeval.data.predictions import read_image_list
from autoeval.errors import InputError


def test_text(tmp_path):
    (tmp_path / "all.txt").write_text("site/1.jpg\n\n 2.jpg \n")
    assert [i.file_name for i in read_image_list(tmp_path / "all.txt")] == ["site/1.jpg", "2.jpg"]


def test_coco(tmp_path):
    images = [{"id": 4, "file_name": "a.jpg", "height": 5, "width": 6}]
    (tmp_path / "all.json").write_text(json.dumps({"images": images}))
    (image,) = read_image_list(tmp_path / "all.json")
    assert (image.image_id, image.file_name, image.size) == ("4", "a.jpg", (5, 6))


def test_folder(tmp_path):
    (tmp_path / "a.jpg").touch()
    assert [i.file_name for i in read_image_list(tmp_path)] == ["a.jpg"]


@pytest.mark.parametrize(
    ("text", "told"), [("", "no image"), ("a\nb\na\n", r"1 images twice \(a\)")]
)
def test_bad_lists(tmp_path, text, told):
    (tmp_path / "all.txt").write_text(text)
    with pytest.raises(InputError, match=told):
        read_image_list(tmp_path / "all.txt")
    with pytest.raises(InputError, match="No list of images"):
        read_image_list(tmp_path / "none.txt")


def test_comments_are_no_images(tmp_path):
    path = tmp_path / "list.txt"
    path.write_text("# two images\na.jpg\n#b.jpg\nc#.jpg\n")
    assert [image.file_name for image in read_image_list(path)] == ["a.jpg", "c#.jpg"]
