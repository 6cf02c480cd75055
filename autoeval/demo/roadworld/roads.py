"""Roads: a coordinate frame along the road, and what lies across it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Place = float | np.ndarray


@dataclass(frozen=True)
class Road:
    """A road through (x, y) with traffic on the right.

    Parameters
    ----------
    x, y : float
        A point on the centre line, metres.
    heading : float
        Direction there, radians clockwise from +Y.
    curvature : float
        1 / metres; positive bends to the right.
    lanes : int
        Lanes for each direction.
    lane_width, median, shoulder, pavement : float
        Metres; the median is the gap between the directions, the pavement is for walkers.
    """

    x: float
    y: float
    heading: float
    curvature: float = 0.0
    lanes: int = 1
    lane_width: float = 3.3
    median: float = 0.0
    shoulder: float = 0.5
    pavement: float = 0.0

    @property
    def carriageway(self) -> float:
        """Distance from the centre line to the outer edge line, metres."""
        return self.median / 2 + self.lanes * self.lane_width

    @property
    def half_width(self) -> float:
        """Distance from the centre line to the kerb, metres."""
        return self.carriageway + self.shoulder

    def locate(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return how far along (s) and how far to the right (t) world points lie, metres."""
        dx, dy = x - np.float32(self.x), y - np.float32(self.y)
        sin, cos = np.float32(np.sin(self.heading)), np.float32(np.cos(self.heading))
        s = dx * sin + dy * cos
        return s, dx * cos - dy * sin - np.float32(self.curvature / 2) * s * s

    def place(self, s: Place, t: Place) -> tuple[Any, Any, Any]:
        """Return x, y and heading of points at (s, t), floats or arrays, travelling to larger s."""
        across = t + 0.5 * self.curvature * s * s
        sin, cos = np.sin(self.heading), np.cos(self.heading)
        x, y = self.x + s * sin + across * cos, self.y + s * cos - across * sin
        return x, y, self.heading + np.arctan(self.curvature * s)

    def lane_centres(self) -> list[tuple[float, int]]:
        """Return (t, direction) of every lane; direction is +1 towards larger s."""
        offsets = [self.median / 2 + (i + 0.5) * self.lane_width for i in range(self.lanes)]
        return [(t, 1) for t in offsets] + [(-t, -1) for t in offsets]
