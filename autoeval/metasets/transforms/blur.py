"""Blur of the lens or of a moving camera: defocus, motion and zoom; streaks."""

from __future__ import annotations

import math

import cv2
import numpy as np

from autoeval.metasets.transforms.corruption import register_corruption, rows, to_bytes


def defocus_blur(
    image: np.ndarray, rng: np.random.Generator, *, radius: int, smooth: float
) -> np.ndarray:
    """Average over a disc of the published radius in pixels, then smooth its jagged edge.

    Parameters
    ----------
    image : ndarray of shape (H, W, 3), uint8
    rng : Generator
        Not used.
    radius : int
        Of the disc, pixels.
    smooth : float
        Width of a normal density over 3 x 3 pixels.
    """
    height, width, n_channels = image.shape
    padded = np.pad(image, ((radius, radius), (radius, radius), (0, 0)), mode="symmetric")
    # Sums over runs of a row are differences of running sums, whatever the length of the run.
    runs = np.zeros((len(padded), padded.shape[1] + 1, n_channels), np.int32)
    np.cumsum(padded, axis=1, dtype=np.int32, out=runs[:, 1:])
    total, area = np.zeros(image.shape, np.int32), 0
    for row in range(2 * radius + 1):
        half = math.isqrt(radius**2 - (row - radius) ** 2)
        first, last = radius - half, radius + half + 1
        total += runs[row : row + height, last : last + width]
        total -= runs[row : row + height, first : first + width]
        area += last - first
    disc = ((total + area // 2) // area).astype(np.uint8)
    return cv2.GaussianBlur(disc, (3, 3), smooth)


def _enlarge_boxes(
    boxes: np.ndarray, size: tuple[int, int], *, n_steps: int, step: float
) -> np.ndarray:
    """Enlarge boxes by the mean factor of `zoom_blur`, about the image's centre.

    Published protocols leave the boxes where they were. There only the least enlarged trace of an
    object is left in its box, far from the centre none at all.

    Examples
    --------
    >>> boxes = np.array([[400., 0., 600., 100.]])
    >>> _enlarge_boxes(boxes, (200, 600), n_steps=10, step=0.03)
    array([[413.75, -13.75, 641.25, 100.  ]])
    """
    factor = 1 + step * sum(range(n_steps + 1)) / (n_steps + 2)
    centre = np.array([size[1], size[0]] * 2) / 2
    return (boxes - centre) * factor + centre


def motion_blur(
    image: np.ndarray, rng: np.random.Generator, *, radius: int, sigma: float
) -> np.ndarray:
    """Smear the image along a line within 45 degrees of the horizontal, drawn for each image.

    Radius and width are the published ones, in pixels; see `streak`. The published smear starts at
    a pixel and moves the scene by up to 12 pixels; this one is centred, so that boxes stay right.
    """
    return streak(image, radius=radius, sigma=sigma, degrees=rng.uniform(-45, 45))


def zoom_blur(
    image: np.ndarray, rng: np.random.Generator, *, n_steps: int, step: float
) -> np.ndarray:
    """Average the image with enlargements about its centre, by ``step`` more each time.

    Factors are the published ones, so the smear grows with the image. The image itself counts
    twice.
    """
    total = 2 * image.astype(np.float32)
    for number in range(1, n_steps + 1):
        cv2.accumulate(_enlarge(image, 1 + number * step), total)
    return to_bytes(total / np.float32(n_steps + 2))


BLUR = (
    register_corruption(
        "defocus_blur",
        defocus_blur,
        rows(radius=[3, 4, 6, 8, 10], smooth=[0.1, 0.5, 0.5, 0.5, 0.5]),
    ),
    register_corruption(
        "motion_blur", motion_blur, rows(radius=[10, 15, 15, 15, 20], sigma=[3, 5, 8, 12, 15])
    ),
    register_corruption(
        "zoom_blur",
        zoom_blur,
        rows(n_steps=[10, 15, 10, 12, 10], step=[0.01, 0.01, 0.02, 0.02, 0.03]),
        move=_enlarge_boxes,
    ),
)
WHOLE = 256
"""Weights are whole numbers that sum to this: sums of bytes stay exact in 16 bits."""


def _enlarge(image: np.ndarray, factor: float) -> np.ndarray:
    height, width = image.shape[:2]
    inner_height, inner_width = math.ceil(height / factor), math.ceil(width / factor)
    top, left = (height - inner_height) // 2, (width - inner_width) // 2
    inner = image[top : top + inner_height, left : left + inner_width]
    return cv2.resize(inner, (width, height), interpolation=cv2.INTER_LINEAR_EXACT)


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
