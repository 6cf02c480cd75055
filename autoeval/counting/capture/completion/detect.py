"""Seeing a synthetic image: the black box, whole objects and the fragments beside the box."""

from __future__ import annotations

import cv2
import numpy as np

from autoeval.counting.capture.completion.evidence import VisibleEvidence
from autoeval.errors import InputError

BLACK, COLOURED = 40, 60  # brightest channel of the box; least spread of an object's channels
WHOLE = 0.9  # least area of a whole object, as a share of the usual one


def detect(image: np.ndarray) -> VisibleEvidence:
    """Find what a synthetic image shows, by connected components.

    Parameters
    ----------
    image : ndarray of shape (H, W, 3), uint8, BGR
        Objects of one strong colour and one size on white, and a black rectangle.

    Returns
    -------
    VisibleEvidence
        With fragments: pixels of the objects that the box cuts.

    Raises
    ------
    InputError
        If the image has no black box or nothing coloured beside it.
    """
    box = _find_box(image)
    coverage, n, labels, stats = _objects(image)
    areas = np.bincount(labels.ravel(), coverage.ravel(), minlength=n)
    whole = areas >= WHOLE * areas[1:].max()
    whole[0] = False
    sides = stats[whole][:, [cv2.CC_STAT_WIDTH, cv2.CC_STAT_HEIGHT]]
    middles = np.column_stack([_mean(labels, coverage, areas, axis) for axis in (1, 0)])
    rows, columns = np.nonzero((labels > 0) & ~whole[labels])
    return VisibleEvidence(
        visible=middles[whole],
        box=box,
        radius=float(np.median(sides)) / 2,
        size=image.shape[1::-1],
        fragments=np.column_stack([columns, rows]) + 0.5,
    )


def has_box(image: np.ndarray) -> bool:
    """Tell whether an image (H, W, 3), uint8, BGR, holds a black box."""
    return bool((image.max(2) < BLACK).any())


def detect_objects(image: np.ndarray) -> np.ndarray:
    """Return the middles (N, 2) of the objects of an image without a box; see `detect`."""
    coverage, n, labels, _ = _objects(image)
    areas = np.bincount(labels.ravel(), coverage.ravel(), minlength=n)
    return np.column_stack([_mean(labels, coverage, areas, axis) for axis in (1, 0)])[1:]


def _objects(image: np.ndarray) -> tuple[np.ndarray, int, np.ndarray, np.ndarray]:
    """Return how coloured each pixel is, and the number, labels and boxes of the components."""
    coverage = np.ptp(image.astype(int), axis=2)
    n, labels, stats, _ = cv2.connectedComponentsWithStats((coverage > COLOURED).astype(np.uint8))
    if n < 2:
        raise InputError("Expected an image with coloured objects but found none.")
    return coverage, n, labels, stats


def _find_box(image: np.ndarray) -> np.ndarray:
    if not has_box(image):
        raise InputError("Expected an image with a black box but found none.")
    dark = (image.max(2) < BLACK).astype(np.uint8)
    _, _, stats, _ = cv2.connectedComponentsWithStats(dark)
    x, y, width, height, _ = stats[1 + np.argmax(stats[1:, cv2.CC_STAT_AREA])]
    return np.array([x, y, x + width, y + height])


def _mean(labels: np.ndarray, weight: np.ndarray, areas: np.ndarray, axis: int) -> np.ndarray:
    places = np.indices(labels.shape)[axis] + 0.5
    return np.bincount(labels.ravel(), (weight * places).ravel()) / np.maximum(areas, 1)
