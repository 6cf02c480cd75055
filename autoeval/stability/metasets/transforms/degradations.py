"""Blur of the lens or of a moving camera, noise of the sensor, and damage by processing."""

from __future__ import annotations

import math
from functools import lru_cache

import cv2
import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.special import ndtri, pdtr

from autoeval.stability.metasets.transforms.base import register_corruption, rows, to_bytes

WHOLE = 256
"""Weights are whole numbers that sum to this: sums of bytes stay exact in 16 bits."""
CORRELATION = 0.01  # of neighbouring displacements, share of the side
LIMIT = 3  # of a displacement, standard deviations
COARSE = 4  # spacing of the displacements that are drawn, pixels
N_QUANTILES = 2**14
"""Noise is drawn from a list of its quantiles: many times as fast, and in whole numbers."""


def defocus_blur(
    image: np.ndarray, rng: np.random.Generator, *, radius: int, smooth: float
) -> np.ndarray:
    """Average over a disc of the published radius in pixels, then smooth its jagged edge.

    `smooth` is the width of a normal density over 3 x 3 pixels.
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


def _enlarge(image: np.ndarray, factor: float) -> np.ndarray:
    height, width = image.shape[:2]
    inner_height, inner_width = math.ceil(height / factor), math.ceil(width / factor)
    top, left = (height - inner_height) // 2, (width - inner_width) // 2
    inner = image[top : top + inner_height, left : left + inner_width]
    return cv2.resize(inner, (width, height), interpolation=cv2.INTER_LINEAR_EXACT)


def streak(image: np.ndarray, *, radius: int, sigma: float, degrees: float) -> np.ndarray:
    """Smear each pixel along a line; the centre of gravity of what it becomes stays in place.

    The image (H, W) or (H, W, C) uint8 is continued by its outermost pixels. The line has ``2 *
    radius + 1`` pixels; weights fall from its start to its end as a normal density of width `sigma`
    pixels. `degrees` is the direction from end to start, counter-clockwise from the right.
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


def contrast(image: np.ndarray, rng: np.random.Generator, *, factor: float) -> np.ndarray:
    """Bring each channel closer to its mean; the factors are the published ones."""
    mean = image.mean(axis=(0, 1))
    return cv2.LUT(image, to_bytes((np.arange(256)[:, None] - mean) * factor + mean)[None])


def elastic_transform(image: np.ndarray, rng: np.random.Generator, *, std: float) -> np.ndarray:
    """Shift pixels at random, neighbours alike: a wavy pane of glass.

    Alike the variant of Michaelis et al. 2019, which leaves out the published warp of the image as
    a whole and keeps boxes where they are. ``std``, the standard deviation of the displacement
    along each axis, equals theirs on 640 x 480 pixels and is a share of the shorter side; no pixel
    moves by more than three times ``std``.
    """
    height, width = image.shape[:2]
    x = np.arange(width, dtype=np.float32) + _displacements(image, std, rng)
    y = np.arange(height, dtype=np.float32)[:, None] + _displacements(image, std, rng)
    return cv2.remap(image, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT_101)


def jpeg_compression(image: np.ndarray, rng: np.random.Generator, *, quality: int) -> np.ndarray:
    """Write and read a JPEG; qualities are published."""
    _, content = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])
    return np.asarray(cv2.imdecode(content, cv2.IMREAD_COLOR))


def pixelate(image: np.ndarray, rng: np.random.Generator, *, share: float) -> np.ndarray:
    """Shrink to a share of the width and height and enlarge again; shares are published."""
    height, width = image.shape[:2]
    small = (max(1, int(width * share)), max(1, int(height * share)))
    shrunk = cv2.resize(image, small, interpolation=cv2.INTER_AREA)
    return cv2.resize(shrunk, (width, height), interpolation=cv2.INTER_NEAREST_EXACT)


DIGITAL = (
    register_corruption("contrast", contrast, rows(factor=[0.4, 0.3, 0.2, 0.1, 0.05])),
    register_corruption(
        "elastic_transform", elastic_transform, rows(std=[0.0018, 0.0024, 0.0031, 0.0037, 0.0044])
    ),
    register_corruption("pixelate", pixelate, rows(share=[0.6, 0.5, 0.4, 0.3, 0.25])),
    register_corruption("jpeg_compression", jpeg_compression, rows(quality=[25, 18, 15, 10, 7])),
)


def gaussian_noise(image: np.ndarray, rng: np.random.Generator, *, std: float) -> np.ndarray:
    """Add normal noise, independent for each pixel and channel; ``std`` is a share of 255."""
    noise = _normal_quantiles(std)[_draw_quantiles(image, rng)]
    noise += image
    return np.clip(noise, 0, 255, out=noise).astype(np.uint8)


def impulse_noise(image: np.ndarray, rng: np.random.Generator, *, share: float) -> np.ndarray:
    """Set a share of the values, of each channel on its own, to 0 or 255, half each."""
    drawn = rng.random(image.shape, dtype=np.float32)
    noisy = np.where(drawn < np.float32(share / 2), np.uint8(0), image)
    noisy[drawn >= np.float32(1 - share / 2)] = 255
    return noisy


def shot_noise(image: np.ndarray, rng: np.random.Generator, *, photons: int) -> np.ndarray:
    """Count photons: each value becomes a Poisson number, ``photons`` being the mean at white."""
    return _photon_quantiles(photons)[image * np.int32(N_QUANTILES) + _draw_quantiles(image, rng)]


NOISE = (
    register_corruption("gaussian_noise", gaussian_noise, rows(std=[0.08, 0.12, 0.18, 0.26, 0.38])),
    register_corruption("shot_noise", shot_noise, rows(photons=[60, 25, 12, 5, 3])),
    register_corruption("impulse_noise", impulse_noise, rows(share=[0.03, 0.06, 0.09, 0.17, 0.27])),
)


def _displacements(image: np.ndarray, std: float, rng: np.random.Generator) -> np.ndarray:
    """Draw a smooth random field (H, W) float32, in pixels."""
    height, width = image.shape[:2]
    coarse = (math.ceil(height / COARSE), math.ceil(width / COARSE))
    sigma = [CORRELATION * side for side in coarse]
    drawn = gaussian_filter(rng.standard_normal(coarse), sigma, mode="wrap")
    # Multiples of 2**-14 that are interpolated in steps of 1/8 stay exact in 24 bits.
    exact = (np.rint(drawn * 2**14) / 2**14).astype(np.float32)
    field = cv2.resize(exact, None, fx=COARSE, fy=COARSE)[:height, :width]
    field = field / (field.std(dtype=np.float64) or 1)
    return (field.clip(-LIMIT, LIMIT) * (std * min(height, width))).astype(np.float32)


def _draw_quantiles(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.integers(N_QUANTILES, size=image.shape, dtype=np.uint16)


@lru_cache
def _normal_quantiles(std: float) -> np.ndarray:
    """List the quantiles of the noise, (N_QUANTILES,) int16."""
    share = (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES
    return np.rint(255 * std * ndtri(share)).astype(np.int16)


@lru_cache
def _photon_quantiles(photons: int) -> np.ndarray:
    """List the quantiles for value 0, then those for value 1 ..., (256 * N_QUANTILES,) uint8."""
    mean = np.arange(256)[:, None] * (photons / 255)
    at_most = np.rint(pdtr(np.arange(photons), mean) * N_QUANTILES).astype(int)
    # As many photons as white has on average, or more, are white.
    edges = np.pad(at_most, ((0, 0), (1, 1)), constant_values=((0, 0), (0, N_QUANTILES)))
    values = to_bytes(np.arange(photons + 1) * (255 / photons))
    return np.repeat(np.tile(values, 256), np.diff(edges).ravel())
