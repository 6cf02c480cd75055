"""Random boxes of five categories on a few images, and labels that go with them."""

import numpy as np

from autoeval.boxes import Boxes, LabelledImage

N_IMAGES = 24
WORDS = ("car", "bus", "cat", "dog", "cow")


def random_found(seed, n=600):
    rng = np.random.default_rng(seed)
    images = tuple(LabelledImage(str(k), f"{k}.jpg", (200, 200)) for k in range(N_IMAGES))
    corner, size = rng.random((n, 2)) * 120, 10 + rng.random((n, 2)) * 60
    boxes = np.concatenate([corner, corner + size], axis=1).astype("f4")
    scores = (0.01 + 0.98 * rng.beta(0.5, 1.5, n)).astype("f4")
    image = rng.integers(0, N_IMAGES - 2, n)
    return Boxes(images, WORDS, image, rng.integers(0, 5, n), boxes, scores)


def shaken(found, seed, pixels=3.0):
    move = np.random.default_rng(seed).normal(0, pixels, found.boxes.shape).astype("f4")
    return Boxes(found.images, WORDS, found.image, found.label, found.boxes + move, found.scores)


def truth_from(found, seed=5):
    """Label the confident boxes, and some others."""
    sure = found.scores > 0.25
    boxes = shaken(found, seed).boxes[sure].astype(float)
    return Boxes(found.images, WORDS, found.image[sure], found.label[sure], boxes)
