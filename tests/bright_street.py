"""A black box that finds the hull of bright pixels, and an image for it."""

import numpy as np

WORDS = ("car", "person")


def find_bright(images):
    """Find the hull of all bright pixels; its score is how bright they are."""
    boxes, scores, labels = [], [], []
    for image in images:
        ys, xs = np.nonzero(image[:, :, 0] > 150)
        none = len(xs) == 0
        boxes.append([] if none else [[xs.min(), ys.min(), xs.max() + 1, ys.max() + 1]])
        scores.append([] if none else [image[ys, xs, 0].max() / 255])
        labels.append([] if none else ["person"])
    return boxes, scores, labels


def street(width=64, height=48):
    image = np.zeros((height, width, 3), np.uint8)
    image[10:30, 20:40] = 200
    return image
