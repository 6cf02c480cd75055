"""Rotation of an image about its centre, and of the boxes with it."""

from __future__ import annotations

import math

import numpy as np

from autoeval.metasets.transforms.base import Transform, register
from autoeval.metasets.transforms.photometric import albumentations

BORDER = (128, 128, 128)


def rotate_image(image: np.ndarray, degrees: float, rng: np.random.Generator) -> np.ndarray:
    """Turn an image counter-clockwise about its centre; its size stays, bare corners are grey."""
    rotate = albumentations().Rotate(limit=(degrees, degrees), fill=BORDER, p=1.0)
    return rotate(image=image)["image"]


def rotate_boxes(boxes: np.ndarray, degrees: float, size: tuple[int, int]) -> np.ndarray:
    """Enclose the rotated corners of each box.

    Parameters
    ----------
    boxes : ndarray of shape (N, 4), float64
        Boxes as xyxy, pixels.
    degrees : float
        Angle, counter-clockwise as seen (the y axis points down).
    size : tuple of int
        Height and width of the image, which turns about (width / 2, height / 2).

    Returns
    -------
    ndarray of shape (N, 4), float64
        The smallest upright box around the four rotated corners, not clipped. It is looser than the
        object's own outline, the more so the greater the angle.

    Examples
    --------
    >>> rotate_boxes(np.array([[0., 0., 20., 10.]]), 90, (100, 200)).round(6)
    array([[ 50., 130.,  60., 150.]])
    """
    height, width = size
    centre = np.array([width / 2, height / 2])
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    corners = boxes[:, [[0, 1], [2, 1], [2, 3], [0, 3]]] - centre
    turned = corners @ np.array([[cos, -sin], [sin, cos]]) + centre
    return np.concatenate([turned.min(1), turned.max(1)], axis=1)


ROTATE = register(
    Transform("Rotate", -15, 15, 0.5, "degrees, counter-clockwise", rotate_image, rotate_boxes)
).name
