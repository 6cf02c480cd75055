"""Blur along a line, as of something that moves while the shutter is open."""

from __future__ import annotations

import math

import cv2
import numpy as np

WHOLE = 256
"""Weights are whole numbers that sum to this: sums of bytes stay exact in 16 bits."""


def streak(image: np.ndarray, *, radius: int, sigma: float, degrees: float) -> np.ndarray:
    """Smear each pixel along a line; the centre of gravity of what it becomes stays in place.

    Parameters
    ----------
    image : ndarray of shape (H, W) or (H, W, C), uint8
        Continued beyond its edges by its outermost pixels.
    radius : int
        The line has ``2 * radius + 1`` pixels.
    sigma : float
        Weights fall from the line's start to its end as a normal density of this width, pixels.
    degrees : float
        Direction from end to start, counter-clockwise from the right.

    Returns
    -------
    ndarray of the shape of ``image``, uint8
    """
    height, width = image.shape[:2]
    edge = 2 * radius
    padded = cv2.copyMakeBorder(image, edge, edge, edge, edge, cv2.BORDER_REPLICATE)
    padded = padded.astype(np.uint16)
    total = np.full(image.shape, WHOLE // 2, np.uint16)
    weighted = np.empty_like(total)
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    weights = _weights(2 * radius + 1, sigma)
    centre = np.average(np.arange(len(weights)), weights=weights)
    for weight, distance in zip(weights, np.arange(len(weights)) - centre, strict=True):
        x, y = edge + round(distance * cos), edge - round(distance * sin)
        np.multiply(padded[y : y + height, x : x + width], weight, out=weighted)
        total += weighted
    return (total // WHOLE).astype(np.uint8)


def _weights(length: int, sigma: float) -> np.ndarray:
    density = np.exp(-0.5 * (np.arange(length) / sigma) ** 2)
    # Differences of a rounded running sum sum to the whole, whatever is rounded away.
    edges = np.rint(WHOLE * np.cumsum(density) / density.sum())
    return np.diff(edges, prepend=0).astype(np.uint16)
