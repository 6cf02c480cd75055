"""Weather before the lens: snow, frost, fog and bright light, with their textures."""

from __future__ import annotations

import math
from functools import lru_cache

import cv2
import numpy as np

from autoeval.stability.metasets.transforms.base import register_corruption, rows, to_bytes
from autoeval.stability.metasets.transforms.degradations import streak

GREY_FACTOR, GREY_OFFSET = 1.5, 128
ICE = (255, 240, 222)
"""Colour of thick ice, BGR."""
N_FEATHERS, N_BARBS = 200, 24
SHADES = (60, 100, 140, 180)


def brightness(image: np.ndarray, rng: np.random.Generator, *, add: float) -> np.ndarray:
    """Add to the value of HSV, keeping hue and saturation; ``add`` is a share of 255.

    Severities are the published ones. The greatest channel of a pixel is its value, and the others
    keep their ratio to it; black becomes grey.
    """
    blue, green, red = cv2.split(image)
    value = cv2.max(cv2.max(blue, green), red)
    return _brighter(add)[value[..., None], image]


def fog(image: np.ndarray, rng: np.random.Generator, *, density: float, decay: float) -> np.ndarray:
    """Add banks of fog and darken the sum so that the brightest pixel stays as bright as it was.

    Density is the published one, as a share of 255. The published field is another variant of
    `plasma`; its decay is the square of the number published, which enters it twice.
    """
    brightest = np.float32(image.max())
    banks = plasma(image.shape[:2], rng, decay=decay) * np.float32(255 * density)
    scale = brightest / (brightest + np.float32(255 * density))
    return to_bytes((image + banks[..., None]) * scale)


def frost(image: np.ndarray, rng: np.random.Generator, *, keep: float, add: float) -> np.ndarray:
    """Look through a frosted window: a share of the image plus a share of a layer of ice.

    The two shares are the published ones. The published layers are photographs; this one is drawn
    (see `_frost_layer`), so it is alike and no more.
    """
    layer = _frost_layer(image.shape[:2], rng)
    return to_bytes(image * np.float32(keep) + layer * np.float32(add))


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
    """Whiten the scene and let flakes fall, in streaks (see `streak`).

    Alike the published one, with its numbers: flakes are where enlarged normal noise, of `mean` as
    a share of 255, standard deviation .3 and grains of `size` pixels, exceeds a threshold; the same
    layer, turned by 180 degrees, falls too. `keep` is the share of the image in the blend with its
    whitened version.
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


@lru_cache
def _brighter(add: float) -> np.ndarray:
    """List what becomes of each channel's value, by the pixel's greatest: (256, 256) uint8."""
    greatest, channel = np.ogrid[:256, :256]
    after = np.minimum(greatest + 255 * add, 255)
    return to_bytes(np.where(greatest > 0, channel * after / np.maximum(greatest, 1), after))


def _frost_layer(size: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Draw a layer of ice; all sizes in it are shares of the image's shorter side."""
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
    """Lay out feathers: a shaft each, with barbs on both sides that shorten towards its tip."""
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


def plasma(size: tuple[int, int], rng: np.random.Generator, *, decay: float) -> np.ndarray:
    """Refine a coarse random field again and again, disturbing it less each time, by `decay`.

    The coarsest features span the longer side of `size` (height, width). Values, float32, are
    between 0 and 1, both ends reached (0 everywhere for one pixel). Source: random midpoint
    displacement with successive additions (Saupe, "The Science of Fractal Images", 1988, section
    2.3).
    """
    n_levels = (max(size) - 1).bit_length()
    field = rng.random((2, 2), dtype=np.float32)
    for level in range(1, n_levels + 1):
        spacing = 2 ** (n_levels - level)
        field = _midpoints(field)[: -(-size[0] // spacing) + 1, : -(-size[1] // spacing) + 1]
        field += rng.random(field.shape, dtype=np.float32) * np.float32(decay**-level)
    field = field[: size[0], : size[1]]
    field = field - field.min()
    return field / (field.max() or np.float32(1))


def _midpoints(field: np.ndarray) -> np.ndarray:
    """Put a point between any two neighbours, at their mean."""
    height, width = field.shape
    fine = np.empty((2 * height - 1, 2 * width - 1), np.float32)
    fine[::2, ::2] = field
    fine[1::2, ::2] = (field[1:] + field[:-1]) / 2
    fine[:, 1::2] = (fine[:, 2::2] + fine[:, :-1:2]) / 2
    return fine
