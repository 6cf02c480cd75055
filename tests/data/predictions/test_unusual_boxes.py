"""What predictions should not look like: gaps and copies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autoeval.data.coco import read_coco
from autoeval.data.labels.content import LabelledImage
from autoeval.data.labels.truth import Truth
from autoeval.data.predictions import Predictions, read_predictions
from autoeval.data.predictions.prediction_checks import check_coverage, copies
from autoeval.errors import InputError

N = 100


def found(n_boxes, floor=0.01):
    """Predictions with so many boxes in each of 100 images."""
    image = np.repeat(np.arange(N), n_boxes)
    images = tuple(LabelledImage(str(k), f"{k}.jpg", None) for k in range(N))
    scores = np.full(len(image), 0.5, np.float32)
    scores[:1] = floor
    boxes = np.tile(np.float32([0, 0, 9, 9]), (len(image), 1))
    return Predictions(images, ("car",), image, np.zeros(len(image), int), boxes, scores, {})


@pytest.mark.parametrize(
    ("empty", "single", "warned"),
    [
        (0, 0, False),
        (3, 0, False),  # 3 % is not over 3 %
        (4, 0, True),
        (25, 15, False),  # many with one box: a detector that hardly finds anything
        (25, 11, False),
        (25, 10, True),  # 25 - 20 are more than 3
        (50, 0, True),
    ],
)
def test_images_without_a_box(empty, single, warned):
    n_boxes = np.repeat([0, 1, 5], [empty, single, N - empty - single])
    warnings = check_coverage(found(n_boxes), np.arange(N), "p.json")
    assert len(warnings) == warned
    assert not warned or warnings[0].startswith(f"{empty} of 100 images have no box in p.json")


def test_only_images_that_should_have_been_seen_count():
    n_boxes = np.repeat([0, 5], [50, 50])
    assert check_coverage(found(n_boxes), np.arange(50, 100), "p.json") == ()
    (warning,) = check_coverage(found(n_boxes), np.arange(40, 100), "p.json")
    assert warning.startswith("10 of 60 images")


def test_lists_that_begin_higher_say_nothing():
    n_boxes = np.repeat([0, 5], [50, 50])
    assert check_coverage(found(n_boxes, floor=0.06), np.arange(N), "p.json", refuse=True) == ()
    with pytest.raises(InputError, match="50 of 100 images have no box"):
        check_coverage(found(n_boxes, floor=0.05), np.arange(N), "p.json", refuse=True)


def test_more_than_a_third_is_refused():
    third, more = (np.repeat([0, 5], [k, N - k]) for k in (33, 34))
    assert check_coverage(found(third), np.arange(N), "p.json", refuse=True) != ()
    with pytest.raises(InputError, match=r"34 of 100 images.*--truncated"):
        check_coverage(found(more), np.arange(N), "p.json", refuse=True)


def test_no_real_set_is_warned_of_and_half_of_one_is_refused(shared):
    """All sets and detectors at hand: the detectors were run on every image."""
    paths = sorted((shared / "real_predictions").glob("*/*/*.json"))
    assert len(paths) >= 100
    for path in paths:
        task, seed = path.parent.name, path.stem
        labels = read_coco(shared / "real" / task / seed / "annotations.json")
        read = read_predictions(path, images=labels.images)
        images = np.unique(Truth.of(labels).image)
        assert check_coverage(read, images, path.name, refuse=True) == (), path
    half = read.where(read.image < len(labels.images) // 2)
    with pytest.raises(InputError, match="have no box"):
        check_coverage(half, images, path.name, refuse=True)


def test_the_later_of_two_is_a_copy_whatever_the_order_of_its_boxes():
    images = tuple(LabelledImage(str(k), f"{k}.jpg", None) for k in range(6))
    image = np.array([0, 0, 1, 1, 2, 2, 3])  # 4 and 5 hold nothing
    boxes = np.float32([[1, 1, 5, 5], [2, 2, 9, 9], [2, 2, 9, 9], [1, 1, 5, 5]] * 2)[:7]
    scores = np.float32([0.5, 0.9, 0.9, 0.5, 0.5, 0.8, 0.9])
    label = np.zeros(7, int)
    found = Predictions(images, ("car", "bus"), image, label, boxes, scores, {})
    assert copies(found).tolist() == [1]
    label = label.copy()
    label[3] = 1
    found = replace(found, label=label)
    assert copies(found).tolist() == []


def test_copies_among_many_images():
    """Each image holds 3 boxes; every tenth is an earlier one in another order, or almost."""
    rng = np.random.default_rng(0)
    n = 400
    images = tuple(LabelledImage(str(k), f"{k}.jpg", None) for k in range(n))
    boxes = rng.random((n, 3, 4)).astype("f4")
    boxes[..., 2:] += 1
    scores, label = rng.random((n, 3)).astype("f4"), rng.integers(0, 4, (n, 3))
    for k in range(10, n, 10):
        other, order = rng.integers(0, k), rng.permutation(3)
        boxes[k], scores[k], label[k] = (of[other, order] for of in (boxes, scores, label))
        if k % 40 == 0:
            boxes[k, 1, 2] = np.nextafter(boxes[k, 1, 2], np.float32(9))
    mixed = rng.permutation(3 * n)
    columns = (np.repeat(np.arange(n), 3), label.ravel(), boxes.reshape(-1, 4), scores.ravel())
    found = Predictions(images, tuple("abcd"), *(column[mixed] for column in columns), {})
    assert copies(found).tolist() == [k for k in range(10, n, 10) if k % 40]
