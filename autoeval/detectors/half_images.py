"""Images at half the size on a canvas, and boxes found there."""

from __future__ import annotations

import cv2
import numpy as np

from autoeval.detections import Detections

GREY = 114


def shrink(image: np.ndarray) -> np.ndarray:
    """Shrink an image to half its height and width, in the upper left of a grey one of its size.

    A detector that brings whatever it is given to one input size would undo a mere shrinking. On
    this canvas it sees every object at half the size.

    Examples
    --------
    >>> shrink(np.zeros((4, 6, 3), np.uint8))[:, :, 0]
    array([[  0,   0,   0, 114, 114, 114],
           [  0,   0,   0, 114, 114, 114],
           [114, 114, 114, 114, 114, 114],
           [114, 114, 114, 114, 114, 114]], dtype=uint8)
    """
    height, width = _half(image.shape)
    canvas = np.full_like(image, GREY)
    canvas[:height, :width] = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)
    return canvas


def on_half(detections: Detections, shape: tuple[int, ...]) -> Detections:
    """Take boxes found on such a canvas back to an image of `shape`, but those centred in grey."""
    height, width = _half(shape)
    centres = (detections.boxes[:, :2] + detections.boxes[:, 2:]) / 2
    inside = detections[(centres < (width, height)).all(axis=1)]
    grown = inside.boxes * np.array([shape[1] / width, shape[0] / height] * 2, np.float32)
    limits = np.array([shape[1], shape[0]] * 2, np.float32)
    return Detections(np.minimum(grown, limits), inside.scores, inside.labels)


def _half(shape: tuple[int, ...]) -> tuple[int, int]:
    return max(shape[0] // 2, 1), max(shape[1] // 2, 1)
