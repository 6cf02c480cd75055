"""What lies above the horizon: sky, clouds, hills or a skyline."""

from __future__ import annotations

import numpy as np

from autoeval.demo.roadworld.camera import Camera
from autoeval.demo.roadworld.ground import texture
from autoeval.demo.roadworld.light import Light

HILL = np.array([0.30, 0.36, 0.30], np.float32)
FARTHEST_HILLS = 350.0
"""Metres of air through which hills and the farthest ground are seen."""


def sky_colour(camera: Camera, light: Light, city: bool, seed: float) -> np.ndarray:
    """Colour of the rows that have sky in them, BGR in [0, 1], (3, camera.above, W) float32.

    Parameters
    ----------
    camera, light : Camera, Light
        View and illumination.
    city : bool
        A skyline of blocks instead of hills.
    seed : float
        Chooses clouds and hills.
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
    if city:
        bearing = np.floor(bearing * 22) / np.float32(22)
        wave = np.sin(bearing * 91 + seed) + np.sin(bearing * 47 + 2 * seed)
        return np.float32(0.022) * np.maximum(np.float32(0.2), wave + 1)
    wave = np.sin(bearing * 3.1 + seed) + 0.5 * np.sin(bearing * 7.3 + 2 * seed)
    rough = 0.12 * np.sin(bearing * 61 + 3 * seed) + 0.08 * np.sin(bearing * 113)
    return np.float32(0.025) * (1.4 + 0.8 * wave + rough)
