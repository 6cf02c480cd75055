"""What a predictions file should not look like: other coordinates, or two detectors in one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from autoeval.box_pairs import overlapping_pairs
from autoeval.data.predictions.box_columns import Predictions
from autoeval.errors import InputError

CONFIDENT = 0.3
SAME_OBJECT = 0.9
MANY_TWICE = 0.2
ENOUGH_BOXES = 20
OUTSIDE = 0.5
BEYOND = 1.02
AT_ONCE = 1_000_000


def oddities(path: Path, read: Predictions) -> tuple[str, ...]:
    """Say what is odd about predictions.

    Raises
    ------
    InputError
        If objects are found twice, as where the boxes of two detectors are joined, or boxes are in
        other units or of another form than pixels and [left, top, width, height].
    """
    _refuse_normalised(path, read)
    beyond = boxes_beyond(path, read)
    _refuse_twice(path, read)
    return beyond


def boxes_beyond(path: Path, read: Predictions) -> tuple[str, ...]:
    """Count boxes that reach more than 2 % beyond their images, where the size of these is known.

    Raises
    ------
    InputError
        If they are more than half of the boxes on images of known size.
    """
    known = np.array([image.size is not None for image in read.images], bool)
    n_known = int(known[read.image].sum())
    outside = _outside(read)
    if outside > OUTSIDE * n_known:
        raise InputError(
            f"{path}: {outside / n_known:.0%} of the boxes reach out of their images. Expected "
            "bbox as [left, top, width, height] in pixels of the image as it is on disk: are these "
            "corners [x1, y1, x2, y2], or pixels of a resized image?"
        )
    odd = f"boxes of the predictions that reach more than 2 % beyond their images: {outside}"
    return (odd,) if outside else ()


def _refuse_normalised(path: Path, read: Predictions) -> None:
    if len(read) >= ENOUGH_BOXES and read.boxes.max() <= BEYOND:
        raise InputError(
            f"{path}: all boxes lie in [0, 1]. Expected pixels: multiply them by the width and the "
            "height of each image."
        )


def _outside(read: Predictions) -> int:
    """Count the boxes in images of known size that reach well beyond them."""
    if not any(image.size for image in read.images):
        return 0
    unknown = (float("inf"),) * 2
    limits = BEYOND * np.array([image.size or unknown for image in read.images], float)[:, ::-1]
    parts = (slice(start, start + AT_ONCE) for start in range(0, len(read), AT_ONCE))
    return sum(
        int((read.boxes[part, 2:] > limits[read.image[part]]).any(axis=1).sum()) for part in parts
    )


def _refuse_twice(path: Path, read: Predictions) -> None:
    sure = np.flatnonzero(read.scores > CONFIDENT)
    if len(sure) < ENOUGH_BOXES:
        return
    twice = sum(_on_another(read, rows) for rows in _by_images(read, sure))
    if twice > MANY_TWICE * len(sure):
        raise InputError(
            f"{path}: {twice} of {len(sure)} boxes over {CONFIDENT} lie on another one of their "
            "category: are two detectors, or two runs of one, mixed in this file, or is it without "
            "non-maximum suppression? Give the boxes of one detector, each object once."
        )


def _by_images(read: Predictions, rows: np.ndarray) -> Iterator[np.ndarray]:
    """Divide boxes into parts of whole images."""
    rows = rows[np.argsort(read.image[rows], kind="stable")]
    image = read.image[rows]
    starts = np.searchsorted(image, image[::AT_ONCE])
    yield from np.split(rows, np.unique(starts)[1:])


def _on_another(read: Predictions, rows: np.ndarray) -> int:
    """Count boxes that lie on another one of their image and category."""
    group = read.image[rows] * len(read.categories) + read.label[rows]
    boxes = read.boxes[rows].astype(np.float64)
    first, second, _ = overlapping_pairs(boxes, group, boxes, group, least=SAME_OBJECT)
    return len(np.unique(first[first != second]))
