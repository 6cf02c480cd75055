"""What lamps do: beams and pools of light on the ground, and glow around every lamp seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from autoeval.demo.roadworld.camera import Camera
from autoeval.demo.roadworld.environments import Light
from autoeval.demo.roadworld.panels import HEADLIGHT, LAMP, TAILLIGHT
from autoeval.demo.roadworld.props import street_lamp
from autoeval.demo.roadworld.scene import Scene
from autoeval.demo.roadworld.traffic import Vehicle

REDUCTION = 4
"""Light is drawn at this fraction of the image's size, then blurred."""

COLOURS = {HEADLIGHT: (255, 245, 235), TAILLIGHT: (40, 30, 230), LAMP: (150, 215, 255)}
STRENGTH = {HEADLIGHT: 1.0, TAILLIGHT: 0.35, LAMP: 0.5}


@dataclass(frozen=True, eq=False)
class Flame:
    """A lamp that was drawn: pixel position (2,), depth in metres, kind, number of its owner."""

    pixel: np.ndarray
    depth: float
    kind: int
    owner: int


def ground_light(scene: Scene) -> np.ndarray | None:
    """Light that lamps add to the ground, (H, W, 3) float32, or None where none shines."""
    camera, light = scene.camera, scene.light
    if light.lamps < 0.5:
        return None
    size = (camera.width // REDUCTION, camera.lines // REDUCTION)
    pools = np.zeros((size[1], size[0], 3), np.uint8)
    for thing in scene.things:
        if len(thing) == len(street_lamp()) and (thing.light == LAMP).any():
            head = thing.points[thing.light == LAMP].mean((0, 1))
            turn = np.linspace(0, 2 * np.pi, 12, endpoint=False)
            ring = head[:2] + 7.5 * np.stack([np.cos(turn), np.sin(turn)], 1)
            _add(pools, camera, np.column_stack([ring, np.zeros(12)]), (60, 90, 105))
    for vehicle in scene.vehicles:
        if vehicle.lit:
            _add(pools, camera, _beam(vehicle), (95, 105, 110))
    wide = cv2.GaussianBlur(pools, (0, 0), 2.0)
    return cv2.resize(wide, (camera.width, camera.lines)).astype(np.float32) * (
        light.lamps * 0.55 / 255
    )


def _beam(vehicle: Vehicle) -> np.ndarray:
    near = vehicle.length / 2 + 0.3
    ahead = np.array([near, near, near + 11, near + 11])
    left = np.array([0.9, -0.9, -2.6, 2.6])
    sin, cos = np.sin(vehicle.heading), np.cos(vehicle.heading)
    x, y = vehicle.x + ahead * sin - left * cos, vehicle.y + ahead * cos + left * sin
    return np.stack([x, y, np.zeros(4)], 1)


def _add(pools: np.ndarray, camera: Camera, ring: np.ndarray, colour: Sequence[float]) -> None:
    pixels, depth = camera.project(ring)
    if depth.min() < 1.0:
        return
    patch = np.zeros_like(pools)
    vertices = np.round((pixels / REDUCTION - 0.5) * 16).astype(np.int32)
    cv2.fillConvexPoly(patch, vertices, colour, cv2.LINE_AA, 4)
    cv2.add(pools, patch, pools)


def add_glow(
    canvas: np.ndarray, owner: np.ndarray, flames: list[Flame], camera: Camera, light: Light
) -> None:
    """Brighten ``canvas`` in place around the lamps that nothing hides.

    Parameters
    ----------
    canvas : ndarray of shape (H, W, 3), uint8
        The picture.
    owner : ndarray of shape (H, W), uint8
        Who is seen at each pixel.
    flames : list of Flame
        Every lamp drawn.
    camera, light
        View and illumination.
    """
    if not flames or light.lamps == 0:
        return
    halo = np.zeros((camera.lines // REDUCTION, camera.width // REDUCTION, 3), np.float32)
    for flame in flames:
        column, row = flame.pixel.astype(int).tolist()
        inside = 0 <= column < camera.width and 0 <= row < camera.lines
        if not inside or owner[row, column] != flame.owner:
            continue
        spread = max(1, round(0.30 * camera.focal / flame.depth / REDUCTION))
        colour = [STRENGTH[flame.kind] * c for c in COLOURS[flame.kind]]
        cv2.circle(halo, (column // REDUCTION, row // REDUCTION), spread, colour, -1, cv2.LINE_8)
    tight, wide = cv2.GaussianBlur(halo, (0, 0), 1.2), cv2.GaussianBlur(halo, (0, 0), 5)
    bloom = (0.35 * tight + 0.45 * wide) * np.float32(light.lamps)
    large = cv2.resize(bloom, (camera.width, camera.lines))
    cv2.add(canvas, np.minimum(large, 255).astype(np.uint8), canvas)
