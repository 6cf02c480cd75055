"""The transforms of the code released with the paper on box stability, drawn for each image.

That code (https://github.com/YangYangGirl/BoS, ``dtool/metaset``) gives every image one to four of
eight augmenters of imgaug 0.4, in a random order and each with a magnitude of its own; none moves
objects. Magnitudes are uniform in the ranges given there, or else in imgaug's defaults. Images are
read as BGR and given to functions that expect RGB, so that red and blue are exchanged in
`temperature`, `colour` and `grayscale`; so they are here.

Pixels are close to imgaug's, not the same to the last bit; the draws are other ones, since the code
chooses with a generator that it does not seed.
"""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
from PIL import Image, ImageEnhance, ImageOps

from autoeval.stability.metasets.transforms.base import Transform, register, to_bytes

Rng = np.random.Generator

# Colour of a black body seen by the 10 degree observer, as sRGB bytes (M. Charity's table); linear
# in between, within two of 255 of that table's rows.
KELVIN = (1100, 1200, 1400, 1700, 1900, 2000, 2200, 2500, 3000, 3600, 4300, 5000)
GREEN = (71, 83, 101, 121, 131, 137, 147, 161, 180, 199, 215, 228)
BLUE = (0, 0, 0, 0, 0, 18, 44, 72, 107, 143, 177, 206)
LUMA = np.array([0.299, 0.587, 0.114])


def colour(image: np.ndarray, rng: Rng) -> np.ndarray:
    """Take colour away or exaggerate it, by a factor of 0 to 3."""
    return np.asarray(ImageEnhance.Color(Image.fromarray(image)).enhance(rng.uniform(0, 3)))


def sharpen(image: np.ndarray, rng: Rng) -> np.ndarray:
    """Blend with a sharpened image of .8 to 1.2 times the brightness; its share is 0 to 1."""
    share, lightness = rng.uniform(0, 1), rng.uniform(0.8, 1.2)
    kernel = np.full((3, 3), -share)
    kernel[1, 1] = 1 - share + share * (8 + lightness)
    return to_bytes(cv2.filter2D(image, cv2.CV_64F, kernel))


def temperature(image: np.ndarray, rng: Rng) -> np.ndarray:
    """Light the scene by a black body of 1100 to 5000 K."""
    kelvin = rng.uniform(1100, 5000)
    light = np.array([255, np.interp(kelvin, KELVIN, GREEN), np.interp(kelvin, KELVIN, BLUE)])
    return to_bytes(image * (light / 255))


def equalise(image: np.ndarray, rng: Rng) -> np.ndarray:
    """Give each channel a flat histogram."""
    return np.asarray(ImageOps.equalize(Image.fromarray(image)))


def solarise(image: np.ndarray, rng: Rng) -> np.ndarray:
    """Invert the values from a threshold of 32 to 128 upwards, of every second image."""
    chosen, threshold = rng.uniform() < 0.5, int(rng.uniform(32, 128))
    return np.where(image >= threshold, 255 - image, image) if chosen else image


def multiply(image: np.ndarray, rng: Rng) -> np.ndarray:
    """Multiply by .8 to 1.2, of one image in five each channel by another factor."""
    apart, factors = rng.uniform() < 0.2, rng.uniform(0.8, 1.2, 3)
    return np.clip(image * (factors if apart else factors[0]), 0, 255).astype(np.uint8)


def autocontrast(image: np.ndarray, rng: Rng) -> np.ndarray:
    """Stretch each channel to 0..255 after cutting 0 to 20 per cent off both ends."""
    cutoff = int(rng.integers(21))
    return np.asarray(ImageOps.autocontrast(Image.fromarray(image), cutoff))


def grayscale(image: np.ndarray, rng: Rng) -> np.ndarray:
    """Blend with the grey image, whose share is 0 to .5."""
    share = rng.uniform(0, 0.5)
    grey = np.rint(image @ LUMA)[..., None]
    return to_bytes((1 - share) * image + share * grey)


EIGHT: tuple[Callable[[np.ndarray, Rng], np.ndarray], ...] = (
    colour,
    sharpen,
    temperature,
    equalise,
    solarise,
    multiply,
    autocontrast,
    grayscale,
)


def mix(image: np.ndarray, number: float, rng: Rng) -> np.ndarray:
    """Apply so many of the eight, different ones in a random order."""
    for k in rng.permutation(len(EIGHT))[: int(number)]:
        image = EIGHT[k](image, rng)
    return image


RELEASED_MIX = register(
    Transform("ReleasedMix", 1, 4, 1, "transforms out of eight, each with its own magnitude", mix)
).name
