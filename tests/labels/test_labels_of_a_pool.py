"""Labels take the images and the spelling of a pool, once for all that follows."""

from pathlib import Path

import numpy as np
import pytest

from autoeval.boxes import Boxes, LabelledImage
from autoeval.errors import InputError
from autoeval.io.labels.content import BoxColumns, LabelledBox, LabelSet
from autoeval.labels.matching import labels_on, match_labels

POOL = (LabelledImage("11", "site/a.jpg", (9, 9)), LabelledImage("12", "site/b.jpg", (9, 9)))


def labels_of(names, boxes, categories=("Car", "Traffic_Light"), **others):
    images = tuple(LabelledImage(str(k), name, None) for k, name in enumerate(names, 1))
    boxes = [LabelledBox(image, word, (0.0, 0.0, 2.0, 2.0)) for image, word in boxes]
    columns = BoxColumns.of(boxes)
    return LabelSet(Path("labels.json"), images, categories, columns, **others)


def test_images_are_those_of_the_pool_and_words_the_known_ones():
    labels = labels_of(
        ["b.png", "a.png", "c.png"],
        [("1", "Car"), ("2", "Traffic_Light"), ("3", "Car")],
        checked={"1": frozenset({"Car"}), "3": frozenset({"Car"})},
    )
    made = labels_on(labels, POOL, ["car", "traffic light", "bus"])
    assert made.images == (POOL[1], POOL[0])
    assert made.categories == ("car", "traffic light")
    assert [(box.image_id, box.category) for box in made.boxes] == [
        ("12", "car"),
        ("11", "traffic light"),
    ]
    assert made.checked == {"12": frozenset({"car"})}
    assert [n.code for n in made.warnings] == [
        "images-matched",
        "images-not-in-pool",
        "words-spelt-otherwise",
    ]


def test_images_that_are_known_by_ids_against_their_names_are_said():
    images = (LabelledImage("11", "x.jpg", None),)
    made = labels_on(LabelSet(Path("labels.json"), images), POOL, [])
    assert made.images == POOL[:1]
    (note,) = made.warnings
    assert (note.code, note.severity) == ("images-matched", "warning")
    assert "although file names differ" in note


def test_words_stay_where_both_spellings_are_used():
    labels = labels_of(["a.jpg"], [("1", "Car"), ("1", "car")], categories=("Car", "car"))
    made = labels_on(labels, POOL, ["car"])
    assert made.categories == ("Car", "car")
    assert made.warnings == ()


def test_images_of_other_pools_and_images_that_are_labelled_twice_are_refused():
    with pytest.raises(InputError, match="pool"):
        labels_on(labels_of(["x.jpg"], []), POOL, ["car"])
    with pytest.raises(InputError, match="twice"):
        labels_on(labels_of(["site/a.jpg", "./site/a.jpg"], []), POOL, ["car"])


def test_a_category_that_was_looked_for_and_is_nowhere_needs_no_other_word():
    """Other words alone are asked to be translated."""
    none = np.zeros(0, np.int64)
    pool = Boxes(POOL, ("bus",), none, none, np.zeros((0, 4)), np.zeros(0))
    boxes = [("1", "Car")]
    listed = labels_on(
        labels_of(["a.jpg"], boxes, ("Car", "bus"), lists_categories=True), POOL, ["bus"]
    )
    with pytest.raises(InputError, match=r"They hold Car\.") as refused:
        match_labels(listed, pool)
    assert "Translate them" not in str(refused.value)
    with pytest.raises(InputError, match="Translate them"):
        match_labels(labels_on(labels_of(["a.jpg"], boxes, ("Car",)), POOL, ["bus"]), pool)


@pytest.mark.parametrize("lists_categories", [True, False])
def test_a_translated_word_that_the_labels_do_not_list_is_warned_of(lists_categories):
    """Misspelt, its objects were none; where nothing lists the words none may be labelled."""
    no_boxes = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 4))
    pool = Boxes(POOL, ("vehicle",), *no_boxes)
    labels = labels_of(
        ["site/a.jpg"], [("1", "car")], ("car", "lorry"), lists_categories=lists_categories
    )
    made = labels_on(labels, POOL, [])
    for word, is_known in (("lorry", True), ("lorrie", not lists_categories)):
        warnings = match_labels(made, pool, {"car": "vehicle", word: "vehicle"}).warnings
        assert [notice.code for notice in warnings] == ([] if is_known else ["word-not-known"])


def test_labels_of_images_that_could_be_several_of_the_pool_are_said():
    names = ["a/1.jpg", "b/1.jpg", "a/2.jpg", "b/2.jpg", "a/3.jpg"]
    pool = [LabelledImage(str(k), name, None) for k, name in enumerate(names, 11)]
    made = labels_on(labels_of(["1.jpg", "2.jpg", "3.jpg"], []), pool, ["Car"])
    assert [image.file_name for image in made.images] == ["a/3.jpg"]
    (notice,) = made.warnings
    assert notice.code == "images-not-in-pool" and "could be several of its images" in notice
