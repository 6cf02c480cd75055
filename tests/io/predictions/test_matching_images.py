"""Which image is meant, which there are, and what categories are called."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from autoeval.errors import InputError
from autoeval.io.labels.content import LabelledImage
from autoeval.io.predictions import read_image_list
from autoeval.io.predictions.category_words import find_words, numbering_conflict
from autoeval.io.predictions.reading import Named, place_images

LOCAL = "/data/local-files/?d="


def known(*pairs):
    return [LabelledImage(image_id, file_name, None) for image_id, file_name in pairs]


@pytest.mark.parametrize(
    ("found", "images"),
    [
        # ids of the annotation file
        ([("8", None), ("7", None)], known(("7", "a.jpg"), ("8", "b.jpg"))),
        # stems of files, a number without its zeros
        ([("b", None), ("12", None)], known(("1", "000012.jpg"), ("2", "b.png"))),
        # a stem with a dot in it
        ([("cam.2", None), ("cam.1", None)], known(("1", "cam.1.jpg"), ("2", "cam.2.jpg"))),
        # whole file names as ids
        ([("b.jpg", None), ("a.jpg", None)], known(("1", "x/a.jpg"), ("2", "x/b.jpg"))),
        # file names beside ids that would lead elsewhere
        ([("1", "b.jpg"), ("2", "a.jpg")], known(("1", "a.jpg"), ("2", "b.jpg"))),
        # file names in other folders
        ([("1", "/home/b.jpg"), ("2", "/home/a.jpg")], known(("1", "x/a.jpg"), ("2", "x/b.jpg"))),
        # one name in two folders: only whole paths tell them apart
        ([(None, "x/a.jpg"), (None, "y/a.jpg")], known(("1", "y/a.jpg"), ("2", "x/a.jpg"))),
        # labels of Label Studio: uploads, here with file names, then with stems
        (
            [(None, "x/b 1.jpg"), (None, "x/a.jpg")],
            known(("0", "/data/upload/1/a1b2c3d4-a.jpg"), ("1", "images/0f0f0f0f-b_1.jpg")),
        ),
        (
            [("14", None), ("13", None)],
            known(("0", "a1b2c3d4-0013.jpg"), ("1", "ffffffff-0014.jpg")),
        ),
        # and its addresses of local files
        (
            [(None, "b 1.jpg"), (None, "a.jpg")],
            known(("0", f"{LOCAL}x/a.jpg"), ("1", f"{LOCAL}x%2Fb%201.jpg")),
        ),
        # names of the same form that nobody has changed
        (
            [(None, "b.jpg"), (None, "a1b2c3d4-a.jpg")],
            known(("0", "a1b2c3d4-a.jpg"), ("1", "b.jpg")),
        ),
    ],
)
def test_conventions(found, images):
    place, warnings = place_images([Named(*pair) for pair in found], images, "val.json")
    np.testing.assert_array_equal(place, [1, 0])
    assert warnings == ()


def test_ids_from_one_and_stems_from_zero_are_not_taken_for_each_other():
    images = known(*[(str(k + 1), f"{k:04}.jpg") for k in range(4)])
    found = [Named(str(k), None) for k in range(4)]  # stems: only three of them are ids
    np.testing.assert_array_equal(place_images(found, images, "val.json")[0], range(4))


def test_a_stem_of_two_files_places_none():
    images = known(("5", "x/a.jpg"), ("6", "y/a.jpg"), ("7", "b.jpg"), ("8", "c.jpg"))
    found = [Named(name, None) for name in "abc"]
    place, warnings = place_images(found, images, "val.json")
    np.testing.assert_array_equal(place, [-1, 2, 3])
    assert warnings == (
        "images of the predictions that could be several of val.json, left out: 1 (a)",
    )


def test_stems_of_two_splits_are_ambiguous_and_not_missing():
    images = known(*[(f"{s}/{n}", f"{s}/{n}.jpg") for s in ("train", "val") for n in "abc"])
    with pytest.raises(InputError, match=r"3 of 3 images .* could each be several of data.yaml"):
        place_images([Named(n, None) for n in "abc"], images, "data.yaml")


def test_other_images():
    with pytest.raises(InputError, match="3 of their 3 images are not there"):
        place_images([Named(n, None) for n in "xyz"], known(("1", "a.jpg")), "val.json")


def test_predictions_of_more_images_than_are_known_are_read_and_named():
    found = [Named(n, None) for n in "abcdefg"]
    place, warnings = place_images(found, known(("b", "x.jpg"), ("d", "y.jpg")), "val.json")
    np.testing.assert_array_equal(place, [-1, 0, -1, 1, -1, -1, -1])
    assert warnings == ("images of the predictions that are not in val.json: 5 (a, c, e, f, g)",)


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
    (warning,) = words.warnings
    assert f"counted from {first}: {first} is person, {first + 1} is car, {first + 2} is" in warning


@pytest.mark.parametrize(
    ("used", "numbers", "message"),
    [
        ([1, 2], COCO, "have no word: 2"),  # they may count from either
        ([1, 90], COCO, r"have no word: 90. Known are 1 person, 3 car, 8 truck."),
        ([0], {}, "names=FILE"),
    ],
)
def test_numbers_that_fit_no_name(used, numbers, message):
    with pytest.raises(InputError, match=message):
        find_words(FILE, [(number, None) for number in used], numbers)
