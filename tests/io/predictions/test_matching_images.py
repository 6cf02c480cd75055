"""Which image is meant, which there are, and what categories are called."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from autoeval.boxes import LabelledImage
from autoeval.errors import InputError
from autoeval.io.image_identity import Named
from autoeval.io.image_lists import read_image_list
from autoeval.io.predictions import read_predictions
from autoeval.io.predictions.category_words import (
    ReadAs,
    find_words,
)
from autoeval.io.predictions.covered_images import place_images

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
    placement = place_images([Named(*pair) for pair in found], images, "val.json")
    np.testing.assert_array_equal(placement.index, [1, 0])
    assert (placement.lost, placement.several) == ((), ())


def test_ids_from_one_and_stems_from_zero_are_not_taken_for_each_other():
    images = known(*[(str(k + 1), f"{k:04}.jpg") for k in range(4)])
    found = [Named(str(k), None) for k in range(4)]  # stems: only three of them are ids
    np.testing.assert_array_equal(place_images(found, images, "val.json").index, range(4))


def test_a_stem_of_two_files_places_none():
    images = known(("5", "x/a.jpg"), ("6", "y/a.jpg"), ("7", "b.jpg"), ("8", "c.jpg"))
    found = [Named(name, None) for name in "abc"]
    placement = place_images(found, images, "val.json")
    np.testing.assert_array_equal(placement.index, [-1, 2, 3])
    assert (placement.lost, placement.several) == ((), ("a",))


def test_ultralytics_numbers_the_text_of_a_stem_that_comes_back():
    # `yolo predict save_txt` on a/1.jpg, b/1.jpg and b/2.jpg writes 1.txt, 1-2.txt and 2.txt
    found = [Named(None, name) for name in ("1.jpg", "1-2", "2.jpg", "3.jpg", "4.jpg", "5.jpg")]
    images = known(*[(str(k), f"b/{k}.jpg") for k in range(1, 6)])
    placement = place_images(found, images, "b")
    np.testing.assert_array_equal(placement.index, [-1, -1, 1, 2, 3, 4])
    assert (placement.lost, placement.several) == ((), ("1.jpg", "1-2"))
    # names of that form of its own: 1.txt is of 1.jpg, and 1-2.jpg is not listed
    placement = place_images(found, [*images, *known(("6", "b/2-2.jpg"))], "b")
    np.testing.assert_array_equal(placement.index, [0, -1, 1, 2, 3, 4])
    assert (placement.lost, placement.several) == (("1-2",), ())


def test_stems_of_two_splits_are_ambiguous_and_not_missing():
    images = known(*[(f"{s}/{n}", f"{s}/{n}.jpg") for s in ("train", "val") for n in "abc"])
    with pytest.raises(InputError, match=r"3 of 3 images .* could each be several of data.yaml"):
        place_images([Named(n, None) for n in "abc"], images, "data.yaml")


def test_other_images():
    with pytest.raises(InputError, match="3 of their 3 images are not there"):
        place_images([Named(n, None) for n in "xyz"], known(("1", "a.jpg")), "val.json")


def test_predictions_of_more_images_than_are_known_are_read_and_named():
    found = [Named(n, None) for n in "abcdefg"]
    placement = place_images(found, known(("b", "x.jpg"), ("d", "y.jpg")), "val.json")
    np.testing.assert_array_equal(placement.index, [-1, 0, -1, 1, -1, -1, -1])
    assert (placement.lost, placement.several) == (("a", "c", "e", "f", "g"), ())


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


def test_standard_input_and_a_pattern_are_lists_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("b/10.jpg", "b/9.jpg", "a.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (7, 5)).save(tmp_path / name)
    monkeypatch.setattr("sys.stdin", io.StringIO("b/9.jpg\n# none\n\nelsewhere.jpg\n"))
    shown = [(i.file_name, i.size) for i in read_image_list("-")]
    assert shown == [("b/9.jpg", (5, 7)), ("elsewhere.jpg", None)]
    shown = [(i.file_name, i.size) for i in read_image_list("**/*.jpg")]
    assert shown == [("b/9.jpg", (5, 7)), ("b/10.jpg", (5, 7))]
    with pytest.raises(InputError, match="lists no image"):
        read_image_list("c/*.jpg")


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
    words = find_words(FILE, [(1, "lorry"), (3, "car"), (1, "lorry")], ReadAs(COCO))
    assert [words.categories[k] for k in words.label] == ["lorry", "car", "lorry"]
    assert words.numbers == {"1": "lorry", "3": "car"}
    assert find_words(FILE, [(None, "lorry")], ReadAs(COCO)).numbers == {}


def test_other_words_for_a_number_are_a_conflict():
    def warned(own, numbers=COCO):
        return find_words(FILE, [(1, None)], ReadAs(numbers), own=own).warnings

    assert warned(COCO, {}) == warned({}, COCO) == ()
    assert warned({"1": "person", "9": "boat"}) == ()
    assert warned({"1": "Person", "3": "car"}) == ()  # which is only spelt otherwise
    (warning,) = warned({"1": "bus", "3": "car"})
    assert (warning.code, warning.severity) == ("category-numbers-differ", "warning")
    assert warning.endswith("others: 1 is bus, not person")


@pytest.mark.parametrize(
    ("own", "severity"),
    [
        ({"1": "truck", "2": "Person", "3": "car"}, "note"),  # all words of the labels
        ({"1": "car", "2": "truck"}, "note"),  # some of them
        ({"1": "car", "2": "lorry"}, "warning"),
    ],
)
def test_an_export_that_numbers_known_words_anew_is_no_conflict(own, severity):
    box = {"image_id": 7, "bbox": [1, 2, 3, 4], "score": 0.5}
    document = {
        "images": [{"id": 7, "file_name": "a.jpg"}],
        "categories": [{"id": int(number), "name": word} for number, word in own.items()],
        "annotations": [{**box, "category_id": int(number)} for number in own],
    }
    for known in ({"numbers": COCO}, {"numbers": COCO, "words": [*COCO.values()]}):
        read = read_predictions(document, **known)
        assert [read.categories[k].lower() for k in read.label] == [w.lower() for w in own.values()]
        (notice,) = [of for of in read.warnings if of.code == "category-numbers-differ"]
        assert notice.severity == severity


def test_numbers_of_the_labels():
    words = find_words(FILE, [(8, None), (1, None)], ReadAs(COCO))
    assert [words.categories[k] for k in words.label] == ["truck", "person"]
    assert words.categories == ("person", "car", "truck")  # those it never found are known too
    assert words.numbers == COCO


@pytest.mark.parametrize("first", [0, 1])  # Ultralytics has counted from either
def test_numbers_that_count_from_zero_or_one(first):
    words = find_words(FILE, [(first, None), (first + 1, None), (first + 2, None)], ReadAs(COCO))
    np.testing.assert_array_equal(words.label, [0, 1, 2])
    assert words.numbers[str(first)] == "person"
    (warning,) = words.warnings
    assert f"counted from {first}: {first} is person, {first + 1} is car, {first + 2} is" in warning


@pytest.mark.parametrize(
    ("used", "numbers", "message"),
    [
        ([1, 90], COCO, r"have no word: 90. Known are 1 person, 3 car, 8 truck."),
        ([0], {}, "--names FILE"),
        ([0, 1], {"car": "car", "bus": "bus"}, "Known are car, bus"),  # in no order
    ],
)
def test_numbers_that_fit_no_name(used, numbers, message):
    with pytest.raises(InputError, match=message):
        find_words(FILE, [(number, None) for number in used], ReadAs(numbers))


def document(images, rows):
    """Boxes of the category 1 as a COCO document that lists its own images."""
    entries = [
        {"id": k, "image_id": image, "category_id": 1, "bbox": [1, 1, 5, 5], "score": 0.4}
        for k, image in enumerate(rows)
    ]
    categories = [{"id": 1, "name": "car"}]
    return {"images": images, "categories": categories, "annotations": entries}


def read(tmp_path, content, images):
    path = tmp_path / "boxes.json"
    path.write_text(json.dumps(content))
    return read_predictions(path, images=images, numbers={"1": "car"}, where="val.json")


def test_ids_of_the_files_own_list_are_numbers_of_that_list(tmp_path):
    """The second of four images was not exported, so that the ids after it are shifted."""
    images = known(*[(str(k), f"{name}.jpg") for k, name in enumerate("abcd", 1)])
    own = [{"id": k, "file_name": f"out/{name}.png"} for k, name in enumerate("acd", 1)]
    boxes = read(tmp_path, document(own, [1, 2, 2, 2.0]), images)
    np.testing.assert_array_equal(boxes.image, [0, 2, 2, 2])
    # `b` was not seen; `d` was, and the detector found nothing there
    assert boxes.uncovered == (1,) and boxes.covered.tolist() == [0, 2, 3]
    assert "1 of 4 images of val.json are left out" in boxes.left_out[0]


@pytest.mark.parametrize("listed", [True, False])
def test_boxes_on_images_that_the_own_list_lacks_are_said_to_be_left_out(tmp_path, listed):
    """With a list of images they were left out in silence."""
    own = [{"id": k, "file_name": f"{name}.jpg"} for k, name in enumerate("abc", 1)]
    images = known(("7", "a.jpg"), ("8", "b.jpg"), ("9", "c.jpg")) if listed else None
    boxes = read(tmp_path, document(own, [1, 2, 3, 4]), images)
    assert boxes.image.tolist() == [0, 1, 2] and boxes.uncovered == ()
    assert [notice.code for notice in boxes.left_out] == ["images-not-placed"]


class ComparedName(str):
    """Counts how often names are compared."""

    n_compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other):
        ComparedName.n_compared += 1
        return str.__eq__(self, other)


def test_the_very_list_as_own_list_is_compared_once():
    """Once for every image, of a hundred thousand many minutes."""
    own, images = (
        known(*[(str(k), ComparedName(f"{k}.jpg")) for k in range(500)]) for _ in range(2)
    )
    named = [Named(image.image_id, None) for image in images]
    placed = place_images(named, images, "val.json", file_images=own)
    assert placed.index.tolist() == list(range(500))
    assert ComparedName.n_compared < 20 * 500


def test_an_own_list_without_names_is_one_of_ids(tmp_path):
    images = known(("1", "a.jpg"), ("2", "b.jpg"))
    boxes = read(tmp_path, document([{"id": 2}, {"id": 1}], [2, 1]), images)
    np.testing.assert_array_equal(boxes.image, [1, 0])


def test_an_own_list_of_other_names_is_of_other_images(tmp_path):
    images = known(("1", "a.jpg"), ("2", "b.jpg"))
    own = [{"id": k, "file_name": f"other{k}.jpg"} for k in (1, 2)]
    with pytest.raises(InputError, match="by its own list of images"):
        read(tmp_path, document(own, [1, 2]), images)


def test_sizes_of_the_own_list(tmp_path):
    """They are those of the images where nothing else has them, and must not contradict."""
    images = known(("1", "a.jpg"), ("2", "b.jpg"))
    own = [
        {"id": k, "file_name": f"{n}.jpg", "width": 40, "height": 30}
        for k, n in ((1, "b"), (2, "a"))
    ]
    boxes = read(tmp_path, document(own, [1, 2]), images)
    assert [image.size for image in boxes.images] == [(30, 40)] * 2
    resized = [replace(image, size=(60, 80)) for image in images]
    with pytest.raises(InputError, match=r"other sizes than val\.json: 2 of 2 .* 40 x 30 pixels"):
        read(tmp_path, document(own, [1, 2]), resized)


@pytest.mark.parametrize(
    ("size", "warned"), [((30, 40), False), ((30, 41), True), ((40, 30), True)]
)
def test_some_sizes_that_contradict_are_warned_of(tmp_path, size, warned):
    """An upright photograph that the detector saw on its side, among others."""
    names = "abcde"
    own = [
        {"id": k, "file_name": f"{name}.jpg", "width": 4000, "height": 3000}
        for k, name in enumerate(names)
    ]
    images = [
        replace(image, size=(3000, 4000))
        for image in known(*[(str(k), f"{name}.jpg") for k, name in enumerate(names)])
    ]
    images[1] = replace(images[1], size=(100 * size[0], 100 * size[1]))
    rounded = replace(images[2], size=(3001, 4000))
    listed = [*images[:2], rounded, *images[3:]]
    boxes = read(tmp_path, document(own, range(5)), listed)
    notices = [notice for notice in boxes.left_out if notice.code == "boxes-of-other-size"]
    assert len(notices) == warned
    if warned:
        assert notices[0].startswith("in 1 of 5 images the predictions state another size")
        assert f"b.jpg: 4000 x 3000, not {images[1].size[1]} x {images[1].size[0]}" in notices[0]


def test_boxes_of_images_that_the_own_list_lacks(tmp_path):
    images = known(("1", "a.jpg"), ("2", "b.jpg"))
    own = [{"id": 7, "file_name": "a.jpg"}]
    with pytest.raises(InputError, match="2 of 3 images of the predictions are not in their own"):
        read(tmp_path, document(own, [1, 2, 7]), images)


def rows_of(names, score=0.4):
    box = {"category_id": 1, "bbox": [1, 1, 5, 5], "score": score}
    return [{"file_name": f"{name}.jpg", **box} for name in names]


def test_images_that_could_not_be_placed_are_not_missed_ones(tmp_path):
    """Two of ten images have new names: nobody knows what was found on them."""
    images = known(*[(str(k), f"{k}.jpg") for k in range(10)])
    boxes = read(tmp_path, rows_of([*range(8), "new1", "new2"]), images)
    assert boxes.uncovered == (8, 9)
    note = boxes.left_out[0]
    assert note.code == "images-not-placed"
    assert note.startswith("2 of 10 images of val.json are left out with their labels (8.jpg, 9.jp")
    assert "not in val.json: 2 (new1.jpg, new2.jpg)" in note


def test_an_empty_image_among_labels_of_a_part_stays(tmp_path):
    """The predictions are of a whole folder: their other images are not the empty one."""
    images = known(*[(str(k), f"{k}.jpg") for k in range(10)])
    boxes = read(tmp_path, rows_of(range(1, 40)), images)
    assert boxes.uncovered == ()  # .4 is no low score: images without a box are common


def test_images_of_splits_without_predictions_are_left_out(tmp_path):
    names = [f"{split}/{k}" for split in ("train2017", "val2017") for k in range(3)]
    images = known(*[(name, f"images/{name}.jpg") for name in names])
    boxes = read(tmp_path, rows_of(["val2017/0", "val2017/2"]), images)
    assert boxes.uncovered == (0, 1, 2) and boxes.left_out[0].code == "splits-left-out"
    assert boxes.on_images(boxes.covered).images == tuple(images[3:])


def test_a_split_in_which_nothing_was_found_is_one_that_the_own_list_has(tmp_path):
    """Its objects were missed: to leave it out made the accuracy that of the other split."""
    names = [f"{split}/{k}" for split in ("train", "test", "val") for k in range(3)]
    images = known(*[(name, f"images/{name}.jpg") for name in names])
    own = [{"id": k, "file_name": f"{name}.jpg"} for k, name in enumerate(names[3:])]
    boxes = read(tmp_path, document(own, [3, 5]), images)  # of val
    assert boxes.uncovered == (0, 1, 2)
    (note,) = (note for note in boxes.left_out if note.code == "splits-left-out")
    assert "of the split test, val (6 images)" in note and "not of train (3 images)" in note


def test_numbers_that_may_count_from_either_are_not_decided():
    words = find_words(FILE, [(1, None), (2, None)], ReadAs(COCO, undecided=True))
    assert words.numbering.used == "0" and not words.numbering.decided
    assert [words.categories[k] for k in words.label] == ["car", "truck"]
    other = words.numbering.others["1"][words.label]
    assert [words.categories[k] for k in other] == ["person", "car"]
    named = find_words(FILE, [(1, None), (2, None)], ReadAs(COCO, numbering="1"))
    assert named.numbering.decided and named.numbers == {"1": "person", "2": "car", "3": "truck"}
    with pytest.raises(InputError, match=r"--numbering 0 .*: car, truck; --numbering 1 .*: person"):
        find_words(FILE, [(1, None), (2, None)], ReadAs(COCO))


@pytest.mark.parametrize("number", [8, 8.0, "8", "8.0", " 8"])
def test_a_number_is_one_however_it_is_written(number):
    words = find_words(FILE, [(number, None)], ReadAs(COCO))
    assert words.categories[words.label[0]] == "truck"


def test_other_spellings_of_a_known_word_are_that_word(tmp_path):
    rows = [
        {"file_name": "a.jpg", "category": word, "bbox": [1, 1, 5, 5], "score": 0.4}
        for word in ("Traffic_Light", "car", "Car", "cup-holder", "PERSON")
    ]
    (tmp_path / "boxes.json").write_text(json.dumps(rows))
    words = ["person", "traffic light", "car"]
    boxes = read_predictions(tmp_path / "boxes.json", words=words)
    words = [boxes.categories[k] for k in boxes.label]
    # "Car" is another category of this detector, which has "car", too
    assert words == ["traffic light", "car", "Car", "cup-holder", "person"]
    note, warning = boxes.left_out
    assert note.code == "words-spelt-otherwise" and "Traffic_Light for traffic light" in note
    assert warning.code == "words-nearly-equal" and "Car beside car" in warning


def test_words_beside_numbers_are_spelt_otherwise_than_those_of_the_labels(tmp_path):
    """The words of the labels are none of the file, where only some of its rows have numbers."""
    row = {"image_id": 1, "bbox": [1, 1, 5, 5], "score": 0.4}
    rows = [row | {"category": "CAR"}, row | {"category_id": 3}, row | {"category": "Person"}]
    (tmp_path / "boxes.json").write_text(json.dumps(rows))
    boxes = read_predictions(tmp_path / "boxes.json", numbers={"1": "person", "3": "car"})
    assert [boxes.categories[k] for k in boxes.label] == ["car", "car", "person"]
    assert [notice.code for notice in boxes.left_out] == ["words-spelt-otherwise"]
