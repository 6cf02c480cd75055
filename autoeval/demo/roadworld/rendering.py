"""From a scene to pixels: ground and sky per pixel, solids as polygons from far to near."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from autoeval.demo.roadworld.camera import Camera
from autoeval.demo.roadworld.drawing import DrawingList
from autoeval.demo.roadworld.ground import ground_albedo
from autoeval.demo.roadworld.lamps import Flame, add_glow, ground_light
from autoeval.demo.roadworld.panels import DARK, Panels
from autoeval.demo.roadworld.scene import Scene
from autoeval.demo.roadworld.shadows import shade, underneath
from autoeval.demo.roadworld.sky import FARTHEST_HILLS, sky_colour

FAINT = 0.05
"""Sunlight below this casts no shadow to speak of."""


@dataclass(frozen=True, eq=False)
class Rendering:
    """A rendered scene.

    Parameters
    ----------
    image : ndarray of shape (H, W, 3), uint8
        BGR, before rain or snow falls and before the sensor.
    owner : ndarray of shape (H, W), uint8
        0 for anything that is no vehicle, else 1 + the vehicle's index.
    drawn : ndarray of shape (N,), int64
        Pixels each vehicle covered when it was drawn, before anything nearer hid it.
    """

    image: np.ndarray
    owner: np.ndarray
    drawn: np.ndarray


def render(scene: Scene) -> Rendering:
    """Render a scene with a painter's algorithm over whole objects."""
    camera, light = scene.camera, scene.light
    canvas = _backdrop(scene)
    owner = np.zeros(canvas.shape[:2], np.uint8)
    drawn = np.zeros(len(scene.vehicles), np.int64)
    solids = [vehicle.panels for vehicle in scene.vehicles] + list(scene.things)
    lit = [vehicle.lit for vehicle in scene.vehicles] + [light.lamps > 0.5] * len(scene.things)
    flames: list[Flame] = []
    if solids:
        work = DrawingList(solids, lit, camera, light)
        for index in _far_to_near(camera, solids):
            number = index + 1 if index < len(scene.vehicles) else 0
            flames += _draw(work, index, number, canvas, owner)
            if number:
                drawn[index] = _count(owner, work.extent(index), number)
    add_glow(canvas, owner, flames, camera, light)
    return Rendering(canvas, owner, drawn)


def _backdrop(scene: Scene) -> np.ndarray:
    """Ground and sky, (H, W, 3) uint8."""
    camera = scene.camera
    planes = np.zeros((3, camera.lines, camera.width), np.float32)
    if camera.below < camera.lines:
        planes[:, camera.below :] = _ground(scene)
    if camera.above:
        sky = sky_colour(camera, scene.light, scene.city, scene.seed)
        np.copyto(planes[:, : camera.above], sky, where=camera.sky[: camera.above])
    levels = (np.clip(planes, 0, 1) * 255).astype(np.uint8)
    return np.ascontiguousarray(np.moveaxis(levels, 0, -1))


def _ground(scene: Scene) -> np.ndarray:
    """Colour planes (3, H - camera.below, W) float32 of the ground as it is lit and seen."""
    camera, light = scene.camera, scene.light
    depth, rows = camera.ground[2], slice(camera.below, None)
    ambient, direct, horizon = (
        colour[:, None, None] for colour in (light.ambient, light.direct, light.horizon)
    )
    planes = ground_albedo(camera, scene.roads, scene.terrain, light.wet, light.snow)
    sunlit = np.float32(light.sun[2]) * direct
    planes *= ambient + (shade(scene)[rows] * sunlit if sunlit.max() > FAINT else sunlit)
    lamps = ground_light(scene)
    if lamps is not None:
        planes += np.moveaxis(lamps[rows], -1, 0)
    if light.wet:
        mirror = (0.12 + 0.5 * np.minimum(1, depth / 90) ** 2) * np.float32(light.wet)
        planes += mirror * (horizon * np.float32(0.8) - planes)
    planes *= underneath(scene)[rows]
    veil = np.exp(np.float32(-light.haze) * np.minimum(depth, FARTHEST_HILLS))
    return horizon + veil * (planes - horizon)


def _far_to_near(camera: Camera, solids: list[Panels]) -> list[int]:
    middles = [(p.points.min((0, 1)) + p.points.max((0, 1))) / 2 for p in solids]
    distance = np.linalg.norm(np.array(middles) - camera.position, axis=1)
    return np.argsort(-distance, kind="stable").tolist()


def _draw(
    work: DrawingList, index: int, number: int, canvas: np.ndarray, owner: np.ndarray
) -> list[Flame]:
    flames = []
    for row in work.rows(index):
        cv2.fillConvexPoly(canvas, work.vertices[row], work.colours[row], cv2.LINE_AA, work.SHIFT)
        cv2.fillConvexPoly(owner, work.vertices[row], number, cv2.LINE_8, work.SHIFT)
        if work.glowing[row] and work.light[row] != DARK:
            middle = work.pixels[row].mean(0)
            flames.append(Flame(middle, float(work.depth[row]), int(work.light[row]), number))
    return flames


def _count(owner: np.ndarray, extent: np.ndarray, number: int) -> int:
    left, top, right, bottom = np.maximum(extent + np.array([-1, -1, 2, 2]), 0).astype(int)
    return int(np.count_nonzero(owner[top:bottom, left:right] == number))
