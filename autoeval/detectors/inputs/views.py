"""Photometrically altered views of an image: other light, same geometry."""

from __future__ import annotations

import numpy as np

LEVELS = np.arange(256)

VIEWS = {
    "darker": LEVELS * 0.7,
    "brighter": LEVELS * 1.3,
    "flatter": 128 + (LEVELS - 128) * 0.6,
}
"""What each view makes of each pixel value, before rounding to 0..255."""


def alter(image: np.ndarray, view: str) -> np.ndarray:
    """Alter an image; boxes found on it need no mapping back.

    Parameters
    ----------
    image : ndarray of shape (H, W, 3), uint8
    view : str
        A name in `VIEWS`.

    Returns
    -------
    ndarray of shape (H, W, 3), uint8

    Examples
    --------
    >>> alter(np.array([[[0, 100, 250]]], np.uint8), "brighter")
    array([[[  0, 130, 255]]], dtype=uint8)
    """
    return np.clip(np.rint(VIEWS[view]), 0, 255).astype(np.uint8)[image]
