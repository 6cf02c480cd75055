"""The six transforms of the paper that change colours and leave objects in their place.

The paper (BoS, section 5.4) names the transforms and gives no ranges. Those here keep a person able
to tell what an image shows. Shares of a blend are multiples of 1/16: sums are exact before they are
rounded, and every processor gives the same pixels.
"""

from __future__ import annotations

import math
import os
from types import ModuleType

import numpy as np

from autoeval.metasets.transforms.base import Transform, register


def autocontrast(image: np.ndarray, cutoff: float, rng: np.random.Generator) -> np.ndarray:
    """Stretch each channel to 0..255 after cutting a percentage of its pixels off both ends.

    Pixels that are at 255 already are not counted.
    """
    contrast = albumentations().AutoContrast(cutoff=cutoff, method="pil", p=1.0)
    return contrast(image=image)["image"]


def brightness(image: np.ndarray, factor: float, rng: np.random.Generator) -> np.ndarray:
    """Multiply all values by a factor."""
    same = (1.0, 1.0)
    jitter = albumentations().ColorJitter(
        brightness=(factor, factor), contrast=same, saturation=same, hue=(0.0, 0.0), p=1.0
    )
    return jitter(image=image)["image"]


def _color_temperature(image: np.ndarray, kelvin: float, rng: np.random.Generator) -> np.ndarray:
    """Light the scene by a black body: low temperatures are orange, high ones blue."""
    jitter = albumentations().PlanckianJitter(mode="blackbody", p=1.0)
    rgb = np.ascontiguousarray(image[..., ::-1])
    return jitter.apply(rgb, temperature=int(kelvin))[..., ::-1]


def equalize(image: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Blend the image with its version whose channels have a flat histogram."""
    flat = albumentations().Equalize(mode="cv", p=1.0)(image=image)["image"]
    return np.rint(image * np.float32(1 - share) + flat * np.float32(share)).astype(np.uint8)


def sharpness(image: np.ndarray, alpha: float, rng: np.random.Generator) -> np.ndarray:
    """Blend the image with its sharpened version, in which edges stand out by a Laplacian."""
    sharpen = albumentations().Sharpen(alpha=(alpha, alpha), lightness=(1.0, 1.0), p=1.0)
    return sharpen(image=image)["image"]


def solarize(image: np.ndarray, threshold: float, rng: np.random.Generator) -> np.ndarray:
    """Invert the values from the threshold upwards."""
    share = threshold / 255
    return albumentations().Solarize(threshold_range=(share, share), p=1.0)(image=image)["image"]


PHOTOMETRIC = tuple(
    register(transform).name
    for transform in (
        Transform("Sharpness", 1 / 16, 1, 1 / 16, "share of the sharpened image", sharpness),
        Transform("Equalize", 1 / 16, 1, 1 / 16, "share of the equalised image", equalize),
        Transform("ColorTemperature", 3000, 15000, 100, "kelvin", _color_temperature),
        Transform("Solarize", 96, 255, 1, "value from which on pixels are inverted", solarize),
        Transform("Autocontrast", 0, 20, 1, "percent cut off at either end", autocontrast),
        Transform("Brightness", 0.5, 1.5, 0.05, "factor", brightness),
    )
)
BORDER = (128, 128, 128)


def rotate_boxes(boxes: np.ndarray, degrees: float, size: tuple[int, int]) -> np.ndarray:
    """Enclose the rotated corners of each box (N, 4), float64 xyxy pixels.

    The angle is counter-clockwise as seen (the y axis points down), about the centre of the image
    of `size` (height, width). The upright box around the corners is not clipped.
    """
    height, width = size
    centre = np.array([width / 2, height / 2])
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    corners = boxes[:, [[0, 1], [2, 1], [2, 3], [0, 3]]] - centre
    turned = corners @ np.array([[cos, -sin], [sin, cos]]) + centre
    return np.concatenate([turned.min(1), turned.max(1)], axis=1)


def _rotate_image(image: np.ndarray, degrees: float, rng: np.random.Generator) -> np.ndarray:
    """Turn an image counter-clockwise about its centre; its size stays, bare corners are grey."""
    rotate = albumentations().Rotate(limit=(degrees, degrees), fill=BORDER, p=1.0)
    return rotate(image=image)["image"]


ROTATE = register(
    Transform("Rotate", -15, 15, 0.5, "degrees, counter-clockwise", _rotate_image, rotate_boxes)
).name


def albumentations() -> ModuleType:
    """Import albumentations (seconds, so only when needed) without its check for updates."""
    os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")
    import albumentations

    return albumentations
