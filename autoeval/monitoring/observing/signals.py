"""What the pixels of one image show of the camera: sharpness, noise, light and compression.

They mean little on their own: a meadow is less sharp than a street. Against the same camera's own
baseline they show a lens that lost its focus, which a detector's boxes may not.
"""

from __future__ import annotations

import cv2
import numpy as np

WORKING = 512  # longest side, pixels, at which octaves are counted
N_OCTAVES = 4
ROUNDING = 1 / 12  # variance of rounding to whole grey levels, so that no logarithm is infinite
DARK, BRIGHT = 16, 240  # grey levels: nearly black, nearly white
BLOCK = 8  # pixels, of JPEG
HAZE = 7  # pixels of the neighbourhood of the dark channel, at an eighth of the working size


def image_signals(image: np.ndarray) -> dict[str, float]:
    r"""Measure an image (H, W, 3), uint8, BGR, in a few milliseconds; all values are finite.

    - ``detail_1`` to ``detail_4``: :math:`\log \sqrt{\overline{(G_k - B G_k)^2} + 1/12}` of the
      Gaussian pyramid G of the grey image, reduced to 512 pixels, with B the 5 x 5 binomial blur
      (Burt & Adelson 1983); ``detail`` is the same at full size, k = 1. Defocus takes the finest
      first, fog takes all alike, noise adds to the finest.
    - ``edges``, ``coarse_edges``: logarithm of the 99th percentile of the Sobel gradient, which
      noise raises less than it raises the mean.
    - ``noise``: logarithm of the median of the absolute diagonal Haar detail, over .6745
      (Donoho & Johnstone 1994, section 6.1.1), plus the rounding.
    - ``haze``: mean of the dark channel (He, Sun & Tang 2009).
    - ``blockiness``: how much larger steps between neighbouring columns are at multiples of 8
      (Wang, Bovik & Evans 2000, taken as a ratio).

    >>> flat = image_signals(np.full((64, 96, 3), 128, np.uint8))
    >>> round(flat["brightness"], 3), flat["saturation"], round(flat["detail_1"], 3)
    (0.502, 0.0, -1.242)
    """
    grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    small = _reduced(image)
    small_grey = cv2.cvtColor(small, cv2.COLOR_BGR2GRAY)
    octaves = [small_grey]
    while len(octaves) < N_OCTAVES:
        octaves.append(cv2.pyrDown(octaves[-1]))
    details = {f"detail_{k}": _detail(level) for k, level in enumerate(octaves, start=1)}
    return {
        **details,
        "detail": _detail(grey),
        "edges": _edges(octaves[0]),
        "coarse_edges": _edges(octaves[1]),
        "noise": _noise(grey),
        **_light(small_grey),
        "haze": _haze(small),
        "saturation": _saturation(small),
        "blockiness": _blockiness(grey),
    }


def _reduced(image: np.ndarray) -> np.ndarray:
    height, width = image.shape[:2]
    factor = WORKING / max(height, width)
    if factor >= 1:
        return image
    size = (max(round(width * factor), 1), max(round(height * factor), 1))
    return cv2.resize(image, size, interpolation=cv2.INTER_AREA)


def _detail(grey: np.ndarray) -> float:
    blurred = cv2.GaussianBlur(grey, (5, 5), 1.0).astype(np.int16)
    norm = cv2.norm(grey.astype(np.int16) - blurred, cv2.NORM_L2SQR)
    return float(0.5 * np.log(norm / grey.size + ROUNDING))


def _edges(grey: np.ndarray) -> float:
    across = cv2.Sobel(grey, cv2.CV_32F, 1, 0)
    down = cv2.Sobel(grey, cv2.CV_32F, 0, 1)
    squares = (across * across + down * down).ravel()
    at = int(0.99 * (squares.size - 1))
    sharpest = np.partition(squares, at)[at]
    return float(0.5 * np.log(sharpest / 64 + ROUNDING))


def _noise(grey: np.ndarray) -> float:
    even = grey[: grey.shape[0] // 2 * 2, : grey.shape[1] // 2 * 2].astype(np.int16)
    rows = even[0::2] - even[1::2]
    diagonal = np.abs(rows[:, 0::2] - rows[:, 1::2])
    if not diagonal.size:
        return float(0.5 * np.log(ROUNDING))
    # Whole numbers: the median is placed inside its step, or it would not move for small noise.
    counts = np.bincount(diagonal.ravel())
    before = np.concatenate([[0], np.cumsum(counts)]) / diagonal.size
    median = float(np.interp(0.5, before, np.arange(len(before)) - 0.5).clip(0))
    return float(0.5 * np.log((median / 2 / 0.6745) ** 2 + ROUNDING))


def _light(grey: np.ndarray) -> dict[str, float]:
    mean, std = cv2.meanStdDev(grey)
    return {
        "brightness": float(mean[0, 0]) / 255,
        "contrast": float(0.5 * np.log(std[0, 0] ** 2 + ROUNDING)),
        "dark": float((grey < DARK).mean()),
        "bright": float((grey > BRIGHT).mean()),
    }


def _haze(image: np.ndarray) -> float:
    darkest = image[::8, ::8].min(axis=2)
    return float(cv2.erode(darkest, np.ones((HAZE, HAZE), np.uint8)).mean()) / 255


def _saturation(image: np.ndarray) -> float:
    part = image[::4, ::4]
    highest, lowest = part.max(axis=2).astype(np.float32), part.min(axis=2)
    return float(((highest - lowest) / np.maximum(highest, 1)).mean())


def _blockiness(grey: np.ndarray) -> float:
    at_border = np.arange(1, grey.shape[1]) % BLOCK == 0
    if not at_border.any():
        return 0.0
    steps = cv2.reduce(cv2.absdiff(grey[:, 1:], grey[:, :-1]), 0, cv2.REDUCE_AVG, dtype=cv2.CV_32F)
    steps = steps.ravel()
    elsewhere = steps[~at_border].mean() + ROUNDING
    return float(np.log((steps[at_border].mean() + ROUNDING) / elsewhere))
