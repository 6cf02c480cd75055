"""Roads, and the colour of the ground at every pixel, box-filtered.

A `Road` has coordinates of its own: s along it and t to the right, in metres. Everything is placed
by them; `ground_albedo`, which `autoeval.roadworld.rendering` calls, lays markings, pavements and
snow by them, each pixel by the share of it that a band covers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import cv2
import numpy as np

from autoeval.roadworld.panels import Camera

GRASS = (0.22, 0.44, 0.36)
DIRT = (0.38, 0.50, 0.58)
CONCRETE = (0.58, 0.60, 0.61)
ASPHALT = (0.34, 0.33, 0.33)
WET_ASPHALT = (0.22, 0.21, 0.20)
PAVING = (0.60, 0.62, 0.63)
KERB = (0.74, 0.74, 0.74)
WHITE = (0.86, 0.86, 0.86)
YELLOW = (0.25, 0.75, 0.85)
SNOW = (0.95, 0.93, 0.92)
LINE = 0.15
DASH = 3.0
PERIOD = 9.0
FARTHEST = 3e4
"""OpenCV's remap counts in 16 bits."""
Layer = tuple[np.ndarray, tuple[float, ...]]
Place = float | np.ndarray


@dataclass(frozen=True, eq=False)
class Frame:
    """A road's coordinates at every pixel and their change from a pixel to the next, metres.

    Parameters
    ----------
    road : Road
        The road.
    s, t : ndarray of shape (h, W), float32
        Along the road, and to the right of its centre line.
    ds, dt : ndarray of shape (h, W), float32
        Their change across a pixel.
    """

    road: Road
    s: np.ndarray
    t: np.ndarray
    ds: np.ndarray
    dt: np.ndarray

    def within(self, distance: float) -> np.ndarray:
        """Share of each pixel no farther from the centre line than a distance.

        Parameters
        ----------
        distance : float
            Metres.
        """
        return _band(np.abs(self.t), -1.0, distance, self.dt)


def ground_albedo(
    camera: Camera, roads: tuple[Road, ...], terrain: tuple[float, ...], wet: float, snow: float
) -> np.ndarray:
    """Colour of the ground, before any light.

    Parameters
    ----------
    camera : Camera
        Whose rows from ``camera.below`` on show ground.
    roads : tuple of Road
        A later one lies over earlier ones.
    terrain : tuple of float
        BGR of the land, in [0, 1].
    wet, snow : float
        How far either covers the ground, 0 to 1.

    Returns
    -------
    ndarray of shape (3, H - camera.below, W), float32
        BGR planes, about [0, 1].
    """
    x, y, depth = camera.ground
    coarse, fine = texture(x, y, 0.12), texture(x, y, 2.5)
    frames = [Frame(road, s, t, _slope(s), _slope(t))
              for road in roads for s, t in [road.locate(x, y)]]  # fmt: skip
    layers: list[Layer] = [(np.ones_like(x), _mix(terrain, SNOW, snow))]
    for frame in frames:
        layers += _pavement(frame, snow)
    on_road = [frame.within(frame.road.half_width) for frame in frames]
    layers += [(band, _mix(ASPHALT, WET_ASPHALT, 0.6 * wet)) for band in on_road]
    for number, frame in enumerate(frames):
        seen = np.full_like(x, 1 - 0.75 * snow)
        for band in on_road[:number] + on_road[number + 1 :]:
            seen = seen * (1 - band)
        layers += [(band * seen, colour) for band, colour in _markings(frame, terrain)]
        if snow:
            layers.append((_drifts(frame, coarse) * np.float32(snow) * on_road[number], SNOW))
    fade = np.minimum(1, np.float32(0.25 * camera.focal) / depth)
    grain = 1 + np.float32(0.30) * coarse + np.float32(0.16) * fine * fade
    return _composite(layers) * grain


def texture(x: np.ndarray, y: np.ndarray, cycles: float) -> np.ndarray:
    """Look up a repeating smooth noise of mean 0 and deviation about .3.

    Parameters
    ----------
    x, y : ndarray of shape (h, W), float32
        Where, metres.
    cycles : float
        Per metre.
    """
    tile = _noise_tile()
    scale = np.float32(cycles * 8)
    u = np.clip(x * scale, -FARTHEST, FARTHEST)
    v = np.clip(y * scale, -FARTHEST, FARTHEST)
    return cv2.remap(tile, u, v, cv2.INTER_LINEAR, borderMode=cv2.BORDER_WRAP)


@lru_cache(maxsize=1)
def _noise_tile() -> np.ndarray:
    """Return the tile of noise (256, 256) float32 that repeats."""
    rng = np.random.default_rng(0)
    tile = np.zeros((256, 256), np.float32)
    for cells, share in ((16, 0.5), (32, 0.3), (128, 0.2)):
        grid = rng.standard_normal((cells, cells)).astype(np.float32)
        wrapped = np.pad(grid, 2, mode="wrap")
        size = 256 * (cells + 4) // cells
        border = 2 * 256 // cells
        large = cv2.resize(wrapped, (size, size), interpolation=cv2.INTER_CUBIC)
        tile += share * large[border : border + 256, border : border + 256]
    return tile / tile.std() * np.float32(0.3)


def _pavement(frame: Frame, snow: float) -> list[Layer]:
    """Return the layers of slabs and kerb beside a road; none without a pavement."""
    edge, width = frame.road.half_width, frame.road.pavement
    if not width:
        return []
    slabs = _mix(PAVING, SNOW, 0.8 * snow)
    return [(frame.within(edge + width), slabs), (frame.within(edge + 0.18), KERB)]


def _markings(frame: Frame, terrain: tuple[float, ...]) -> list[Layer]:
    """Return the layers of the lines on a road: centre, edges and lanes."""
    road, away, dt = frame.road, np.abs(frame.t), frame.dt
    dashes = _dashes(frame.s, frame.ds)
    layers: list[Layer] = []
    if road.median:
        layers.append((frame.within(road.median / 2), terrain))
        layers.append((_stripe(away, road.median / 2 + 0.25, dt), YELLOW))
    elif road.lanes > 1:
        layers.append((_stripe(away, 0.14, dt), WHITE))
    else:
        layers.append((_stripe(frame.t, 0.0, dt) * dashes, WHITE))
    layers.append((_stripe(away, road.carriageway - 0.1, dt), WHITE))
    if road.lanes > 1:
        lane = (away - np.float32(road.median / 2)) / np.float32(road.lane_width)
        nearest = np.clip(np.round(lane), 1, road.lanes - 1)
        off = (lane - nearest) * np.float32(road.lane_width)
        layers.append((_stripe(off, 0.0, dt) * dashes, WHITE))
    return layers


def _drifts(frame: Frame, coarse: np.ndarray) -> np.ndarray:
    """Share of each pixel that snow covers between the ruts of the wheels."""
    road = frame.road
    lane = (np.abs(frame.t) - np.float32(road.median / 2)) / np.float32(road.lane_width)
    rut = np.abs(np.abs(lane - np.floor(lane) - 0.5) * np.float32(road.lane_width) - 0.8)
    return np.clip(0.15 + 0.8 * rut + 0.7 * coarse, 0, 0.9)


def _slope(values: np.ndarray) -> np.ndarray:
    """Change of a coordinate across one pixel, metres."""
    slope = np.empty_like(values)
    slope[:-1, :-1] = np.abs(values[1:, :-1] - values[:-1, :-1])
    slope[:-1, :-1] += np.abs(values[:-1, 1:] - values[:-1, :-1])
    slope[-1], slope[:, -1] = slope[-2], slope[:, -2]
    return np.maximum(slope, np.float32(1e-4))


def _band(values: np.ndarray, low: float, high: float, slope: np.ndarray) -> np.ndarray:
    """Share of each pixel with ``low`` < value < ``high`` (box filter)."""
    half = slope / 2
    top = np.minimum(values + half, np.float32(high))
    return np.clip((top - np.maximum(values - half, np.float32(low))) / slope, 0, 1)


def _stripe(values: np.ndarray, middle: float, slope: np.ndarray) -> np.ndarray:
    """Share of each pixel that a line `LINE` metres wide covers."""
    return _band(values, middle - LINE / 2, middle + LINE / 2, slope)


def _dashes(s: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Share of each pixel in which a dashed line is drawn, along s."""
    turns = s / np.float32(PERIOD)
    off = np.abs(turns - np.round(turns)) * np.float32(PERIOD)
    return _band(off, -1.0, DASH / 2, slope)


def _mix(a: Iterable[float], b: Iterable[float], share: float) -> tuple[float, ...]:
    """Mix two colours; a share of 1 is the second alone."""
    return tuple((1 - share) * p + share * q for p, q in zip(a, b, strict=True))


def _composite(layers: list[Layer]) -> np.ndarray:
    """Lay each layer over those before it.

    layers: cover (h, W) in [0, 1], and BGR
    Returned (3, h, W): colour planes
    """
    weights = np.stack([alpha for alpha, _ in layers])
    through = np.ones_like(weights[0])
    for weight in weights[::-1]:
        weight *= through
        through -= weight
    colours = np.array([colour for _, colour in layers], np.float32)
    return np.tensordot(colours.T, weights, 1)


@dataclass(frozen=True)
class Road:
    """A road through a point of its centre line, with traffic on the right.

    Parameters
    ----------
    x, y : float
        The point, metres.
    heading : float
        Radians clockwise from +Y.
    curvature : float
        1 / metres; positive bends to the right.
    lanes : int
        For each direction.
    lane_width, median, shoulder, pavement : float
        Metres: of a lane, of the gap between the directions, beyond the edge line, and for walkers.

    Examples
    --------
    >>> road = Road(0.0, 10.0, heading=0.0, lanes=1, lane_width=3.0)
    >>> road.carriageway, road.lane_centres()
    (3.0, [(1.5, 1), (-1.5, -1)])
    >>> x, y, heading = road.place(5.0, 2.0)
    >>> float(x), float(y), float(heading)
    (2.0, 15.0, 0.0)
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
        """Return how far along (s) and how far to the right (t) world points lie, metres.

        Parameters
        ----------
        x, y : ndarray
            World coordinates, metres, of any shape.
        """
        dx, dy = x - np.float32(self.x), y - np.float32(self.y)
        sin, cos = np.float32(np.sin(self.heading)), np.float32(np.cos(self.heading))
        s = dx * sin + dy * cos
        return s, dx * cos - dy * sin - np.float32(self.curvature / 2) * s * s

    def place(self, s: Place, t: Place) -> tuple[Any, Any, Any]:
        """Return x, y and heading of points of the road, travelling to larger s.

        Parameters
        ----------
        s, t : float or ndarray
            Metres along the road, and to the right.
        """
        across = t + 0.5 * self.curvature * s * s
        sin, cos = np.sin(self.heading), np.cos(self.heading)
        x, y = self.x + s * sin + across * cos, self.y + s * cos - across * sin
        return x, y, self.heading + np.arctan(self.curvature * s)

    def lane_centres(self) -> list[tuple[float, int]]:
        """Return (t, direction) of every lane; direction is +1 towards larger s."""
        offsets = [self.median / 2 + (i + 0.5) * self.lane_width for i in range(self.lanes)]
        return [(t, 1) for t in offsets] + [(-t, -1) for t in offsets]
