"""One labelled image of an environment, from its name, a seed and an index."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import find_objects

from autoeval.demo.roadworld.air import precipitation, sense
from autoeval.demo.roadworld.environments import ENVIRONMENTS
from autoeval.demo.roadworld.rendering import Rendering, render
from autoeval.demo.roadworld.scene import Scene, draw_scene
from autoeval.errors import InputError

MIN_VISIBLE = 0.3
"""A vehicle is labelled when at least this share of the pixels it covered is still seen ..."""
MIN_SIDE = 6.0
"""... and its box is at least this many pixels wide and high."""
PIXEL = 1.5
"""A side of the projected box this close to the pixels seen, in pixels, counts as in view."""


@dataclass(frozen=True, eq=False)
class Picture:
    """An image with its vehicles.

    Parameters
    ----------
    image : ndarray of shape (H, W, 3), uint8
        BGR.
    boxes : ndarray of shape (N, 4), float64
        Vehicles as xyxy, pixels.
    kinds : tuple of str
        Model of each vehicle; see `autoeval.demo.roadworld.vehicles.MODELS`.
    """

    image: np.ndarray
    boxes: np.ndarray
    kinds: tuple[str, ...]


def make_picture(environment: str, index: int, *, seed: int = 0) -> Picture:
    """Render image ``index`` of an environment; no other image has a say in it.

    Parameters
    ----------
    environment : str
        A key of `ENVIRONMENTS`.
    index : int
        Number of the image, from 0.
    seed : int, default 0
        Another seed gives other images of the same environment.

    Raises
    ------
    InputError
        If there is no such environment.

    Examples
    --------
    >>> make_picture("day_street", 3).image.shape
    (192, 320, 3)
    """
    if environment not in ENVIRONMENTS:
        raise InputError(f"No environment '{environment}'; choose from {', '.join(ENVIRONMENTS)}.")
    settings = ENVIRONMENTS[environment]
    rng = np.random.default_rng([zlib.crc32(environment.encode()), seed, index])
    scene = draw_scene(settings, rng)
    rendering = render(scene)
    image = precipitation(rendering.image, settings.weather, rng)
    image = sense(image, settings.sensor, rng)
    boxes, rows = visible_boxes(scene, rendering)
    return Picture(image, boxes, tuple(scene.vehicles[i].kind for i in rows))


def projected_box(scene: Scene, index: int) -> np.ndarray:
    """Box (4,) xyxy around the projected vertices of a vehicle, clipped to the image, pixels."""
    camera = scene.camera
    pixels, _ = camera.project(scene.vehicles[index].panels.points)
    low, high = pixels.min((0, 1)), pixels.max((0, 1))
    limits = [camera.width, camera.lines]
    return np.clip(np.concatenate([low, high]), 0, limits * 2)


def visible_boxes(scene: Scene, rendering: Rendering) -> tuple[np.ndarray, np.ndarray]:
    """Label a rendered scene.

    Each side of a box is that of the projected vehicle where that side is in view; where something
    nearer hides it, it is the outermost pixel still seen in ``rendering.owner``.

    Returns
    -------
    boxes : ndarray of shape (N, 4), float64
        Boxes as xyxy, pixels.
    index : ndarray of shape (N,), int64
        Index of each box's vehicle in ``scene.vehicles``.
    """
    seen = np.bincount(rendering.owner.ravel(), minlength=len(scene.vehicles) + 1)[1:]
    boxes, index = [], []
    for i, area in enumerate(find_objects(rendering.owner, len(scene.vehicles))):
        if area is None or seen[i] < MIN_VISIBLE * rendering.drawn[i]:
            continue
        pixels = np.array([area[1].start, area[0].start, area[1].stop, area[0].stop], float)
        whole = projected_box(scene, i)
        box = np.where(np.abs(whole - pixels) <= PIXEL, whole, pixels)
        if (box[2:] - box[:2]).min() >= MIN_SIDE:
            boxes.append(box)
            index.append(i)
    return np.array(boxes, float).reshape(-1, 4), np.array(index, np.int64)
