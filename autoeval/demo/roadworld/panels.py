"""Flat coloured polygons, of which every solid thing in the world is made."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

Level = tuple[float, float, float, float]

CORNERS = 8
"""Vertices of a panel; shorter polygons repeat their last vertex."""

DARK, HEADLIGHT, TAILLIGHT, LAMP = 0, 1, 2, 3
"""What a panel gives off when lights are on."""


@dataclass(frozen=True, eq=False)
class Panels:
    """A drawing list: parts (convex solids) drawn far to near, each panel in the given order.

    Parameters
    ----------
    points : ndarray of shape (P, 8, 3)
        Vertices in metres, anticlockwise as seen from outside.
    colours : ndarray of shape (P, 3)
        BGR reflectance in [0, 1].
    light : ndarray of shape (P,), int
        One of DARK, HEADLIGHT, TAILLIGHT, LAMP.
    part : ndarray of shape (P,), int
        Convex part that the panel belongs to.
    paint : ndarray of shape (P,), bool
        Whether the colour is to be multiplied by the owner's paint.
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
        """Scale, turn (heading 0 faces +Y, clockwise from above) and move to (x, y)."""
        local = self.points * np.asarray(scale)
        sin, cos = np.sin(heading), np.cos(heading)
        ahead, left = local[..., 0], local[..., 1]
        across = ahead * sin - left * cos + x
        along = ahead * cos + left * sin + y
        return replace(self, points=np.stack([across, along, local[..., 2]], -1))

    def painted(self, colour: np.ndarray) -> Panels:
        """Multiply the colours of the paintable panels by ``colour`` (3,)."""
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
        """Add one polygon (n <= 8, 3) and return it as an array."""
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
            x of the rear, x of the front, width, z.
        colour : tuple of float
            BGR.
        paint : bool
            Whether the owner's paint multiplies the colour.
        new_part : bool
            Whether this is a part of its own, or continues the current one.

        Returns
        -------
        dict of str to ndarray of shape (4, 3)
            Faces ``front``, ``rear``, ``left``, ``right``, ``roof``: bottom left, bottom right,
            top right, top left as seen from outside.
        """
        if new_part:
            self.part()
        (r0, f0, w0, z0), (r1, f1, w1, z1) = bottom, top
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
        u0: float,
        u1: float,
        v0: float,
        v1: float,
        colour: tuple[float, ...],
        *,
        light: int = DARK,
        paint: bool = False,
    ) -> None:
        """Add a patch of a four-cornered face: u from left to right, v from bottom to top."""
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


_SIDES = (("L", 1.0), ("R", -1.0))
_WALLS = {
    "front": (("f", "R"), ("f", "L")),
    "rear": (("r", "L"), ("r", "R")),
    "left": (("f", "L"), ("r", "L")),
    "right": (("r", "R"), ("f", "R")),
}
