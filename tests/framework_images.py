"""Images for networks of other frameworks: shapes on a ground, of two sizes."""

import cv2
import numpy as np


def scenes(n, folder=None, size=(120, 160)):
    """Images of random blocks; with a folder they are written, and their paths are returned."""
    images = []
    for k in range(n):
        rng = np.random.default_rng(k)
        coarse = rng.integers(0, 200, (size[0] // 20, size[1] // 20, 3), np.uint8)
        fine = rng.integers(0, 56, (*size, 3), np.uint8)  # so that no two scores are equal
        images.append(coarse.repeat(20, 0).repeat(20, 1) + fine)
    if folder is None:
        return images
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{k}.png" for k in range(n)]
    for path, image in zip(paths, images, strict=True):
        cv2.imwrite(str(path), image)
    return paths


def two_sizes():
    """Three images, of which the middle one has another size."""
    first, last = scenes(2)
    return [first, scenes(1, size=(160, 100))[0], last]


def assert_same(seen, found, images):
    """Evidence holds what a network found, clipped to the images."""
    for mine, theirs, image in zip(seen, found, images, strict=True):
        height, width = image.shape[:2]
        boxes = theirs["boxes"].float().numpy().clip(0, [width, height, width, height])
        kept = (boxes[:, 2:] > boxes[:, :2]).all(1)
        np.testing.assert_array_equal(mine.clean.boxes, boxes[kept])
        np.testing.assert_array_equal(mine.clean.scores, theirs["scores"].float().numpy()[kept])
        np.testing.assert_array_equal(mine.clean.labels, theirs["labels"].numpy()[kept])
