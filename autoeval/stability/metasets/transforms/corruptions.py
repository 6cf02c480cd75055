"""The common corruptions: blur, noise of the sensor, damage by processing, weather before the lens.

Those of Hendrycks & Dietterich 2019 at five severities; `meta_sets/README.md` has the numbers.
Each takes an image (H, W, 3), uint8 and BGR, the generator of its draws, and what differs between
severities; it returns an image of the same size and type.
"""

from __future__ import annotations

import math
from functools import lru_cache

import cv2
import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.special import ndtri, pdtr

from autoeval.stability.metasets.transforms.base import register_corruption, rows, to_bytes

# Weights are whole numbers that sum to this: sums of bytes stay exact in 16 bits.
WHOLE = 256
CORRELATION = 0.01  # of neighbouring displacements, share of the side
LIMIT = 3  # of a displacement, standard deviations
COARSE = 4  # spacing of the displacements that are drawn, pixels
# Noise is drawn from a list of its quantiles: many times as fast, and in whole numbers.
N_QUANTILES = 2**14
GREY_FACTOR = 1.5
GREY_OFFSET = 128
ICE = (255, 240, 222)  # colour of thick ice, BGR
N_FEATHERS = 200
N_BARBS = 24
SHADES = (60, 100, 140, 180)


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
    blur: tuple[int, float],
    keep: float,
) -> np.ndarray:
    """Whiten the scene and let flakes fall, in streaks (see `streak`).

    Alike the published one, with its numbers: flakes are where enlarged normal noise, of `mean` as
    a share of 255, standard deviation .3 and grains of `size` pixels, exceeds a threshold; the same
    layer, turned by 180 degrees, falls too. `blur` is the radius and the width of the streaks, in
    pixels. `keep` is the share of the image in the blend with its whitened version.
    """
    height, width = image.shape[:2]
    coarse = (math.ceil(height / size), math.ceil(width / size))
    grains = to_bytes(255 * rng.normal(mean, 0.3, coarse))
    flakes = cv2.resize(grains, (width, height), interpolation=cv2.INTER_LINEAR_EXACT)
    flakes[flakes < 255 * threshold] = 0
    radius, sigma = blur
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
            blur=[(10, 4), (12, 4), (12, 8), (12, 8), (12, 12)],
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
