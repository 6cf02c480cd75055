"""Vehicles on the lanes and along the kerbs of a scene's roads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from autoeval.roadworld.environments import Environment
from autoeval.roadworld.ground import Road
from autoeval.roadworld.panels import Camera, Panels
from autoeval.roadworld.vehicles import MODELS, random_paint, vehicle_panels

KINDS = ("sedan", "hatchback", "suv", "van", "bus", "truck")
SHARES = {
    "street": (0.30, 0.28, 0.20, 0.12, 0.06, 0.04),
    "highway": (0.32, 0.20, 0.22, 0.10, 0.03, 0.13),
    "country": (0.30, 0.20, 0.22, 0.12, 0.03, 0.13),
}
NEAREST = 2.5
SMALLEST = 9.0
"""Vehicles are placed no farther than where a car's height spans this many pixels."""
MOST = 60
SHORTEST = 5.0


@dataclass(frozen=True, eq=False)
class Vehicle:
    """A vehicle on the ground.

    Parameters
    ----------
    kind : str
        One of `MODELS`.
    x, y : float
        Its centre, metres.
    heading : float
        Radians clockwise from +Y.
    paint : ndarray of shape (3,)
        BGR.
    scale : tuple of float
        Of length, width and height.
    lit : bool
        Whether its lamps are on.
    """

    kind: str
    x: float
    y: float
    heading: float
    paint: np.ndarray
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    lit: bool = False

    @property
    def length(self) -> float:
        """Length, metres."""
        return MODELS[self.kind].length * self.scale[0]

    @property
    def width(self) -> float:
        """Width, metres."""
        return MODELS[self.kind].width * self.scale[1]

    @cached_property
    def panels(self) -> Panels:
        """Its painted panels in world coordinates."""
        panels = vehicle_panels(self.kind).painted(self.paint)
        return panels.placed(self.x, self.y, self.heading, self.scale)

    def outline(self, margin: float = 0.0, height: float = 0.0) -> np.ndarray:
        """Return the corners of its footprint.

        Parameters
        ----------
        margin : float
            By which it is grown, metres.
        height : float
            At which it lies, metres.

        Returns
        -------
        ndarray of shape (4, 3)
            Front left, front right, rear right, rear left.
        """
        ahead = (self.length / 2 + margin) * np.array([1, 1, -1, -1])
        left = (self.width / 2 + margin) * np.array([1, -1, -1, 1])
        sin, cos = np.sin(self.heading), np.cos(self.heading)
        x, y = self.x + ahead * sin - left * cos, self.y + ahead * cos + left * sin
        return np.stack([x, y, np.full(4, height)], 1)


def draw_traffic(
    camera: Camera,
    roads: tuple[Road, ...],
    environment: Environment,
    lamp_share: float,
    rng: np.random.Generator,
) -> tuple[Vehicle, ...]:
    """Draw the vehicles of a scene; none overlap, none is nearer than `NEAREST` metres.

    Parameters
    ----------
    camera : Camera
        That may see them.
    roads : tuple of Road
        The first goes before: vehicles of others do not stand on it.
    environment : Environment
        Its place and the gaps between vehicles.
    lamp_share : float
        Share of vehicles whose lamps are on.
    rng : Generator
        Draws.

    Returns
    -------
    tuple of Vehicle
        `MOST` at most.
    """
    spacing = rng.uniform(*environment.spacing)
    vehicles: list[Vehicle] = []
    for order, road in enumerate(roads):
        low, high = _reach(camera, road)
        rows = [(t, way, spacing * rng.uniform(0.6, 1.8)) for t, way in road.lane_centres()]
        if road.pavement and rng.random() < 0.7:
            edge = road.half_width + 0.35
            rows += [(edge, 1, rng.uniform(1, 12)), (-edge, -1, rng.uniform(1, 12))]
        for t, way, gap in rows:
            for s, kind in _row(camera, road, (low, high, t), gap, environment.place, rng):
                vehicle = _place(road, s, t, way, kind, rng.random() < lamp_share, rng)
                if order and _on(roads[0], vehicle):
                    continue
                if _visible(camera, vehicle) and not _collides(vehicle, vehicles):
                    vehicles.append(vehicle)
    return tuple(vehicles[:MOST])


def _row(
    camera: Camera,
    road: Road,
    line: tuple[float, float, float],
    gap: float,
    place: str,
    rng: np.random.Generator,
) -> list[tuple[float, str]]:
    """Draw places along a lane and kinds.

    Parameters
    ----------
    camera : Camera
        That may see them; others are left out.
    road : Road
        The road.
    line : tuple of float
        Where the lane begins and ends (s), and where it runs (t).
    gap : float
        Mean gap between vehicles, metres.
    place : str
        Of the environment, which decides how often each kind is.
    rng : Generator
        Draws.

    Returns
    -------
    list of tuple of float and str
        s of the middle, and kind of each vehicle.
    """
    low, high, t = line
    most = int((high - low) / (SHORTEST + gap)) + 8
    kinds = rng.choice(len(KINDS), size=most, p=SHARES[place])
    lengths = np.array([MODELS[kind].length for kind in KINDS])[kinds]
    ends = low + np.cumsum(lengths + 1.2 + rng.exponential(gap, most))
    middles = ends - lengths / 2
    x, y, _ = road.place(middles, t)
    pixels, depth = camera.project(np.stack([x, y, np.full(most, 0.7)], 1))
    margin = camera.focal * lengths / np.maximum(depth, NEAREST)
    near = (depth > NEAREST) & (pixels[:, 0] > -margin) & (pixels[:, 0] < camera.width + margin)
    near &= middles < high
    return [(float(middles[i]), KINDS[kinds[i]]) for i in np.flatnonzero(near)]


def _place(
    road: Road, s: float, t: float, way: int, kind: str, lit: bool, rng: np.random.Generator
) -> Vehicle:
    """Put a vehicle on a road at (s, t); `way` is +1 towards larger s, else -1."""
    x, y, heading = road.place(s, t + rng.normal(0, 0.15))
    turn = rng.normal(0, 0.02) + (0 if way > 0 else np.pi)
    scale = tuple(rng.uniform(0.94, 1.06, 3))
    return Vehicle(kind, x, y, heading + turn, random_paint(rng), scale, lit)


def _reach(camera: Camera, road: Road) -> tuple[float, float]:
    """Return from where to where along a road (s) vehicles may be seen."""
    farthest = camera.focal * 1.5 / SMALLEST
    s, _ = road.locate(np.array(0.0), np.array(0.0))
    if camera.steep:
        return -farthest, farthest
    return float(s) - farthest if abs(np.sin(road.heading)) > 0.7 else 0.0, float(s) + farthest


def _on(road: Road, vehicle: Vehicle) -> bool:
    """Whether a vehicle stands on a road, or less than half a metre beside it."""
    _, t = road.locate(np.array(vehicle.x), np.array(vehicle.y))
    return bool(abs(t) < road.half_width + vehicle.length / 2 + 0.5)


def _visible(camera: Camera, vehicle: Vehicle) -> bool:
    """Whether a vehicle is before the camera, large enough, and may be in the picture."""
    pixels, depth = camera.project(vehicle.outline(height=0.7))
    if depth.min() < NEAREST or depth.mean() > camera.focal * 1.5 / SMALLEST:
        return False
    left, top = pixels.min(0)
    right, bottom = pixels.max(0)
    return right > 0 and left < camera.width and bottom > -40 and top < camera.lines


def _collides(vehicle: Vehicle, others: list[Vehicle]) -> bool:
    """Whether a vehicle overlaps another one."""
    for other in others:
        gap = np.hypot(vehicle.x - other.x, vehicle.y - other.y)
        if gap < (vehicle.length + other.length) / 2 and _overlap(vehicle, other):
            return True
    return False


def _overlap(a: Vehicle, b: Vehicle) -> bool:
    """Whether two footprints overlap: no edge direction separates them."""
    first, second = a.outline(0.15)[:, :2], b.outline(0.15)[:, :2]
    for heading in (a.heading, b.heading):
        for axis in ((np.sin(heading), np.cos(heading)), (np.cos(heading), -np.sin(heading))):
            p, q = first @ axis, second @ axis
            if p.max() < q.min() or q.max() < p.min():
                return False
    return True
