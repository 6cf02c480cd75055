"""The sky, what falls through the air, and what the sensor does to the picture.

`sky_colour` is part of `autoeval.roadworld.rendering`; `precipitation` and `sense` follow it, in
`autoeval.roadworld.dataset.make_picture`.
"""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np

from autoeval.roadworld.environments import RAIN, SNOW, Light, Sensor
from autoeval.roadworld.ground import texture
from autoeval.roadworld.panels import Camera

GRAIN_TILE = 768
HILL = np.array([0.30, 0.36, 0.30], np.float32)
FARTHEST_HILLS = 350.0
"""Metres of air through which hills and the farthest ground are seen."""


def precipitation(image: np.ndarray, weather: str, rng: np.random.Generator) -> np.ndarray:
    """Let rain or snow fall through an image; other weather changes nothing.

    Parameters
    ----------
    image : ndarray of shape (H, W, 3), uint8
        BGR.
    weather : str
        `RAIN`, `SNOW` or another.
    rng : Generator
        Of where drops and flakes are.

    Returns
    -------
    ndarray of shape (H, W, 3), uint8
    """
    if weather == RAIN:
        return _rain(image, rng)
    if weather == SNOW:
        return _snow(image, rng)
    return image


def sense(image: np.ndarray, sensor: Sensor, rng: np.random.Generator) -> np.ndarray:
    """Blur, coarsen, add noise to and compress an image, as a camera would.

    Parameters
    ----------
    image : ndarray of shape (H, W, 3), uint8
        BGR, at most `GRAIN_TILE` pixels high and wide.
    sensor : Sensor
        Ranges of what is done.
    rng : Generator
        Draws from the ranges, and the noise.

    Returns
    -------
    ndarray of shape (H, W, 3), uint8
    """
    height, width = image.shape[:2]
    sigma, length = rng.uniform(*sensor.defocus), rng.uniform(*sensor.motion)
    if sigma > 0.2:
        image = cv2.GaussianBlur(image, (0, 0), sigma)
    if length > 1:
        image = cv2.filter2D(image, -1, _streak(length, rng.uniform(0, np.pi)))
    if sensor.shrink < 1:
        small = (round(width * sensor.shrink), round(height * sensor.shrink))
        image = cv2.resize(image, small, interpolation=cv2.INTER_AREA)
    image = _add_noise(image, rng.uniform(*sensor.noise), rng)
    if sensor.jpeg < 100:
        _, packed = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, sensor.jpeg])
        image = np.asarray(cv2.imdecode(packed, cv2.IMREAD_COLOR))
    if sensor.shrink < 1:
        image = cv2.resize(image, (width, height), interpolation=cv2.INTER_LINEAR)
    return image


def _add_noise(image: np.ndarray, level: float, rng: np.random.Generator) -> np.ndarray:
    """Add noise whose deviation grows with the square root of brightness.

    image (H, W, 3): as of the sensor
    level: standard deviation in grey levels at a brightness of 88
    rng: chooses the window of the noise
    """
    height, width = image.shape[:2]
    top, left = rng.integers(0, GRAIN_TILE - np.array([height, width]))
    grain = _grain()[top : top + height, left : left + width]
    deviation = (level * np.sqrt((np.arange(256) + 40) / 128)).astype(np.float32)
    return np.clip(image + grain * deviation[image], 0, 255).astype(np.uint8)


@lru_cache(maxsize=1)
def _grain() -> np.ndarray:
    """Return a tile of normal noise from which every image takes a window, (T, T, 3) float32."""
    return np.random.default_rng(1).standard_normal((GRAIN_TILE, GRAIN_TILE, 3), np.float32)


def _streak(length: float, angle: float) -> np.ndarray:
    """Return the kernel (k, k) of motion blur: a length in pixels, an angle in radians; sum 1."""
    size = 2 * int(np.ceil(length / 2)) + 1
    kernel = np.zeros((size, size), np.float32)
    middle = size // 2
    reach = np.array([np.cos(angle), np.sin(angle)]) * length / 2
    start = np.round((middle - reach) * 16).astype(int)
    end = np.round((middle + reach) * 16).astype(int)
    cv2.line(kernel, tuple(map(int, start)), tuple(map(int, end)), 1.0, 1, cv2.LINE_AA, 4)
    return kernel / kernel.sum() if kernel.sum() else np.ones((1, 1), np.float32)


def _rain(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw streaks of rain, and some drops on the lens."""
    height, width = image.shape[:2]
    veil = np.zeros((height, width), np.uint8)
    slant = rng.normal(0, 0.2)
    for _ in range(rng.integers(120, 380)):
        x, y, length = rng.uniform(0, width), rng.uniform(-20, height), rng.uniform(5, 18)
        end = (int(x + slant * length), int(y + length))
        cv2.line(veil, (int(x), int(y)), end, int(rng.integers(25, 75)), 1, cv2.LINE_AA)
    image = cv2.add(image, cv2.merge([cv2.GaussianBlur(veil, (0, 0), 0.6)] * 3))
    for _ in range(rng.integers(0, 14)):
        x, y = rng.integers(8, width - 8), rng.integers(8, height - 8)
        _drop(image, int(x), int(y), int(rng.integers(3, 8)))
    return image


def _drop(image: np.ndarray, x: int, y: int, radius: int) -> None:
    """Put a drop on the lens: it shows its surroundings blurred and upside down.

    image (H, W, 3): changed in place
    x, y, radius: centre and radius in pixels; all of it is inside the image
    """
    patch = image[y - radius : y + radius, x - radius : x + radius]
    mask = np.zeros(patch.shape[:2], np.uint8)
    cv2.circle(mask, (radius, radius), radius - 1, 255, -1)
    upside_down = cv2.GaussianBlur(patch[::-1], (0, 0), 2)
    patch[mask > 0] = np.minimum(upside_down[mask > 0].astype(int) + 12, 255)


def _snow(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw flakes of snow, some of them near and large."""
    height, width = image.shape[:2]
    veil = np.zeros((height, width), np.uint8)
    for _ in range(rng.integers(80, 300)):
        centre = (int(rng.uniform(0, width) * 16), int(rng.uniform(0, height) * 16))
        radius = int(16 * min(3.2, 0.5 + rng.exponential(0.5)))
        cv2.circle(veil, centre, radius, int(rng.integers(90, 220)), -1, cv2.LINE_AA, 4)
    cover = cv2.GaussianBlur(veil, (0, 0), 0.7)[..., None].astype(np.float32) / 255
    return (image * (1 - cover) + 245 * cover).astype(np.uint8)


def sky_colour(camera: Camera, light: Light, city: bool, seed: float) -> np.ndarray:
    """Colour of the rows that have sky in them: a gradient, clouds, and hills or a skyline below.

    Parameters
    ----------
    camera : Camera
        Of which the first ``camera.above`` rows are drawn.
    light : Light
        Colours of zenith and horizon, and haze.
    city : bool
        Whether a skyline closes the view, in place of hills.
    seed : float
        Chooses clouds and the outline.

    Returns
    -------
    ndarray of shape (3, camera.above, W), float32
        BGR planes in [0, 1].
    """
    x, y, z = camera.rays[:, : camera.above]
    seed32 = np.float32(seed)
    bearing = x / y
    horizon, zenith = light.horizon[:, None, None], light.zenith[:, None, None]
    planes = horizon + np.clip(z / np.float32(0.45), 0, 1) * (zenith - horizon)
    flat = np.maximum(z, np.float32(0.04))
    clouds = texture(x / flat + seed32, y / flat, 0.05)
    cover = np.clip(np.float32(1.6) * clouds + np.float32(0.15), 0, 0.75)
    white = 0.25 * horizon + 0.75 * horizon.max()
    planes += cover * np.float32(min(1.0, 0.004 / light.haze)) * (white - planes)
    outline = _outline(bearing, city, seed32)
    veil = float(np.exp(-FARTHEST_HILLS * light.haze))
    hills = (HILL * light.ambient)[:, None, None]
    far = hills * np.float32(1.2 * veil) + horizon * np.float32(1 - veil)
    inside = np.clip((outline - z) * np.float32(camera.focal), 0, 1)
    planes += inside * (far - planes)
    return planes


def _outline(bearing: np.ndarray, city: bool, seed: np.float32) -> np.ndarray:
    """Return how high hills or a skyline reach at each bearing, as the z of a ray of depth 1.

    bearing (h, W): x / y of the rays
    city: skyline, in steps, or hills
    seed: chooses the outline
    """
    if city:
        bearing = np.floor(bearing * 22) / np.float32(22)
        wave = np.sin(bearing * 91 + seed) + np.sin(bearing * 47 + 2 * seed)
        return np.float32(0.022) * np.maximum(np.float32(0.2), wave + 1)
    wave = np.sin(bearing * 3.1 + seed) + 0.5 * np.sin(bearing * 7.3 + 2 * seed)
    rough = 0.12 * np.sin(bearing * 61 + 3 * seed) + 0.08 * np.sin(bearing * 113)
    return np.float32(0.025) * (1.4 + 0.8 * wave + rough)
