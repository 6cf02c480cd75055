"""A pinhole camera above a flat world, and flat coloured polygons that make every solid thing.

World: metres, X to the right, Y forward, Z up; the camera stands at (0, 0, height).
Image: pixels, u to the right, v down; pixel (i, j) covers [i, i+1] x [j, j+1].
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

LOWEST_RAY = -6e-3
"""Rays that point down by less than this never reach the ground; they show sky."""

STEEP = np.deg2rad(40)
Level = tuple[float, float, float, float]

CORNERS = 8
"""Vertices of a panel; shorter polygons repeat their last vertex."""

DARK = 0
HEADLIGHT = 1
TAILLIGHT = 2
LAMP = 3
"""What a panel gives off when lights are on."""
_SIDES = (("L", 1.0), ("R", -1.0))
_WALLS = {
    "front": (("f", "R"), ("f", "L")),
    "rear": (("r", "L"), ("r", "R")),
    "left": (("f", "L"), ("r", "L")),
    "right": (("r", "R"), ("f", "R")),
}


@dataclass(frozen=True)
class Camera:
    """Where the camera is, where it looks and how wide.

    Parameters
    ----------
    height : float
        Metres above the ground.
    pitch : float
        Radians below the horizon (pi/2 looks straight down).
    focal : float
        Focal length, pixels.
    width, lines : int
        Size of the image, pixels.
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
        """Map world points to pixels and depths.

        Parameters
        ----------
        points : ndarray of shape (..., 3)
            Metres.

        Returns
        -------
        tuple of ndarray of shape (..., 2) and (...,)
            Pixels (u, v), which may lie outside the image, and depths in metres; behind the camera
            a depth is negative and the pixel means nothing.
        """
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


@dataclass(frozen=True, eq=False)
class Panels:
    """A drawing list: parts (convex solids) drawn far to near, each panel in the given order.

    Parameters
    ----------
    points : ndarray of shape (P, 8, 3)
        Vertices of P panels in metres, anticlockwise as seen from outside.
    colours : ndarray of shape (P, 3)
        BGR reflectances in [0, 1].
    light : ndarray of shape (P,)
        One of DARK, HEADLIGHT, TAILLIGHT, LAMP.
    part : ndarray of shape (P,)
        The convex part that the panel belongs to.
    paint : ndarray of shape (P,), bool
        Whether the owner's paint multiplies the colour.
    """

    points: np.ndarray
    colours: np.ndarray
    light: np.ndarray
    part: np.ndarray
    paint: np.ndarray

    def __len__(self) -> int:
        return len(self.points)

    def placed(
        self, x: float, y: float, heading: float, scale: ArrayLike = (1.0, 1.0, 1.0)
    ) -> Panels:
        """Scale, turn and move.

        Parameters
        ----------
        x, y : float
            Where the origin comes to lie, metres.
        heading : float
            Radians; 0 faces +Y, clockwise from above.
        scale : array_like of shape (3,)
            Of length, width and height, before the turn.
        """
        local = self.points * np.asarray(scale)
        sin, cos = np.sin(heading), np.cos(heading)
        ahead, left = local[..., 0], local[..., 1]
        across = ahead * sin - left * cos + x
        along = ahead * cos + left * sin + y
        return replace(self, points=np.stack([across, along, local[..., 2]], -1))

    def painted(self, colour: np.ndarray) -> Panels:
        """Multiply the colours of the paintable panels by a colour.

        Parameters
        ----------
        colour : ndarray of shape (3,)
            BGR, in [0, 1].
        """
        return replace(
            self, colours=np.where(self.paint[:, None], self.colours * colour, self.colours)
        )


class Builder:
    """Collects polygons in the owner's frame: x ahead, y to the left, z up."""

    def __init__(self) -> None:
        self._rows: list[tuple[np.ndarray, tuple[float, ...], int, int, bool]] = []
        self._part = -1

    def part(self) -> Builder:
        """Start a new convex part."""
        self._part += 1
        return self

    def add(
        self,
        polygon: ArrayLike,
        colour: tuple[float, ...],
        *,
        light: int = DARK,
        paint: bool = False,
    ) -> np.ndarray:
        """Add one polygon.

        Parameters
        ----------
        polygon : array_like of shape (n, 3)
            Up to 8 vertices, anticlockwise as seen from outside.
        colour : tuple of float
            BGR in [0, 1].
        light : int
            What it gives off when lights are on.
        paint : bool
            Whether the owner's paint multiplies the colour.

        Returns
        -------
        ndarray of shape (n, 3)
            The polygon.
        """
        polygon = np.asarray(polygon, float)
        padding = np.repeat(polygon[-1:], CORNERS - len(polygon), 0)
        self._rows.append((np.concatenate([polygon, padding]), colour, light, self._part, paint))
        return polygon

    def box(
        self,
        bottom: Level,
        top: Level,
        colour: tuple[float, ...],
        *,
        paint: bool = True,
        new_part: bool = True,
    ) -> dict[str, np.ndarray]:
        """Add four sides and a roof between two levels.

        Parameters
        ----------
        bottom, top : tuple of float
            x of the rear, x of the front, width, z; metres.
        colour, paint
            See `add`.
        new_part : bool
            Whether a new convex part begins.

        Returns
        -------
        dict of str to ndarray of shape (4, 3)
            Faces ``front``, ``rear``, ``left``, ``right``, ``roof``: bottom left, bottom right, top
            right, top left as seen from outside.
        """
        if new_part:
            self.part()
        r0, f0, w0, z0 = bottom
        r1, f1, w1, z1 = top
        low = {(i, j): (x, y * w0 / 2, z0) for i, x in (("r", r0), ("f", f0)) for j, y in _SIDES}
        high = {(i, j): (x, y * w1 / 2, z1) for i, x in (("r", r1), ("f", f1)) for j, y in _SIDES}
        faces = {
            name: np.array([low[a], low[b], high[b], high[a]]) for name, (a, b) in _WALLS.items()
        }
        faces["roof"] = np.array([high["r", "R"], high["f", "R"], high["f", "L"], high["r", "L"]])
        for face in faces.values():
            self.add(face, colour, paint=paint)
        return faces

    def inset(
        self,
        face: np.ndarray,
        across: tuple[float, float],
        upwards: tuple[float, float],
        colour: tuple[float, ...],
        *,
        light: int = DARK,
        paint: bool = False,
    ) -> None:
        """Add a patch of a four-cornered face, as `box` returns them.

        Parameters
        ----------
        face : ndarray of shape (4, 3)
            The face.
        across, upwards : tuple of float
            Where the patch begins and ends from left to right, and from bottom to top, as shares of
            the face.
        colour, light, paint
            See `add`.
        """
        (u0, u1), (v0, v1) = across, upwards
        u, v = np.array([[u0], [u1], [u1], [u0]]), np.array([[v0], [v0], [v1], [v1]])
        low = face[0] + u * (face[1] - face[0])
        high = face[3] + u * (face[2] - face[3])
        self.add(low + v * (high - low), colour, light=light, paint=paint)

    def done(self) -> Panels:
        """Return everything added."""
        points, colours, light, part, paint = zip(*self._rows, strict=True)
        return Panels(
            np.array(points), np.array(colours), np.array(light), np.array(part), np.array(paint)
        )
