"""Models of cars, vans, buses and trucks, and their colours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from autoeval.roadworld.panels import HEADLIGHT, TAILLIGHT, Builder, Panels

GLASS = (0.20, 0.17, 0.14)
TYRE = (0.08, 0.08, 0.08)
HUB = (0.45, 0.45, 0.45)
HEAD = (0.85, 0.9, 0.9)
TAIL = (0.12, 0.1, 0.6)
PLATE = (0.8, 0.85, 0.85)
BLACK = (0.1, 0.1, 0.1)
PAINT = (1.0, 1.0, 1.0)
OVERHANG = 0.01
TREAD = 0.22
"""How far wheels stick out of the body, and their breadth, metres."""

PAINTS = np.array(
    [
        [0.92, 0.92, 0.90],
        [0.10, 0.09, 0.09],
        [0.38, 0.37, 0.36],
        [0.70, 0.69, 0.67],
        [0.55, 0.28, 0.12],
        [0.14, 0.12, 0.62],
        [0.25, 0.40, 0.20],
        [0.25, 0.72, 0.85],
        [0.45, 0.60, 0.72],
        [0.30, 0.20, 0.45],
    ]
)
"""BGR body colours, commonest first."""

PAINT_SHARES = np.array([24, 18, 15, 14, 10, 8, 4, 3, 3, 1]) / 100
_CABINS = {
    # x of the rear and of the front of the cabin, at the belt line and at the roof.
    "sedan": (-1.75, 1.05, -1.05, 0.25),
    "hatchback": (-1.97, 0.95, -1.55, 0.15),
    "suv": (-2.30, 1.05, -1.95, 0.35),
}


@dataclass(frozen=True)
class Model:
    """Size of a kind of vehicle, metres.

    Parameters
    ----------
    length, width, height : float
        Without a scale of its own.
    """

    length: float
    width: float
    height: float


MODELS = {
    "sedan": Model(4.6, 1.82, 1.46),
    "hatchback": Model(4.0, 1.76, 1.50),
    "suv": Model(4.7, 1.92, 1.75),
    "van": Model(5.6, 2.05, 2.40),
    "bus": Model(11.5, 2.55, 3.15),
    "truck": Model(8.2, 2.45, 3.40),
}


@cache
def vehicle_panels(kind: str) -> Panels:
    """Return the unpainted panels of one of `MODELS` in its own frame, standing on the ground.

    Parameters
    ----------
    kind : str
        Its name.

    Examples
    --------
    >>> panels = vehicle_panels("bus")
    >>> float(panels.points[..., 0].max()), float(panels.points[..., 2].max())
    (5.75, 3.15)
    """
    model = MODELS[kind]
    builder = Builder()
    _BUILDERS.get(kind, _car)(builder, model, kind)
    return builder.done()


def random_paint(rng: np.random.Generator) -> np.ndarray:
    """Draw a BGR body colour (3,).

    Parameters
    ----------
    rng : Generator
        Source of all chance.
    """
    colour = PAINTS[rng.choice(len(PAINTS), p=PAINT_SHARES)]
    return np.clip(colour * rng.uniform(0.8, 1.15) + rng.normal(0, 0.03, 3), 0.03, 1)


def _car(builder: Builder, model: Model, kind: str) -> None:
    """Build a sedan, a hatchback or an SUV: a hull with a cabin on it."""
    half, width, belt = model.length / 2, model.width, 0.62 * model.height
    wheels = (0.33, (-0.60 * half, 0.62 * half))
    _treads(builder, model, *wheels)
    hull = builder.box((-half, half, width, 0.22), (-half + 0.08, half - 0.12, width, belt), PAINT,
                       new_part=False)  # fmt: skip
    _face_of_car(builder, hull, kind)
    _wheels(builder, model, *wheels)
    for side in ("left", "right"):
        builder.inset(hull[side], (0.06, 0.94), (0.0, 0.10), BLACK)
        builder.inset(hull[side], (0.40, 0.41), (0.10, 0.95), BLACK)
    rear, front, rear_top, front_top = _CABINS[kind]
    cabin = builder.box(
        (rear, front, width * 0.96, belt), (rear_top, front_top, width * 0.76, model.height), PAINT
    )
    for side in ("left", "right"):
        builder.inset(cabin[side], (0.05, 0.46), (0.10, 0.86), GLASS)
        builder.inset(cabin[side], (0.52, 0.94), (0.10, 0.86), GLASS)
    builder.inset(cabin["front"], (0.05, 0.95), (0.04, 0.92), GLASS)
    builder.inset(cabin["rear"], (0.07, 0.93), (0.12, 0.88), GLASS)


def _face_of_car(builder: Builder, hull: dict[str, np.ndarray], kind: str) -> None:
    """Add bumpers, grille, plates and lamps to the hull of a car."""
    front, rear = hull["front"], hull["rear"]
    builder.inset(front, (0.0, 1.0), (0.0, 0.14), BLACK)
    builder.inset(front, (0.28, 0.72), (0.32, 0.68), BLACK)
    builder.inset(front, (0.38, 0.62), (0.16, 0.30), PLATE)
    builder.inset(rear, (0.0, 1.0), (0.0, 0.18), BLACK)
    builder.inset(rear, (0.36, 0.64), (0.34, 0.54), PLATE)
    tall = 0.50 if kind == "sedan" else 0.40
    for left, right in ((0.03, 0.24), (0.76, 0.97)):
        builder.inset(front, (left, right), (0.50, 0.78), HEAD, light=HEADLIGHT)
        builder.inset(rear, (left, right), (tall, 0.88), TAIL, light=TAILLIGHT)


def _van(builder: Builder, model: Model, kind: str) -> None:
    """Build a van: a hull, and above it a box with a slanted front."""
    half, width, height = model.length / 2, model.width, model.height
    wheels = (0.36, (-0.62 * half, 0.64 * half))
    _treads(builder, model, *wheels)
    hull = builder.box((-half, half, width, 0.28), (-half, half - 0.25, width, 1.15), PAINT,
                       new_part=False)  # fmt: skip
    _lamps(builder, hull, 0.35, 0.62)
    builder.inset(hull["front"], (0.26, 0.74), (0.30, 0.62), BLACK)
    _wheels(builder, model, *wheels)
    top = builder.box(
        (-half, half - 0.45, width, 1.15), (-half + 0.05, half - 1.35, width * 0.9, height), PAINT
    )
    builder.inset(top["front"], (0.06, 0.94), (0.06, 0.80), GLASS)
    builder.inset(top["rear"], (0.10, 0.46), (0.30, 0.80), GLASS)
    builder.inset(top["rear"], (0.54, 0.90), (0.30, 0.80), GLASS)
    builder.inset(top["left"], (0.04, 0.24), (0.10, 0.74), GLASS)
    builder.inset(top["right"], (0.76, 0.96), (0.10, 0.74), GLASS)


def _bus(builder: Builder, model: Model, kind: str) -> None:
    """Build a bus: one box with a row of windows."""
    half, width, height = model.length / 2, model.width, model.height
    wheels = (0.48, (-0.52 * half, 0.60 * half))
    _treads(builder, model, *wheels)
    body = builder.box((-half, half, width, 0.32), (-half, half - 0.15, width, height), PAINT,
                       new_part=False)  # fmt: skip
    for side in ("left", "right"):
        builder.inset(body[side], (0.0, 1.0), (0.0, 0.10), BLACK)
        for pane in range(7):
            left = 0.03 + pane * 0.136
            builder.inset(body[side], (left, left + 0.122), (0.46, 0.84), GLASS)
    builder.inset(body["front"], (0.05, 0.95), (0.36, 0.82), GLASS)
    builder.inset(body["front"], (0.25, 0.75), (0.87, 0.96), (0.1, 0.45, 0.75))
    builder.inset(body["rear"], (0.12, 0.88), (0.55, 0.84), GLASS)
    builder.inset(body["roof"], (0.15, 0.30), (0.25, 0.75), (0.75, 0.75, 0.75))
    builder.inset(body["roof"], (0.62, 0.80), (0.25, 0.75), (0.75, 0.75, 0.75))
    _lamps(builder, body, 0.12, 0.22)
    _wheels(builder, model, *wheels)


def _truck(builder: Builder, model: Model, kind: str) -> None:
    """Build a truck: a frame, cargo and a cab."""
    half, width, height = model.length / 2, model.width, model.height
    wheels = (0.50, (-0.68 * half, -0.38 * half, 0.72 * half))
    _treads(builder, model, *wheels)
    frame = builder.box((-half, half, width * 0.9, 0.45), (-half, half, width * 0.9, 1.0), BLACK,
                        paint=False, new_part=False)  # fmt: skip
    _lamps(builder, frame, 0.25, 0.75)
    _wheels(builder, model, *wheels)
    cargo = builder.box((-half, half - 2.3, width, 1.0), (-half, half - 2.3, width, height),
                        (0.86, 0.86, 0.85), paint=False)  # fmt: skip
    builder.inset(cargo["rear"], (0.49, 0.51), (0.0, 1.0), BLACK)
    for side in ("left", "right"):
        builder.inset(cargo[side], (0.0, 1.0), (0.0, 0.06), BLACK)
        builder.inset(cargo[side], (0.2, 0.8), (0.35, 0.65), PAINT, paint=True)
    cab = builder.box((half - 2.1, half, width * 0.98, 0.6),
                      (half - 2.0, half - 0.3, width * 0.9, height * 0.86), PAINT)  # fmt: skip
    builder.inset(cab["front"], (0.06, 0.94), (0.50, 0.86), GLASS)
    builder.inset(cab["front"], (0.20, 0.80), (0.18, 0.40), BLACK)
    _lamps(builder, cab, 0.06, 0.18, rear=False)
    builder.inset(cab["left"], (0.10, 0.62), (0.52, 0.86), GLASS)
    builder.inset(cab["right"], (0.38, 0.90), (0.52, 0.86), GLASS)


def _lamps(
    builder: Builder, body: Mapping[str, np.ndarray], low: float, high: float, *, rear: bool = True
) -> None:
    """Add head and tail lamps to a body, between two heights as shares of its front and rear."""
    for left, right in ((0.04, 0.20), (0.80, 0.96)):
        builder.inset(body["front"], (left, right), (low, high), HEAD, light=HEADLIGHT)
        if rear:
            builder.inset(body["rear"], (left, right), (low, high + 0.06), TAIL, light=TAILLIGHT)


def _wheels(builder: Builder, model: Model, radius: float, axles: tuple[float, ...]) -> None:
    """Add the wheels as seen from the sides.

    radius: metres
    axles: x of each, metres
    """
    angles = np.arange(8) * np.pi / 4 + np.pi / 8
    for side in (1, -1):
        flat = np.stack([np.cos(angles) * -side, np.zeros(8), np.sin(angles)], 1)
        for axle in axles:
            centre = np.array([axle, side * (model.width / 2 + OVERHANG), radius])
            builder.add(centre + radius * flat, TYRE)
            builder.add(centre + 0.55 * radius * flat, HUB)


def _treads(builder: Builder, model: Model, radius: float, axles: tuple[float, ...]) -> None:
    """Start the first part with the wheels as seen from the front and from behind.

    Parameters
    ----------
    builder, model, radius, axles
        See `_wheels`.
    """
    builder.part()
    low, reach = radius * (1 - np.cos(np.pi / 8)), radius * np.sin(np.pi / 8)
    outer = model.width / 2 + OVERHANG
    for axle in axles:
        for left, right in ((outer, outer - TREAD), (TREAD - outer, -outer)):
            rear = np.array(
                [[0, left, low], [0, right, low], [0, right, radius], [0, left, radius]]
            )
            builder.add(rear + np.array([axle - reach, 0, 0]), TYRE)
            builder.add(rear[[1, 0, 3, 2]] + np.array([axle + reach, 0, 0]), TYRE)


_BUILDERS = {"van": _van, "bus": _bus, "truck": _truck}
