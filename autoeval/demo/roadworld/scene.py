"""Drawing a scene: a camera, roads, traffic and what stands around."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from autoeval.demo.roadworld.camera import Camera
from autoeval.demo.roadworld.environments import Environment
from autoeval.demo.roadworld.ground import CONCRETE, DIRT, GRASS
from autoeval.demo.roadworld.light import Light, draw_light
from autoeval.demo.roadworld.panels import Panels
from autoeval.demo.roadworld.roads import Road
from autoeval.demo.roadworld.scenery import Scenery
from autoeval.demo.roadworld.traffic import Vehicle, draw_traffic

WIDTH, LINES = 320, 192
"""Size of every image, pixels."""

LANES = {"street": (1, 3), "highway": (2, 5), "country": (1, 4)}
"""Lanes for each direction: from, and up to but not including."""


@dataclass(frozen=True, eq=False)
class Scene:
    """All that is needed to render one image.

    Parameters
    ----------
    camera : Camera
        View.
    light : Light
        Illumination and weather.
    roads : tuple of Road
        The first is the main road.
    vehicles : tuple of Vehicle
        The labelled objects.
    things : tuple of Panels
        Everything else, in world coordinates.
    terrain : tuple of float
        BGR of the land.
    city : bool
        Whether a skyline closes the view.
    seed : float
        Chooses clouds and textures.
    """

    camera: Camera
    light: Light
    roads: tuple[Road, ...]
    vehicles: tuple[Vehicle, ...]
    things: tuple[Panels, ...] = ()
    terrain: tuple[float, ...] = GRASS
    city: bool = False
    seed: float = 0.0


def draw_scene(environment: Environment, rng: np.random.Generator) -> Scene:
    """Draw one scene of an environment."""
    camera = Camera(
        height=rng.uniform(*environment.height),
        pitch=np.deg2rad(rng.uniform(*environment.pitch)),
        focal=WIDTH * rng.uniform(*environment.focal),
        width=WIDTH,
        lines=LINES,
        roll=np.deg2rad(rng.normal(0, 0.8)),
    )
    roads = _draw_roads(environment, camera, rng)
    light = draw_light(environment.time, environment.weather, rng)
    vehicles = draw_traffic(camera, roads, environment, light.lamp_share, rng)
    city = environment.place == "street" and rng.random() < 0.8
    lit = light.lamps > 0.5
    things = Scenery(camera, roads, vehicles, environment, city=city, lit=lit, rng=rng).draw()
    terrain = CONCRETE if city and rng.random() < 0.6 else (DIRT if rng.random() < 0.25 else GRASS)
    return Scene(camera, light, roads, vehicles, things, terrain, city, rng.uniform(0, 100))


def _draw_roads(
    environment: Environment, camera: Camera, rng: np.random.Generator
) -> tuple[Road, ...]:
    sort = _draw_sort(environment.place, rng)
    if camera.steep:
        target = camera.height / np.tan(camera.pitch)
        x, y, heading = rng.uniform((-8, target - 8, 0), (8, target + 8, np.pi))
        main = replace(sort, x=x, y=y, heading=heading)
    else:
        side = rng.uniform(-1, 1) * (sort.half_width + 0.6 * sort.pavement)
        bend = 0.0 if environment.place == "street" else rng.normal(0, 0.0012)
        main = replace(sort, x=side, heading=np.deg2rad(rng.normal(0, 6)), curvature=bend)
    if environment.place != "street" or rng.random() > 0.45:
        return (main,)
    x, y, heading = main.place(0.0 if camera.steep else rng.uniform(22, 55), 0)
    turn = np.pi / 2 + rng.normal(0, 0.1)
    return main, replace(sort, x=x, y=y, heading=heading + turn, lanes=1)


def _draw_sort(place: str, rng: np.random.Generator) -> Road:
    """Draw a cross-section; the road is yet to be put somewhere."""
    lanes = int(rng.integers(*LANES[place]))
    divided = place != "street" and lanes > 1
    return Road(
        0.0,
        0.0,
        0.0,
        lanes=lanes,
        lane_width=rng.uniform(3.1, 3.6),
        median=rng.uniform(1.5, 4.0) if divided else 0.0,
        shoulder=rng.uniform(1.5, 2.6) if divided else rng.uniform(0.3, 0.6),
        pavement=rng.uniform(2.0, 3.5) if place == "street" else 0.0,
    )
