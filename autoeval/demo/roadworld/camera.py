"""A pinhole camera above a flat world.

World: metres, X to the right, Y forward, Z up; the camera stands at (0, 0, height).
Image: pixels, u to the right, v down; pixel (i, j) covers [i, i+1] x [j, j+1].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

LOWEST_RAY = -6e-3
"""Rays that point down by less than this never reach the ground; they show sky."""

STEEP = np.deg2rad(40)


@dataclass(frozen=True)
class Camera:
    """Where the camera is, where it looks and how wide.

    Parameters
    ----------
    height : float
        Metres above the ground.
    pitch : float
        Radians below the horizon; pi/2 looks straight down.
    focal : float
        Focal length in pixels.
    width, lines : int
        Image size in pixels.
    roll : float
        Radians, clockwise.

    Examples
    --------
    >>> level = Camera(height=2., pitch=0., focal=100., width=320, lines=192)
    >>> pixels, depth = level.project(np.array([[1., 10., 0.]]))
    >>> pixels.tolist(), depth.tolist()
    ([[170.0, 116.0]], [10.0])
    """

    height: float
    pitch: float
    focal: float
    width: int = 320
    lines: int = 192
    roll: float = 0.0

    @cached_property
    def axes(self) -> np.ndarray:
        """Rows (3, 3): the image's right, its down and the view direction, in world axes."""
        cos, sin = np.cos(self.pitch), np.sin(self.pitch)
        right, down, ahead = np.array([[1, 0, 0], [0, -sin, -cos], [0, cos, -sin]])
        cos, sin = np.cos(self.roll), np.sin(self.roll)
        return np.stack([cos * right + sin * down, cos * down - sin * right, ahead])

    @property
    def steep(self) -> bool:
        """Whether it looks down rather than along the road."""
        return self.pitch > STEEP

    @property
    def position(self) -> np.ndarray:
        """Optical centre (3,), metres."""
        return np.array([0.0, 0.0, self.height])

    def project(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Map world points (..., 3), metres, to pixels (..., 2) and depths (...,), metres."""
        seen = (points - self.position) @ self.axes.T
        depth = seen[..., 2]
        centre = np.array([self.width / 2, self.lines / 2])
        with np.errstate(divide="ignore", invalid="ignore"):
            pixels = self.focal * seen[..., :2] / depth[..., None] + centre
        return pixels, depth

    @cached_property
    def rays(self) -> np.ndarray:
        """World direction through each pixel centre, (3, H, W) float32, of depth 1."""
        u = (np.arange(self.width, dtype=np.float32) + 0.5 - self.width / 2) / self.focal
        v = (np.arange(self.lines, dtype=np.float32) + 0.5 - self.lines / 2) / self.focal
        right, down, ahead = self.axes.astype(np.float32)
        across = right[:, None, None] * u[None, None, :]
        return across + down[:, None, None] * v[None, :, None] + ahead[:, None, None]

    @cached_property
    def ground(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Ground X, Y and depth, each (H - `below`, W) float32, seen from row `below` on.

        Pixels of those rows that show sky get the farthest ground there is.
        """
        x, y, z = self.rays[:, self.below :]
        depth = np.float32(self.height) / np.maximum(-z, -LOWEST_RAY)
        return x * depth, y * depth, depth

    @cached_property
    def sky(self) -> np.ndarray:
        """Mask (H, W) of the pixels above the horizon."""
        return self.rays[2] > LOWEST_RAY

    @cached_property
    def below(self) -> int:
        """First row with ground in it."""
        return int((~self.sky).any(1).argmax())

    @cached_property
    def above(self) -> int:
        """Number of rows, from the top, that have sky in them."""
        return int(self.sky.any(1).sum())
