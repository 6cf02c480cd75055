"""Warnings of labels that predictions or other labels contradict, or that lie beside them."""

from dataclasses import replace

import numpy as np
import pytest

from autoeval.accuracy.coco_matching import rank_categories
from autoeval.boxes import Boxes, LabelledImage
from autoeval.io.coco import read_coco
from autoeval.io.labels.truth import labelled_boxes
from autoeval.io.predictions import read_predictions
from autoeval.sites.label_warnings import (
    exchanged_words,
    label_warnings,
    labelled_twice,
    labels_elsewhere,
    mismatched_words,
    overconfident,
    shifted_labels,
    unlabelled_objects,
)

N = 100
IMAGES = tuple(LabelledImage(str(k), f"{k}.jpg", None) for k in range(N))
BOX = np.array([10.0, 10, 50, 50])


def truth(image, words=("car", "bus"), label=0, boxes=BOX):
    n = len(image)
    labels, boxes = np.full(n, label), np.tile(boxes, (n, 1))
    return Boxes(IMAGES, words, np.array(image, int), labels, boxes)


def found(scores, words=("car", "bus"), label=0):
    """One box an image."""
    boxes = np.tile(np.float32(BOX), (N, 1))
    labels = np.full(N, label)
    return Boxes(IMAGES, words, np.arange(N), labels, boxes, np.float32(scores))


@pytest.mark.parametrize(
    # the standard error of 60 % of a hundred is 4.9 points
    ("labelled", "said"),
    [(100, ""), (60, ""), (51, ""), (49, "49% of the 100 boxes over 0.3 are true positives")],
)
def test_overconfident(labelled, said):
    mine, true = found(np.full(N, 0.6)), truth(range(labelled))
    warnings = overconfident(mine, rank_categories(mine, true))
    assert "".join(warnings).startswith(said) and len(warnings) == bool(said)


def test_boxes_that_nobody_is_sure_of_do_not_count():
    scores = np.where(np.arange(N) < 70, 0.7, 0.2)
    mine = found(scores)
    assert overconfident(mine, rank_categories(mine, truth(range(70)))) == ()
    (warning,) = overconfident(mine, rank_categories(mine, truth(range(70, 100))))
    assert warning.startswith("0% of the 70 boxes") and "mean score is 0.70" in warning
    few = mine.where(np.arange(N) < 19)
    assert overconfident(few, rank_categories(few, truth([]))) == ()


def test_boxes_in_a_crowd_are_neither_right_nor_wrong():
    mine, true = found(np.full(N, 0.9)), truth(range(100))
    crowd = replace(true, crowd=np.arange(N) >= 60)
    assert overconfident(mine, rank_categories(mine, crowd)) == ()


def test_one_thing_by_two_words():
    mine = found(np.full(N, 0.6), words=("automobile", "bus"))
    (warning,) = mismatched_words(mine, truth(range(30)))
    assert "car (30 boxes)" in warning and "automobile (100 boxes)" in warning
    assert mismatched_words(found(np.full(N, 0.6)), truth(range(30))) == ()
    # the labels name fewer things than the detector knows, and miss none of its words
    assert mismatched_words(found(np.full(N, 0.6), ("car", "dog"), 1), truth([], ("car",))) == ()


def test_labelled_twice():
    assert labelled_twice(truth(range(100))) == ()
    (warning,) = labelled_twice(truth([*range(100), *range(2)]))
    assert warning.startswith("4 of 102 labelled boxes")
    assert labelled_twice(truth([*range(100), 0])) == ()  # 2 of 101
    aside = truth([*range(100), *range(5)])
    aside.boxes[100:] += 20
    assert labelled_twice(aside) == ()


N_BUSY = 40  # images of four objects each
CORNERS = np.array([[0.0, 0], [100, 0], [0, 100], [100, 100]])
OBJECTS = np.tile(np.concatenate([CORNERS, CORNERS + 40], axis=1), (N_BUSY, 1))  # four an image
AWAY = 1000.0


def world(score=0.9):
    """40 images with four objects of 40 pixels each; the first of each is found with `score`."""
    image, label = np.repeat(np.arange(N_BUSY), 4), np.zeros(4 * N_BUSY, int)
    truth = Boxes(
        IMAGES[:N_BUSY], ("car",), image, label, OBJECTS.copy(), crowd=np.zeros(4 * N_BUSY, bool)
    )
    boxes, scores = np.float32(OBJECTS), np.full(4 * N_BUSY, 0.2, np.float32)
    scores[::4] = score
    return Boxes(IMAGES[:N_BUSY], ("car",), image, label, boxes, scores), truth


def without_labels(truth, images):
    """Without the label of the first object of some images."""
    return truth.where(~np.isin(np.arange(len(truth)), 4 * np.array(images, int)))


@pytest.mark.parametrize(
    # of 160 - n labels a quarter, rounded down, is looked at: 38 of the 40 confident boxes
    ("n", "said"),
    [(0, ""), (4, ""), (5, "5 of the 38 most confident boxes"), (8, "8 of the 38 ")],
)
def test_confident_boxes_without_a_label(n, said):
    found, truth = world()
    warnings = unlabelled_objects(found, without_labels(truth, range(n)))
    assert "".join(warnings).startswith(said) and len(warnings) == bool(said)


def test_an_eighth_of_many_confident_boxes_is_not_yet_odd():
    found, truth = world()
    many, labels = found.where(np.tile(np.arange(160), 4)), truth.where(np.tile(np.arange(160), 4))
    first = np.tile(np.arange(160), 4) % 4 == 0
    # Of 640 - 20 labels a quarter is looked at, 155 boxes, 20 of them without a label: 12.9 %.
    assert unlabelled_objects(many, labels.where(~(first & (labels.image < 5)))) != ()
    # Of 640 - 16 labels 156 boxes, 16 of them without a label: 10.3 %.
    assert unlabelled_objects(many, labels.where(~(first & (labels.image < 4)))) == ()


def test_boxes_that_are_not_sure_or_lie_in_a_crowd_do_not_count():
    found, truth = world(score=0.5)
    assert unlabelled_objects(found, without_labels(truth, range(20))) == ()
    found, truth = world()
    crowd = replace(truth, crowd=np.isin(np.arange(160), 4 * np.arange(20)))
    assert unlabelled_objects(found, crowd) == ()


@pytest.mark.parametrize(("n", "said"), [(0, ""), (4, ""), (5, "in 5 of 40 images")])
def test_labels_of_other_images(n, said):
    found, truth = world()
    truth.boxes[truth.image < n] += AWAY
    warnings = labels_elsewhere(found, truth)
    assert "".join(warnings).startswith(said) and len(warnings) == bool(said)


def test_labels_of_other_images_count_in_each_category():
    found, truth = world()
    two = replace(truth, categories=("car", "bus"), label=np.arange(160) // 4 % 2)
    mine = replace(found, categories=("car", "bus"), label=np.arange(160) // 4 % 2)
    assert labels_elsewhere(mine, two) == ()
    # the labels of five images are of the other category: there is nothing to compare with
    confused = replace(two, label=np.where(two.image < 5, 1 - two.label, two.label))
    assert labels_elsewhere(mine, confused) == ()


@pytest.mark.parametrize(
    ("right", "down", "said"),
    [(2.0, 0, False), (2.1, 0, True), (-4, 1, True), (0, 10, True)],
)
def test_shifted_labels(right, down, said):
    found, truth = world()
    truth.boxes[:] += [right, down, right, down]
    warnings = shifted_labels(found, truth)
    expected = f"lie {right:+.1f} px (to the right) and {down:+.1f} px (down)"
    assert len(warnings) == said and all(expected in warning for warning in warnings)


def test_a_shift_that_scatter_explains_is_none():
    found, truth = world()
    # Offsets .25, .5, ... 10: median 5.1, median absolute deviation 2.5, so that the standard error
    # is 1.2533 * 1.4826 * 2.5 / sqrt(40) = .73, of which five are 3.7.
    truth.boxes[::4, ::2] += 0.25 * np.arange(1, N_BUSY + 1)[:, None]
    assert "+5.1 px" in shifted_labels(found, truth)[0]
    truth.boxes[::4, ::2] -= 1.5  # median 3.6
    assert shifted_labels(found, truth) == ()


def test_few_pairs_say_nothing_of_a_shift():
    found, truth = world()
    truth.boxes[:] += 5
    assert shifted_labels(found.where(found.image < 9), truth) == ()
    assert shifted_labels(found.where(found.image < 10), truth) != ()


def test_all_of_them_are_among_the_warnings_of_labels():
    found, truth = world()
    truth.boxes[:] += 5
    truth.boxes[truth.image < 10] += AWAY
    said = " ".join(label_warnings(found, truth, rank_categories(found, truth)))
    assert "most confident boxes" in said and "in 10 of 40 images" in said and "+5.0 px" in said


def test_damaged_labels_of_real_photographs(shared):
    """Sound labels give no warning, damaged ones do (docs/results/label_warnings.md)."""
    labels = read_coco(shared / "real/all/coco_mini/annotations.json")
    truth, rng = labelled_boxes(labels), np.random.default_rng(0)
    for detector in ("yolo26n", "nanodet_plus", "fastestdet"):
        path = shared / "real_predictions" / detector / "all/coco_mini.json"
        words = {word: word for word in labels.categories}
        read = read_predictions(path, images=labels.images)
        found = read.as_categories(labels.categories, words)
        assert shifted_labels(found, truth) == unlabelled_objects(found, truth) == ()
        assert labels_elsewhere(found, truth) == ()
        left = replace(truth, boxes=truth.boxes - [4, 0, 4, 0])
        assert "lie -" in shifted_labels(found, left)[0]
        assert unlabelled_objects(found, truth.where(rng.random(len(truth)) > 1 / 3))
        other = replace(truth, image=(truth.image + 1) % len(truth.images))
        assert labels_elsewhere(found, other) and unlabelled_objects(found, other)


def test_words_that_count_from_another_number_are_named():
    """Half of the images hold a car, half a bus; the detector calls each by the next word."""
    words = ("car", "bus", "van")
    half = np.arange(N) < N // 2
    labelled = replace(truth(range(N), words), label=np.where(half, 0, 1))
    shifted = replace(found(np.full(N, 0.9), words), label=np.where(half, 1, 2))
    (warning,) = exchanged_words(shifted, labelled)
    assert warning.code == "words-exchanged"
    assert "of 100 confident boxes on labelled objects 0 have the word" in warning
    assert "bus on car, van on bus" in warning
    # right words; a single word that is always wrong; wrong at random; too few boxes
    assert exchanged_words(replace(shifted, label=labelled.label), labelled) == ()
    assert exchanged_words(replace(shifted, label=np.full(N, 2)), labelled) == ()
    mixed = np.where(np.arange(N) % 4 < 2, 2, np.where(half, 1, 0))
    assert exchanged_words(replace(shifted, label=mixed), labelled) == ()
    assert exchanged_words(shifted.where(np.arange(N) < 19), labelled) == ()
    # numbers off by one, and a fifth of all boxes with a wrong word: 20 cars are called vans
    some = np.where(half & (np.arange(N) < 20), 2, shifted.label)
    (warning,) = exchanged_words(replace(shifted, label=some), labelled)
    assert "van on bus, bus on car" in warning
