"""Lists of images: text, COCO, folders."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from autoeval.data.predictions import read_image_list
from autoeval.data.predictions.category_words import find_words, numbering_conflict
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


FILE = Path("predictions.json")
COCO = {"1": "person", "3": "car", "8": "truck"}


def test_words_of_the_file_go_before_numbers():
    words = find_words(FILE, [(1, "lorry"), (3, "car"), (1, "lorry")], COCO)
    assert [words.categories[k] for k in words.label] == ["lorry", "car", "lorry"]
    assert words.numbers == {"1": "lorry", "3": "car"}


def test_words_without_numbers_have_none():
    assert find_words(FILE, [(None, "lorry")], COCO).numbers == {}


def test_other_words_for_a_number_are_a_conflict():
    assert numbering_conflict(FILE, COCO, {}) == numbering_conflict(FILE, {}, COCO) == ()
    assert numbering_conflict(FILE, {"1": "person", "9": "boat"}, COCO) == ()
    (warning,) = numbering_conflict(FILE, {"1": "bus", "3": "car"}, COCO)
    assert warning.endswith("others: 1 is bus, not person")


def test_numbers_of_the_labels():
    words = find_words(FILE, [(8, None), (1, None)], COCO)
    assert [words.categories[k] for k in words.label] == ["truck", "person"]
    assert words.categories == ("person", "car", "truck")  # those it never found are known too
    assert words.numbers == COCO


@pytest.mark.parametrize("first", [0, 1])  # Ultralytics has counted from either
def test_numbers_that_count_from_zero_or_one(first):
    words = find_words(FILE, [(first, None), (first + 1, None), (first + 2, None)], COCO)
    np.testing.assert_array_equal(words.label, [0, 1, 2])
    assert words.numbers[str(first)] == "person"


def test_numbers_that_may_count_from_either_are_refused():
    with pytest.raises(InputError, match="have no word: 2"):
        find_words(FILE, [(1, None), (2, None)], COCO)


def test_numbers_that_fit_no_name():
    with pytest.raises(InputError, match=r"have no word: 90. Known are 1 person, 3 car, 8 truck."):
        find_words(FILE, [(1, None), (90, None)], COCO)
    with pytest.raises(InputError, match="--names FILE"):
        find_words(FILE, [(0, None)], {})
