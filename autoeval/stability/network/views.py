"""Images in other light, and the boxes that a detector finds on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from autoeval.detections import Detections

LEVELS = np.arange(256)

VIEWS = {"darker": LEVELS * 0.7, "brighter": LEVELS * 1.3, "flatter": 128 + (LEVELS - 128) * 0.6}
"""What each view makes of each pixel value, before rounding to 0..255."""


def alter(image: np.ndarray, view: str) -> np.ndarray:
    """Alter an image (H, W, 3), uint8, by one of `VIEWS`; boxes found on it need no mapping back.

    Examples
    --------
    >>> alter(np.array([[[0, 100, 250]]], np.uint8), "brighter")
    array([[[  0, 130, 255]]], dtype=uint8)
    """
    return np.clip(np.rint(VIEWS[view]), 0, 255).astype(np.uint8)[image]


def views_of(
    images: Sequence[np.ndarray], find: Callable[[Sequence[np.ndarray]], list[Detections]]
) -> list[tuple[Detections, ...]]:
    """Return the boxes of each image on each of its views; `find` is a plain pass."""
    by_view = [find([alter(image, view) for image in images]) for view in VIEWS]
    return list(zip(*by_view, strict=True))
