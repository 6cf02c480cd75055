"""All panels of a scene projected, culled and coloured at once."""

from __future__ import annotations

import numpy as np

from autoeval.demo.roadworld.camera import Camera
from autoeval.demo.roadworld.light import Light
from autoeval.demo.roadworld.panels import DARK, HEADLIGHT, LAMP, TAILLIGHT, Panels

SHINE = {HEADLIGHT: (1.0, 1.0, 1.0), TAILLIGHT: (0.25, 0.22, 1.0), LAMP: (0.65, 0.88, 1.0)}
SNOW = np.array([0.93, 0.92, 0.92])
UPPER = 0.55
"""A part whose lowest point is above this, in metres, stands on the parts below."""


class DrawingList:
    """The panels of all solids, in one array each.

    Parameters
    ----------
    solids : list of Panels
        In world coordinates.
    lit : list of bool
        Whether each solid's lamps are on.
    camera, light
        View and illumination.
    """

    SHIFT = 4
    """Fractional bits of `vertices`."""

    def __init__(self, solids: list[Panels], lit: list[bool], camera: Camera, light: Light) -> None:
        self.camera, self.solids = camera, solids
        sizes = [len(panels) for panels in solids]
        self.starts = np.concatenate([[0], np.cumsum(sizes)])
        points = np.concatenate([panels.points for panels in solids])
        self.light = np.concatenate([panels.light for panels in solids])
        self.glowing = np.repeat(lit, sizes) & (self.light != DARK)
        self.pixels, depth = camera.project(points)
        self.depth = depth.mean(1)
        # A pixel's centre is a whole number to OpenCV and a half to the camera.
        self.vertices = np.round((self.pixels - 0.5) * (1 << self.SHIFT)).astype(np.int32)
        self.facing = _faces_camera(self.pixels)
        albedo = np.concatenate([panels.colours for panels in solids])
        self.colours = self._lit(points, albedo, light).tolist()

    def rows(self, index: int) -> list[int]:
        """Rows of one solid that face the camera, in drawing order."""
        rows = self.starts[index] + _part_order(self.solids[index], self.camera)
        return rows[self.facing[rows]].tolist()

    def extent(self, index: int) -> np.ndarray:
        """Box (4,) xyxy around the projected vertices of one solid, pixels, not clipped."""
        pixels = self.pixels[self.starts[index] : self.starts[index + 1]]
        return np.concatenate([pixels.min((0, 1)), pixels.max((0, 1))])

    def _lit(self, points: np.ndarray, albedo: np.ndarray, light: Light) -> np.ndarray:
        normal = np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0])
        normal /= np.linalg.norm(normal, axis=1, keepdims=True) + 1e-9
        if light.snow:
            cover = light.snow * 1.6 * np.clip(normal[:, 2:] - 0.5, 0, 0.5)
            albedo = albedo + cover * (SNOW - albedo)
        sun = np.clip(normal @ light.sun, 0, 1)[:, None] * light.direct
        colour = albedo * (sun + (0.80 + 0.20 * normal[:, 2:]) * light.ambient)
        veil = np.exp(-light.haze * self.depth)
        for kind, shine in SHINE.items():
            colour[self.glowing & (self.light == kind)] = shine
        veil = np.where(self.glowing, np.sqrt(veil), veil)[:, None]
        return np.clip(light.horizon + veil * (colour - light.horizon), 0, 1) * 255


def _faces_camera(pixels: np.ndarray) -> np.ndarray:
    """Whether polygons (P, 8, 2) turn anticlockwise on screen, where v points down."""
    u, v = pixels[..., 0], pixels[..., 1]
    twice = u[:, :-1] * v[:, 1:] - u[:, 1:] * v[:, :-1]
    return twice.sum(1) + u[:, -1] * v[:, 0] - u[:, 0] * v[:, -1] < 0


def _part_order(panels: Panels, camera: Camera) -> np.ndarray:
    """Rows sorted by part: low parts first, then from far to near."""
    parts = int(panels.part[-1]) + 1
    if parts == 1:
        return np.arange(len(panels))
    starts = np.searchsorted(panels.part, np.arange(parts))
    walls = panels.points[starts[:, None] + np.arange(2)].reshape(parts, -1, 3)
    distance = np.linalg.norm(walls.mean(1) - camera.position, axis=1)
    rank = np.lexsort((-distance, walls[..., 2].min(1) > UPPER))
    return np.argsort(np.argsort(rank)[panels.part], kind="stable")
