"""A layer of ice on a window, drawn: clouds of rime with feathers of ice in them."""

from __future__ import annotations

import cv2
import numpy as np

from autoeval.metasets.transforms.plasma import plasma

ICE = (255, 240, 222)
"""Colour of thick ice, BGR."""

N_FEATHERS, N_BARBS = 200, 24
SHADES = (60, 100, 140, 180)


def frost_layer(size: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Draw a layer of ice; all sizes in it are shares of the image's shorter side.

    Parameters
    ----------
    size : tuple of int
        Height and width, pixels.
    rng : Generator

    Returns
    -------
    ndarray of shape (height, width, 3), float32
        BGR, 0 to 255.
    """
    rime = plasma(size, rng, decay=1.5) * np.float32(190) + np.float32(15)
    ice = np.minimum(rime + _feathers(size, rng), np.float32(255)) * np.float32(1 / 256)
    return cv2.merge([ice * np.float32(shade) for shade in ICE])


def _feathers(size: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    canvas = np.zeros(size, np.uint8)
    thickness = max(1, round(min(size) / 500))
    segments = np.array_split(_segments(size, rng), len(SHADES))
    for shade, some in zip(SHADES, segments, strict=True):
        cv2.polylines(canvas, list(some), False, shade, thickness)
    return cv2.GaussianBlur(canvas, (5, 5), 0)


def _segments(size: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Lay out feathers: a shaft each, with barbs on both sides that shorten towards its tip.

    Returns
    -------
    ndarray of shape (n, 2, 2), int32
        Both ends of each line as (x, y), pixels.
    """
    # Complex numbers are points of the plane; the axes are feathers and barbs.
    root = rng.random((N_FEATHERS, 1)) * size[1] + 1j * rng.random((N_FEATHERS, 1)) * size[0]
    length = min(size) * rng.uniform(0.05, 0.4, (N_FEATHERS, 1))
    shaft = length * np.exp(2j * np.pi * rng.random((N_FEATHERS, 1)))
    along = np.linspace(0, 1, N_BARBS)
    barb = 0.3 * (1 - along) * shaft * rng.uniform(0.6, 1, (N_FEATHERS, N_BARBS))
    start = root + along * shaft
    turn = np.exp(1j * np.pi / 3)  # the angle of ice crystals
    lines = [(root, root + shaft), (start, start + barb * turn), (start, start + barb / turn)]
    ends = np.concatenate([np.stack(line, axis=2) for line in lines], axis=1).reshape(-1, 2)
    return np.rint(np.stack([ends.real, ends.imag], axis=2)).astype(np.int32)
