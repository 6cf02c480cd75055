"""Which images are in a set twice, and what tells images with equal boxes apart."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest

from autoeval.boxes import Boxes, LabelledImage
from autoeval.io.labels.content import BoxColumns, LabelledBox, LabelSet
from autoeval.io.predictions.covered_images import copies, truth_on_images


def test_the_later_of_two_is_a_copy_whatever_the_order_of_its_boxes():
    images = tuple(LabelledImage(str(k), f"{chr(97 + k)}.jpg", None) for k in range(6))
    image = np.array([0, 0, 1, 1, 2, 2, 3])  # 4 and 5 hold nothing
    boxes = np.float32([[1, 1, 5, 5], [2, 2, 9, 9], [2, 2, 9, 9], [1, 1, 5, 5]] * 2)[:7]
    scores = np.float32([0.5, 0.9, 0.9, 0.5, 0.5, 0.8, 0.9])
    label = np.zeros(7, int)
    found = Boxes(images, ("car", "bus"), image, label, boxes, scores)
    assert copies(found).tolist() == [1]
    label = label.copy()
    label[3] = 1
    found = replace(found, label=label)
    assert copies(found).tolist() == []


def test_copies_among_many_images():
    """Each image holds 3 boxes; every tenth is an earlier one in another order, or almost."""
    rng = np.random.default_rng(0)
    n = 400
    images = tuple(LabelledImage(str(k), str(k), None) for k in range(n))
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
    found = Boxes(images, tuple("abcd"), *(column[mixed] for column in columns))
    assert copies(found).tolist() == [k for k in range(10, n, 10) if k % 40]


def still(names, **fields):
    """Images in which exactly the same two boxes were found."""
    images = tuple(
        LabelledImage(str(k), name, *(value[k] for value in fields.values()))
        for k, name in enumerate(names)
    )
    n = len(images)
    boxes = np.float32([[1, 1, 5, 5], [2, 2, 9, 9]] * n)
    image, label = np.repeat(np.arange(n), 2), np.zeros(2 * n, int)
    scores = np.float32([0.5, 0.9] * n)
    return Boxes(images, ("car",), image, label, boxes, scores)


UNKNOWN = [None] * 3


@pytest.mark.parametrize(
    ("names", "later"),
    [
        (["a.jpg", "a copy.jpg", "a (1).jpg"], [1, 2]),
        (["1.jpg", "copy_1.jpg", "x.jpg"], [1, 2]),
        (["train/1.jpg", "val/1.jpg", "val/3.jpg"], [1, 2]),
        (["1", "2", "3"], [1, 2]),  # ids say nothing
        (["cam_08.jpg", "cam_09.jpg", "cam_10.jpg"], []),  # a still camera
        (["cam_1.jpg", "cam_2.jpg", "cam_9.jpg"], []),  # it observes now and then
        (["cam_1.jp2", "cam_2.jp2", "cam_3.jp2"], []),
        # as Roboflow calls them, an augmented image last, and as Label Studio does
        (["1_jpg.rf.0a1b2c3d4e.jpg", "2_jpg.rf.9f8e7d6c5b.jpg", "2_jpg.rf.00aa11bb22.jpg"], [2]),
        (["c1b2c3d4-cam_1.jpg", "b1b2c3d4-cam_2.jpg", "a1b2c3d4-cam_3.jpg"], []),
        (["cam_2.jpg", "cam_1.jpg", "copy/cam_1.jpg"], [2]),
        (["cam_1.jpg", "cam_1.jpg", "cam_2.jpg"], [1]),  # a file under two ids
        (["cam_1.jpg", "cam_2.jpg", "cam_2.jpg"], [2]),
        # a time that a name holds is that of its image
        (["2026-03-01/23-45.jpg", "2026-03-02/00-00.jpg", "old/2026-03-01/23-45.jpg"], [2]),
        (["20260301_0110.jpg", "20260302_0120.jpg", "20260303_0081.jpg"], [1, 2]),  # numbers
    ],
)
def test_names(names, later):
    assert copies(still(names, size=UNKNOWN)).tolist() == later


def test_an_image_between_them_means_that_they_are_no_neighbours():
    found = still(["1.jpg", "2.jpg", "3.jpg"], size=UNKNOWN)
    moved = found.boxes.copy()
    moved[2:4] += 1  # those of the second image
    assert copies(replace(found, boxes=moved)).tolist() == [2]


def test_sizes_and_times_tell_apart():
    names = ["a.jpg", "b.jpg", "c.jpg"]
    assert copies(still(names, size=[(9, 9), (9, 8), (9, 9)])).tolist() == [2]
    times = [datetime(2026, 1, day) for day in (1, 2, 1)]
    assert copies(still(names, size=UNKNOWN, taken=times)).tolist() == [2]


def test_labels_tell_apart():
    found = still(["a.jpg", "b.jpg", "c.jpg"], size=UNKNOWN)
    boxes = np.array([[1, 1, 5, 5], [1, 1, 6, 6], [1, 1, 5, 5]], float)
    image, zeros = np.arange(3), np.zeros(3, int)
    truth = Boxes(found.images, ("car",), image, zeros, boxes, crowd=zeros.astype(bool))
    assert copies(found, truth).tolist() == [2]
    assert copies(found, truth.where([0, 2])).tolist() == [2]  # b holds nothing
    crowd = replace(truth, boxes=np.tile(boxes[0], (3, 1)), crowd=np.array([True, False, True]))
    assert copies(found, crowd).tolist() == [2]
    # what a label file says, under other ids and in another order
    names = ["c.jpg", "b.jpg"]
    images = tuple(LabelledImage(name, f"val/{name}", None) for name in names)
    labels = [
        LabelledBox(name, "car", (1, 1, side, side))
        for name, side in zip(names, (4, 5), strict=True)
    ]
    content = LabelSet(None, images, ("car",), BoxColumns.of(labels))
    # a is not labelled: it may be either, and a labelled image is kept
    truth = truth_on_images(content, found.images)
    assert truth.uncovered == (0,)
    assert copies(found, truth).tolist() == [0]


def test_bytes_tell_apart(tmp_path):
    found = still(["1.jpg", "2.jpg", "9.jpg"], size=UNKNOWN)
    files = {str(k): tmp_path / f"{k}.jpg" for k in range(3)}
    for k, content in enumerate((b"a", b"b", b"a")):
        files[str(k)].write_bytes(content)
    assert copies(found, files=files).tolist() == [2]
