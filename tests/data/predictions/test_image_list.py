"""Lists of images: text, COCO, folders."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from autoeval.data.predictions import read_image_list
from autoeval.data.predictions.category_words import find_words, numbering_conflict
from autoeval.errors import InputError


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("site/1.jpg\n\n 2.jpg \n", ["site/1.jpg", "2.jpg"]),
        ("# two images\na.jpg\n#b.jpg\nc#.jpg\n", ["a.jpg", "c#.jpg"]),  # comments are no images
    ],
)
def test_text(tmp_path, text, names):
    (tmp_path / "all.txt").write_text(text)
    assert [image.file_name for image in read_image_list(tmp_path / "all.txt")] == names


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


FILE = Path("predictions.json")
COCO = {"1": "person", "3": "car", "8": "truck"}


def test_words_of_the_file_go_before_numbers():
    words = find_words(FILE, [(1, "lorry"), (3, "car"), (1, "lorry")], COCO)
    assert [words.categories[k] for k in words.label] == ["lorry", "car", "lorry"]
    assert words.numbers == {"1": "lorry", "3": "car"}
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


@pytest.mark.parametrize(
    ("used", "numbers", "message"),
    [
        ([1, 2], COCO, "have no word: 2"),  # they may count from either
        ([1, 90], COCO, r"have no word: 90. Known are 1 person, 3 car, 8 truck."),
        ([0], {}, "--names FILE"),
    ],
)
def test_numbers_that_fit_no_name(used, numbers, message):
    with pytest.raises(InputError, match=message):
        find_words(FILE, [(number, None) for number in used], numbers)
