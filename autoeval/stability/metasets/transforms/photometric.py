"""The six transforms of the paper that change colours and leave objects in their place.

The paper (BoS, section 5.4) names the transforms and gives no ranges. Those here keep a person able
to tell what an image shows. Shares of a blend are multiples of 1/16: sums are exact before they are
rounded, and every processor gives the same pixels.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from autoeval.stability.metasets.transforms.base import ChangeImage, Transform, register

BORDER = (128, 128, 128)  # of corners that a rotation leaves bare


def _by(make: Callable[[ModuleType, float], Any]) -> ChangeImage:
    """Change an image by the transform that `make` builds of albumentations and a magnitude."""

    def change(image: np.ndarray, magnitude: float, rng: np.random.Generator) -> np.ndarray:
        return make(albumentations(), magnitude)(image=image)["image"]

    return change


def _color_temperature(image: np.ndarray, kelvin: float, rng: np.random.Generator) -> np.ndarray:
    """Light the scene by a black body: low temperatures are orange, high ones blue."""
    jitter = albumentations().PlanckianJitter(mode="blackbody", p=1.0)
    rgb = np.ascontiguousarray(image[..., ::-1])
    return jitter.apply(rgb, temperature=int(kelvin))[..., ::-1]


def _equalize(image: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Blend the image with its version whose channels have a flat histogram."""
    flat = albumentations().Equalize(mode="cv", p=1.0)(image=image)["image"]
    return np.rint(image * np.float32(1 - share) + flat * np.float32(share)).astype(np.uint8)


# A Laplacian makes edges stand out in the sharpened image.
_sharpen = _by(lambda a, share: a.Sharpen(alpha=(share, share), lightness=(1.0, 1.0), p=1.0))
_solarize = _by(lambda a, value: a.Solarize(threshold_range=(value / 255, value / 255), p=1.0))
# Stretches each channel to 0..255; pixels that are at 255 already are not counted.
_autocontrast = _by(lambda a, cutoff: a.AutoContrast(cutoff=cutoff, method="pil", p=1.0))
_brightness = _by(
    lambda a, factor: a.ColorJitter(
        (factor, factor), contrast=(1.0, 1.0), saturation=(1.0, 1.0), hue=(0.0, 0.0), p=1.0
    )
)
PHOTOMETRIC = tuple(
    register(transform).name
    for transform in (
        Transform("Sharpness", 1 / 16, 1, 1 / 16, "share of the sharpened image", _sharpen),
        Transform("Equalize", 1 / 16, 1, 1 / 16, "share of the equalised image", _equalize),
        Transform("ColorTemperature", 3000, 15000, 100, "kelvin", _color_temperature),
        Transform("Solarize", 96, 255, 1, "value from which on pixels are inverted", _solarize),
        Transform("Autocontrast", 0, 20, 1, "percent cut off at either end", _autocontrast),
        Transform("Brightness", 0.5, 1.5, 0.05, "factor", _brightness),
    )
)


def rotate_boxes(boxes: np.ndarray, degrees: float, size: tuple[int, int]) -> np.ndarray:
    """Enclose the rotated corners of each box.

    The angle is counter-clockwise as seen (the y axis points down), about the centre of the image.

    Parameters
    ----------
    boxes : ndarray of shape (N, 4), float64
        xyxy, pixels.
    degrees : float
        The angle.
    size : (int, int)
        Height and width of the image, pixels.

    Returns
    -------
    ndarray of shape (N, 4), float64
        Upright boxes around the corners, xyxy in pixels, not clipped.
    """
    height, width = size
    centre = np.array([width / 2, height / 2])
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    corners = boxes[:, [[0, 1], [2, 1], [2, 3], [0, 3]]] - centre
    turned = corners @ np.array([[cos, -sin], [sin, cos]]) + centre
    return np.concatenate([turned.min(1), turned.max(1)], axis=1)


# About the image's centre; its size stays.
_rotate = _by(lambda a, degrees: a.Rotate(limit=(degrees, degrees), fill=BORDER, p=1.0))
ROTATE = register(
    Transform("Rotate", -15, 15, 0.5, "degrees, counter-clockwise", _rotate, rotate_boxes)
).name


def albumentations() -> ModuleType:
    """Import albumentations (seconds, so only when needed) without its check for updates."""
    os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")
    import albumentations

    return albumentations
