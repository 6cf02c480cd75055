"""Damage done by processing: contrast, elastic deformation, pixels and JPEG."""

from __future__ import annotations

import math

import cv2
import numpy as np
from scipy.ndimage import gaussian_filter

from autoeval.metasets.transforms.corruption import register_corruption, rows, to_bytes

CORRELATION = 0.01  # of neighbouring displacements, share of the side
LIMIT = 3  # of a displacement, standard deviations
COARSE = 4  # spacing of the displacements that are drawn, pixels


def contrast(image: np.ndarray, rng: np.random.Generator, *, factor: float) -> np.ndarray:
    """Bring each channel closer to its mean; the factors are the published ones."""
    mean = image.mean(axis=(0, 1))
    return cv2.LUT(image, to_bytes((np.arange(256)[:, None] - mean) * factor + mean)[None])


def elastic_transform(image: np.ndarray, rng: np.random.Generator, *, std: float) -> np.ndarray:
    """Shift pixels at random, neighbours alike: a wavy pane of glass.

    Alike the variant of Michaelis et al. 2019, which leaves out the published warp of the image as
    a whole and keeps boxes where they are, as is done here: ``std`` equals theirs on images of
    640 x 480 pixels and is a share of the shorter side on others. No pixel moves by more than
    three times ``std`` along either axis.

    Parameters
    ----------
    image : ndarray of shape (H, W, 3), uint8
    rng : Generator
    std : float
        Standard deviation of the displacement along each axis, share of the shorter side.
    """
    height, width = image.shape[:2]
    x = np.arange(width, dtype=np.float32) + _displacements(image, std, rng)
    y = np.arange(height, dtype=np.float32)[:, None] + _displacements(image, std, rng)
    return cv2.remap(image, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT_101)


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


def pixelate(image: np.ndarray, rng: np.random.Generator, *, share: float) -> np.ndarray:
    """Shrink to a share of the width and height and enlarge again; shares are published."""
    height, width = image.shape[:2]
    small = (max(1, int(width * share)), max(1, int(height * share)))
    shrunk = cv2.resize(image, small, interpolation=cv2.INTER_AREA)
    return cv2.resize(shrunk, (width, height), interpolation=cv2.INTER_NEAREST_EXACT)


def jpeg_compression(image: np.ndarray, rng: np.random.Generator, *, quality: int) -> np.ndarray:
    """Write and read a JPEG; qualities are published."""
    _, content = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])
    return np.asarray(cv2.imdecode(content, cv2.IMREAD_COLOR))


DIGITAL = (
    register_corruption("contrast", contrast, rows(factor=[0.4, 0.3, 0.2, 0.1, 0.05])),
    register_corruption(
        "elastic_transform",
        elastic_transform,
        rows(std=[0.0018, 0.0024, 0.0031, 0.0037, 0.0044]),
    ),
    register_corruption("pixelate", pixelate, rows(share=[0.6, 0.5, 0.4, 0.3, 0.25])),
    register_corruption("jpeg_compression", jpeg_compression, rows(quality=[25, 18, 15, 10, 7])),
)
