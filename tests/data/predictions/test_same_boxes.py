"""Images with exactly the same boxes."""

from dataclasses import replace

import numpy as np

from autoeval.data.labels.content import LabelledImage
from autoeval.data.predictions import Predictions
from autoeval.data.predictions.oddities import copies


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
