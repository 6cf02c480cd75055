"""One labelled image of an environment, from its name, a seed and an index."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from autoeval.demo.roadworld.air import precipitation, sense
from autoeval.demo.roadworld.environments import ENVIRONMENTS
from autoeval.demo.roadworld.labels import visible_boxes
from autoeval.demo.roadworld.rendering import render
from autoeval.demo.roadworld.scene import draw_scene
from autoeval.errors import InputError


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
