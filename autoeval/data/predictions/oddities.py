"""What a predictions file should not look like: other coordinates, or two detectors in one."""

from __future__ import annotations

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


def oddities(path: Path, read: Predictions) -> tuple[str, ...]:
    """Say what is odd about predictions.

    Raises
    ------
    InputError
        If objects are found twice, as where the boxes of two detectors are joined, or boxes are in
        other units or of another form than pixels and [left, top, width, height].
    """
    _refuse_normalised(path, read)
    outside = _outside(read)
    if outside.sum() > OUTSIDE * len(read):
        raise InputError(
            f"{path}: {outside.mean():.0%} of the boxes reach out of their images. Expected bbox "
            "as [left, top, width, height] in pixels of the image as it is on disk: are these "
            "corners [x1, y1, x2, y2], or pixels of a resized image?"
        )
    _refuse_twice(path, read)
    odd = f"boxes of the predictions that reach more than 2 % beyond their images: {outside.sum()}"
    return (odd,) if outside.any() else ()


def _refuse_normalised(path: Path, read: Predictions) -> None:
    if len(read) >= ENOUGH_BOXES and read.boxes.max() <= BEYOND:
        raise InputError(
            f"{path}: all boxes lie in [0, 1]. Expected pixels: multiply them by the width and the "
            "height of each image."
        )


def _outside(read: Predictions) -> np.ndarray:
    """Return which of the boxes in images of known size reach well beyond them."""
    unknown = (float("inf"),) * 2
    sizes = np.array([image.size or unknown for image in read.images], float).reshape(-1, 2)
    limits = BEYOND * sizes[read.image][:, ::-1]
    return (read.boxes[:, 2:] > limits).any(axis=1)


def _refuse_twice(path: Path, read: Predictions) -> None:
    sure = read.where(read.scores > CONFIDENT)
    group = sure.image * len(sure.categories) + sure.label
    boxes = sure.boxes.astype(np.float64)
    rows, columns, _ = overlapping_pairs(boxes, group, boxes, group, least=SAME_OBJECT)
    twice = len(np.unique(rows[rows != columns]))
    if len(sure) >= ENOUGH_BOXES and twice > MANY_TWICE * len(sure):
        raise InputError(
            f"{path}: {twice} of {len(sure)} boxes over {CONFIDENT} lie on another one of their "
            "category: are two detectors, or two runs of one, mixed in this file, or is it without "
            "non-maximum suppression? Give the boxes of one detector, each object once."
        )
