"""Warnings where labels and predictions of one set contradict each other."""

import numpy as np
import pytest

from autoeval.data.labels.content import LabelledImage
from autoeval.data.labels.truth import Truth
from autoeval.data.predictions import Predictions
from autoeval.labels.label_warnings import labelled_twice, mismatched_words, overconfident
from autoeval.metrics.coco_matching import rank_categories

N = 100
IMAGES = tuple(LabelledImage(str(k), f"{k}.jpg", None) for k in range(N))
BOX = np.array([10.0, 10, 50, 50])


def truth(image, words=("car", "bus"), label=0, boxes=BOX):
    n = len(image)
    columns = (np.full(n, label), np.tile(boxes, (n, 1)), np.zeros(n, bool))
    return Truth(IMAGES, words, np.array(image, int), *columns)


def found(scores, words=("car", "bus"), label=0):
    """One box an image."""
    boxes = np.tile(np.float32(BOX), (N, 1))
    labels = np.full(N, label)
    return Predictions(IMAGES, words, np.arange(N), labels, boxes, np.float32(scores), {})


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
    crowd = Truth(IMAGES, true.categories, true.image, true.label, true.boxes, np.arange(N) >= 60)
    assert overconfident(mine, rank_categories(mine, crowd)) == ()


def test_one_thing_by_two_words():
    mine = found(np.full(N, 0.6), words=("automobile", "bus"))
    (warning,) = mismatched_words(mine, truth(range(30)))
    assert "never predicted: car (30 boxes)" in warning and "automobile (100 boxes)" in warning
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
