"""Weather before the lens: snow, frost, fog and bright light."""

from __future__ import annotations

import math
from functools import lru_cache

import cv2
import numpy as np

from autoeval.metasets.transforms.corruption import register_corruption, rows, to_bytes
from autoeval.metasets.transforms.frost import frost_layer
from autoeval.metasets.transforms.plasma import plasma
from autoeval.metasets.transforms.streak import streak

GREY_FACTOR, GREY_OFFSET = 1.5, 128


def snow(
    image: np.ndarray,
    rng: np.random.Generator,
    *,
    mean: float,
    size: float,
    threshold: float,
    radius: int,
    sigma: float,
    keep: float,
) -> np.ndarray:
    """Whiten the scene and let flakes fall, in streaks.

    Alike the published one, with its numbers: flakes are where enlarged normal noise exceeds a
    threshold; one layer falls and the same layer, turned by 180 degrees, falls too.

    Parameters
    ----------
    image : ndarray of shape (H, W, 3), uint8
    rng : Generator
    mean : float
        Of the noise, as a share of 255; its standard deviation is .3.
    size : float
        Of the noise's grains, pixels.
    threshold : float
        Darker noise is no flake.
    radius, sigma : int, float
        Of the streaks, pixels; see `streak`.
    keep : float
        Share of the image in the blend with its whitened version.
    """
    height, width = image.shape[:2]
    coarse = (math.ceil(height / size), math.ceil(width / size))
    grains = to_bytes(255 * rng.normal(mean, 0.3, coarse))
    flakes = cv2.resize(grains, (width, height), interpolation=cv2.INTER_LINEAR_EXACT)
    flakes[flakes < 255 * threshold] = 0
    flakes = streak(flakes, radius=radius, sigma=sigma, degrees=rng.uniform(-135, -45))
    flakes = cv2.add(flakes, flakes[::-1, ::-1])
    grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    white = grey * np.float32(GREY_FACTOR) + np.float32(GREY_OFFSET)
    scene = image * np.float32(keep)
    scene += np.float32(1 - keep) * np.maximum(image, white[..., None])
    return to_bytes(scene + flakes[..., None])


def frost(image: np.ndarray, rng: np.random.Generator, *, keep: float, add: float) -> np.ndarray:
    """Look through a frosted window: a share of the image plus a share of a layer of ice.

    The two shares are the published ones. The published layers are photographs; this one is drawn
    (see `frost_layer`), so it is alike and no more.
    """
    layer = frost_layer(image.shape[:2], rng)
    return to_bytes(image * np.float32(keep) + layer * np.float32(add))


def fog(image: np.ndarray, rng: np.random.Generator, *, density: float, decay: float) -> np.ndarray:
    """Add banks of fog and darken the sum so that the brightest pixel stays as bright as it was.

    Density is the published one, as a share of 255. The published field is another variant of
    `plasma`; its decay is the square of the number published, which enters it twice.
    """
    brightest = np.float32(image.max())
    banks = plasma(image.shape[:2], rng, decay=decay) * np.float32(255 * density)
    scale = brightest / (brightest + np.float32(255 * density))
    return to_bytes((image + banks[..., None]) * scale)


def brightness(image: np.ndarray, rng: np.random.Generator, *, add: float) -> np.ndarray:
    """Add to the value of HSV, keeping hue and saturation; ``add`` is a share of 255.

    Severities are the published ones. The greatest channel of a pixel is its value, and the others
    keep their ratio to it; black becomes grey.
    """
    blue, green, red = cv2.split(image)
    value = cv2.max(cv2.max(blue, green), red)
    return _brighter(add)[value[..., None], image]


@lru_cache
def _brighter(add: float) -> np.ndarray:
    """List what becomes of each channel's value, by the pixel's greatest: (256, 256) uint8."""
    greatest, channel = np.ogrid[:256, :256]
    after = np.minimum(greatest + 255 * add, 255)
    return to_bytes(np.where(greatest > 0, channel * after / np.maximum(greatest, 1), after))


WEATHER = (
    register_corruption(
        "snow",
        snow,
        rows(
            mean=[0.1, 0.2, 0.55, 0.55, 0.55],
            size=[3, 2, 4, 4.5, 2.5],
            threshold=[0.5, 0.5, 0.9, 0.85, 0.85],
            radius=[10, 12, 12, 12, 12],
            sigma=[4, 4, 8, 8, 12],
            keep=[0.8, 0.7, 0.7, 0.65, 0.55],
        ),
    ),
    register_corruption(
        "frost", frost, rows(keep=[1, 0.8, 0.7, 0.65, 0.6], add=[0.4, 0.6, 0.7, 0.7, 0.75])
    ),
    register_corruption(
        "fog", fog, rows(density=[1.5, 2, 2.5, 2.5, 3], decay=[4, 4, 2.89, 2.25, 1.96])
    ),
    register_corruption("brightness", brightness, rows(add=[0.1, 0.2, 0.3, 0.4, 0.5])),
)
