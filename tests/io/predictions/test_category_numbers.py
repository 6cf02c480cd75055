"""Category numbers that several ways fit: labels decide, or the frequencies of the fit."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from autoeval.boxes import Boxes, LabelledImage
from autoeval.errors import InputError
from autoeval.io.predictions import read_predictions
from autoeval.io.predictions.category_words import (
    ReadAs,
    find_words,
    frequencies,
    kind_of,
    numbered_by_fit,
    numbered_by_labels,
)

FILE = Path("site.json")
WORDS = ["person", "bicycle", "car", "bus", "boat"]
FROM_0 = {str(k): word for k, word in enumerate(WORDS)}
WITH_GAPS = dict(zip(["1", "2", "3", "5", "9"], WORDS, strict=True))
NONE = {}
OFTEN = {"person": 50.0, "bicycle": 2.0, "car": 40.0, "bus": 5.0, "boat": 1.0}


def read(numbers, known=FROM_0, *, own=NONE, positions=False, **how):
    """One box an image, each of a category number."""
    n = len(numbers)
    images = tuple(LabelledImage(str(k), f"{k}.jpg", (100, 100)) for k in range(n))
    as_known = ReadAs(known, undecided=True, **how)
    words = find_words(
        FILE, [(number, None) for number in numbers], as_known, own=own, positions=positions
    )
    columns = (np.arange(n), words.label, np.tile([10.0, 10, 50, 50], (n, 1)), np.full(n, 0.8))
    known = {"numbers": words.numbers, "numbering": words.numbering}
    return Boxes(images, words.categories, *columns, **known)


def labels_of(boxes, words):
    index = np.array([WORDS.index(word) for word in words])
    columns = (boxes.image, index, boxes.boxes.astype(float))
    return Boxes(boxes.images, tuple(WORDS), *columns)


def words_of(boxes):
    return [boxes.categories[k] for k in boxes.label]


@pytest.mark.parametrize("first", [0, 1])
def test_labels_decide(first):
    words = ["person", "car", "car", "bus"] * 10
    boxes = read([WORDS.index(word) + first for word in words])
    decided = numbered_by_labels(boxes, labels_of(boxes, words), NONE, FILE)
    assert words_of(decided) == words
    assert [w.code for w in decided.warnings] == ["category-numbers-guessed"] * first
    assert decided.numbers[str(first)] == "person"  # which later files of this detector have


def test_labels_in_other_words_decide():
    words = ["person", "car", "car", "bus"] * 10
    boxes = read([WORDS.index(word) + 1 for word in words])
    truth = labels_of(boxes, ["boat" if word in ("car", "bus") else word for word in words])
    translated = {"car": "boat", "bus": "boat"}
    assert words_of(numbered_by_labels(boxes, truth, translated, FILE)) == words


def test_labels_of_nothing_there_leave_the_usual_way_or_refuse():
    boxes = read([1, 2, 3] * 10)
    none = labels_of(boxes.where(np.zeros(len(boxes), bool)), [])
    assert words_of(numbered_by_labels(boxes, none, NONE, FILE))[:3] == ["bicycle", "car", "bus"]
    undecided = read([2, 4] * 10, WITH_GAPS)  # no labels have 4, and both countings fit
    with pytest.raises(
        InputError, match=r"--numbering 0 .*: car, boat; --numbering 1 .*: bicycle, bus"
    ):
        numbered_by_labels(undecided, none, NONE, FILE)


def test_a_fit_refuses_what_it_finds_seldom_and_names_the_ways():
    """A fit on text, from 0, and a site as JSON, from 1."""
    boxes = read([1, 3, 3, 4] * 10)
    with pytest.raises(
        InputError, match=r"--numbering 1 \S+ times .*--numbering 1 .*: car, person, bus"
    ):
        numbered_by_fit(boxes, OFTEN, "text:0", FILE)
    named = read([1, 3, 3, 4] * 10, numbering="1")
    assert words_of(numbered_by_fit(named, OFTEN, "text:0", FILE))[:2] == ["person", "car"]


def test_a_fit_that_speaks_for_the_usual_way_says_nothing():
    boxes = numbered_by_fit(read([0, 2, 2, 3] * 10), OFTEN, "text:0", FILE)
    assert words_of(boxes)[:2] == ["person", "car"] and not boxes.warnings


def test_a_file_of_the_same_kind_is_read_as_the_fit_was():
    """A harbour has boats, although the fit had few."""
    boxes = read([4] * 40, {**FROM_0, "5": "cat"})
    usual = kind_of(read([0]))
    assert usual == "file:labels"
    decided = numbered_by_fit(boxes, OFTEN, usual, FILE)
    assert words_of(decided) == ["boat"] * 40
    (warning,) = decided.warnings
    assert "--numbering 1" in warning and "bus" in warning
    with pytest.raises(InputError, match="--numbering"):
        numbered_by_fit(boxes, OFTEN, "text:0", FILE)


def test_numbers_that_are_not_those_of_the_fit_are_read_by_its_frequencies():
    decided = numbered_by_fit(read([2, 4] * 10, WITH_GAPS), OFTEN, "file:labels", FILE)
    assert words_of(decided)[:2] == ["car", "boat"]
    assert [w.code for w in decided.warnings] == ["category-numbers-guessed"]
    with pytest.raises(InputError, match="does not decide"):
        numbered_by_fit(read([2, 4] * 10, WITH_GAPS), {}, "file:labels", FILE)


def test_the_list_of_images_says_what_numbers_mean_where_the_fit_does_not():
    """As results in COCO's form do, of a document with categories of its own."""
    of_images = {"10": "person", "20": "car", "30": "Boat"}
    boxes = read([10, 20, 30], of_images=of_images)
    assert words_of(boxes) == ["person", "car", "boat"]
    assert words_of(read([10, 20], {}, words=WORDS, of_images=of_images)) == ["person", "car"]
    with pytest.raises(InputError, match="no word: 10, 20"):
        read([10, 20], of_images={"10": "person", "20": "tree"})  # no word of the detector


def test_a_list_of_images_with_other_numbers_than_the_fit_is_never_silent():
    of_images = {"0": "boat", "1": "bus", "2": "bicycle", "3": "car", "4": "person"}
    usual = "file:labels"
    by_list = read([4, 3, 3, 1] * 10 + [0], of_images=of_images)
    by_fit = read([0, 2, 2, 3] * 10, of_images=of_images)
    for boxes, first in ((by_list, ["person", "car", "car", "bus"]), (by_fit, ["person", "car"])):
        decided = numbered_by_fit(boxes, OFTEN, usual, FILE)
        assert words_of(decided)[: len(first)] == first
        assert [w.code for w in decided.warnings] == ["category-numbers-guessed"]
    with pytest.raises(InputError, match=r"--numbering labels.*--numbering images"):
        numbered_by_fit(by_fit, {}, usual, FILE)
    named = read([4, 3, 3, 1], of_images=of_images, numbering="images")
    assert words_of(numbered_by_fit(named, OFTEN, usual, FILE)) == ["person", "car", "car", "bus"]
    same = read([0, 2, 2, 3], of_images=FROM_0)
    assert (
        not same.numbering.others and not read([0, 2], positions=True, of_images=of_images).warnings
    )


def test_a_list_that_counts_from_one_where_the_fit_counts_from_zero_is_never_silent():
    """Its numbers then read as `--numbering 1` does; both are the same reading."""
    of_images = {str(k): word for k, word in enumerate(WORDS, 1)}
    by_list = read([1, 3, 3, 4] * 10, of_images=of_images)
    assert not by_list.numbering.decided and [*by_list.numbering.others] == ["images"]
    decided = numbered_by_fit(by_list, OFTEN, "file:labels", FILE)
    assert words_of(decided)[:4] == ["person", "car", "car", "bus"]
    assert [w.code for w in decided.warnings] == ["category-numbers-guessed"]
    with pytest.raises(InputError, match="--numbering images"):
        numbered_by_fit(by_list, {}, "file:labels", FILE)
    of_text = read([1, 3], positions=True, of_images=of_images)  # classes of text are positions
    assert of_text.numbering.decided and words_of(of_text) == ["bicycle", "bus"]


@pytest.mark.parametrize("usual", ["", "file:labels", "text:0"])  # of a fit on words, ...
def test_a_file_that_says_what_its_numbers_mean_is_read_so_at_any_fit(usual):
    """Its numbers rise in another order than it lists its words, and are places in that list."""
    own = {"2": "boat", "1": "person", "3": "car"}
    boxes = read([2] * 20 + [3, 1], own=own, words=WORDS, kind=usual)
    decided = numbered_by_fit(boxes, OFTEN, usual, FILE)  # the fit finds hardly a boat
    assert words_of(decided) == ["boat"] * 20 + ["car", "person"]
    assert decided.numbers == own and not decided.warnings and not decided.numbering.others


def test_own_words_of_a_file_that_are_spelt_otherwise_are_those_of_the_fit_in_every_way():
    own = {number: word.title() for number, word in FROM_0.items()}
    boxes = read([1, 3, 3, 4] * 10, {}, own=own, words=WORDS)
    assert words_of(boxes)[:4] == ["bicycle", "bus", "bus", "boat"]
    otherwise = boxes.numbered("1")
    assert words_of(otherwise)[:4] == ["person", "car", "car", "bus"]
    assert otherwise.numbers["1"] == "person"


def test_files_of_text_count_as_the_text_of_the_fit():
    words = ["person", "car", "car", "bus"] * 10
    boxes = read([WORDS.index(word) + 1 for word in words], positions=True)
    fitted = numbered_by_labels(boxes, labels_of(boxes, words), NONE, FILE)
    assert kind_of(fitted) == "text:1"
    later = read([1, 2, 3], fitted.numbers, positions=True, kind="text:1")
    assert words_of(later) == ["person", "bicycle", "car"]


WAYS = {  # number in the file, of a position in the list of 80 and of COCO's number
    "labels": lambda k, coco: coco,
    "0": lambda k, coco: k,
    "1": lambda k, coco: k + 1,
}


@pytest.mark.slow
@pytest.mark.parametrize("detector", ["yolo26n", "nanodet_plus", "fastestdet", "yolov8n"])
def test_frequencies_of_a_fit_tell_the_countings_apart_at_real_sites(shared, detector):
    """Nothing is read wrong: the right way is taken, or the file is refused."""
    document = json.loads((shared / "real/all/coco_mini/annotations.json").read_text())
    known = {str(c["id"]): c["name"] for c in document["categories"]}
    position = {number: k for k, number in enumerate(known)}
    chosen = {i["id"] for i in document["images"] if i.get("coco_split") == "val"}
    folder = shared / "real_predictions" / detector
    of_fit = json.loads((folder / "all/coco_mini.json").read_text())
    of_fit = frequencies(as_boxes([r for r in of_fit if r["image_id"] in chosen], known))
    outcomes = Counter()
    for path in sorted(folder.glob("*/*.json")):
        rows = json.loads(path.read_text())
        if not rows or path.stem == "coco_mini":
            continue
        right = [known[str(row["category_id"])] for row in rows]
        for way, number in WAYS.items():
            numbers = [number(position[str(r["category_id"])], r["category_id"]) for r in rows]
            for list_of_fit in (known, {str(k): w for k, w in enumerate(known.values())}):
                boxes = as_boxes(rows, list_of_fit, numbers)
                if not boxes.numbering.others:
                    outcomes["decided by the numbers"] += words_of(boxes) == right
                    assert words_of(boxes) == right, (path, way)
                    continue
                try:
                    decided = words_of(numbered_by_fit(boxes, of_fit, "", path))
                except InputError:
                    outcomes["refused"] += 1
                    continue
                assert decided == right, (path, way)
                outcomes["decided by frequencies"] += 1
    assert outcomes["decided by frequencies"] > 50 and outcomes["refused"] > 50


def as_boxes(rows, known, numbers=None):
    numbers = [row["category_id"] for row in rows] if numbers is None else numbers
    words = find_words(FILE, [(number, None) for number in numbers], ReadAs(known, undecided=True))
    n = len(rows)
    images = tuple(LabelledImage(str(k), f"{k}.jpg", None) for k in range(n))
    scores = np.array([row["score"] for row in rows])
    columns = (np.arange(n), words.label, np.zeros((n, 4)), scores)
    known = {"numbers": words.numbers, "numbering": words.numbering}
    return Boxes(images, words.categories, *columns, **known)


@pytest.mark.parametrize(
    ("own", "warned"),
    [(["person", "bicycle", "car"], False), (["car", "bicycle", "person"], True)],
)
def test_words_of_text_in_the_order_of_labels_that_count_from_1_are_no_contradiction(own, warned):
    """Text counts from 0: classes.txt says the list of the labels again, or another one."""
    from_1 = {str(k): word for k, word in enumerate(["person", "bicycle", "car", "bus"], 1)}
    of_file = {str(k): word for k, word in enumerate(own)}
    words = find_words(FILE, [(0, None), (2, None)], ReadAs(from_1), own=of_file, positions=True)
    assert [words.categories[k] for k in words.label] == [own[0], own[2]]
    assert ("category-numbers-differ" in {w.code for w in words.warnings}) == warned


def test_numbers_in_the_place_of_words_are_numbers():
    """``label`` of torchvision's dicts that were written as rows; not where words are numbers."""
    box = {"image_id": 1, "bbox": [1, 2, 3, 4], "score": 0.5}
    rows = [{**box, "label": 3}, {**box, "label": 1.0}]
    read = read_predictions(rows, numbers={"1": "person", "3": "car"})
    assert [read.categories[k] for k in read.label] == ["car", "person"]
    read = read_predictions(pd.DataFrame(rows), numbers={"1": "person", "3": "car"})
    assert [read.categories[k] for k in read.label] == ["car", "person"]
    named = [{**box, "label": 3}, {**box, "label": 1}]
    for of_words in (named, [{**row, "label": str(row["label"])} for row in named]):
        read = read_predictions(of_words, numbers={"0": "1", "1": "3"})
        assert [read.categories[k] for k in read.label] == ["3", "1"]
        assert read_predictions(of_words).categories == ("3", "1")  # nothing is known of numbers


@pytest.mark.parametrize("word", [3, "3", 2])
def test_a_number_in_the_place_of_the_word_beside_a_number_is_no_word(word):
    """As of a COCO document whose tool adds ``category``; it was the word of another category."""
    row = {"image_id": 1, "bbox": [1, 2, 3, 4], "score": 0.5, "category_id": 3, "category": word}
    for given in ([row], pd.DataFrame([row])):
        read = read_predictions(given, numbers={"1": "person", "3": "car"})
        assert [read.categories[k] for k in read.label] == ["car"]


@pytest.mark.parametrize("column", ["label", "category", "category_name", "category_id"])
def test_numbers_written_as_text_are_numbers(column):
    """They were words of another detector, so that the file was refused."""
    box = {"image_id": 1, "bbox": [1, 2, 3, 4], "score": 0.5}
    rows = [{**box, column: "3"}, {**box, column: "1.0"}, {**box, column: "3"}]
    for given in (rows, pd.DataFrame(rows)):
        read = read_predictions(given, numbers={"1": "person", "3": "car"})
        assert [read.categories[k] for k in read.label] == ["car", "person", "car"]
    # a word where known words are such texts
    digits = [{**box, column: "3"}, {**box, column: "11"}]
    if column != "category_id":
        read = read_predictions(digits, numbers={"1": "2", "2": "3"})
        assert [read.categories[k] for k in read.label] == ["3", "11"]
