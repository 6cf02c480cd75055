"""Drawing a scene: camera, roads, traffic and scenery.

`draw_scene`, which `autoeval.roadworld.dataset.make_picture` calls, draws all of one image from the
ranges of an environment; `autoeval.roadworld.rendering` renders it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from autoeval.roadworld import props
from autoeval.roadworld.environments import Environment, Light, draw_light
from autoeval.roadworld.ground import CONCRETE, DIRT, GRASS, Road
from autoeval.roadworld.panels import Camera, Panels
from autoeval.roadworld.traffic import Vehicle, draw_traffic

WIDTH = 320
LINES = 192
"""Size of every image, pixels."""
LANES = {"street": (1, 3), "highway": (2, 5), "country": (1, 4)}
"""Lanes for each direction: from, and up to but not including."""
NEAREST = 1.0
"""Metres of depth below which nothing is drawn."""
STOREY = 3.2
BAY = 3.0
LAMP_SPACING = 28.0


@dataclass(frozen=True, eq=False)
class Scene:
    """All that is needed to render one image, in world coordinates.

    Parameters
    ----------
    camera : Camera
        Where it stands and looks.
    light : Light
        How it is lit.
    roads : tuple of Road
        The first is the main one.
    vehicles : tuple of Vehicle
        The labelled objects.
    things : tuple of Panels
        Everything else that stands there.
    terrain : tuple of float
        BGR of the land, in [0, 1].
    city : bool
        Whether a skyline closes the view.
    seed : float
        Chooses clouds and outline.
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
    """Draw one scene of an environment.

    Parameters
    ----------
    environment : Environment
        Place, time, weather and camera, each with its range.
    rng : Generator
        Source of all chance.
    """
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
    """Draw the main road, and on some streets a crossing."""
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


class Scenery:
    """Places things beside roads, once.

    Parameters
    ----------
    camera, roads, vehicles
        Of the scene.
    environment : Environment
        Its place, weather and clutter.
    city : bool
        Whether there are buildings.
    lit : bool
        Whether some of their windows glow.
    rng : Generator
        Draws.
    """

    def __init__(
        self,
        camera: Camera,
        roads: tuple[Road, ...],
        vehicles: tuple[Vehicle, ...],
        environment: Environment,
        *,
        city: bool,
        lit: bool,
        rng: np.random.Generator,
    ) -> None:
        self.camera, self.roads, self.vehicles = camera, roads, vehicles
        self.environment, self.city, self.lit, self.rng = environment, city, lit, rng
        self.span = (-60.0, 60.0) if camera.steep else (6.0, 150.0)

    def draw(self) -> tuple[Panels, ...]:
        """Return everything in front of the camera, in world coordinates."""
        things = self._buildings() if self.city else []
        things += self._trees()
        things += self._lamps() if self.environment.place != "country" else []
        things += self._clutter()
        return tuple(thing for thing in things if self._in_front(thing))

    def _buildings(self) -> list[Panels]:
        """Place blocks in a row on both sides of the main road."""
        rng, road, things = self.rng, self.roads[0], []
        for side in (-1, 1):
            s = self.span[0]
            while s < self.span[1]:
                length, depth, height = rng.uniform((9, 8, 5), (18, 13, 20))
                t = side * (road.half_width + road.pavement + rng.uniform(0, 3) + depth / 2)
                x, y, heading = road.place(s + length / 2, t)
                s += length + rng.uniform(0.5, 5)
                wall = props.WALLS[rng.integers(len(props.WALLS))] * rng.uniform(0.75, 1.1)
                if rng.random() > 0.85 or not self._free(x, y, length / 2):
                    continue
                if self._maybe_seen(x, y, length, height):
                    bays = (int(height / STOREY), int(length / BAY), int(depth / BAY))
                    block = props.building(*bays, self.lit).painted(wall)
                    things.append(block.placed(x, y, heading, (length, depth, height)))
        return things

    def _trees(self) -> list[Panels]:
        """Place trees beside the main road, on the pavement of a city or farther away."""
        rng, road, things = self.rng, self.roads[0], []
        for _ in range(rng.integers(2, 7) if self.city else rng.integers(6, 18)):
            away = 0.75 * road.pavement if self.city else road.pavement + 3 + rng.exponential(9)
            t = rng.choice((-1, 1)) * (road.half_width + away)
            x, y, _ = road.place(rng.uniform(*self.span), t)
            if self._free(x, y, 2.0) and self._maybe_seen(x, y, 4.0, 8.0):
                bare = self.environment.weather == "snow"
                things.append(props.tree(rng, self.camera, x, y, bare))
        return things

    def _lamps(self) -> list[Panels]:
        """Place lamp posts every `LAMP_SPACING` metres, on both sides in turn."""
        height, offset = self.rng.uniform(6, 9), self.rng.uniform(0, 25)
        things = []
        for number, s in enumerate(np.arange(self.span[0] + offset, self.span[1], LAMP_SPACING)):
            side = 1 if number % 2 else -1
            x, y, heading = self.roads[0].place(s, side * (self.roads[0].half_width + 0.4))
            turn = heading + (0 if side > 0 else np.pi)
            if self._free(x, y, 0.0):
                things.append(props.street_lamp().placed(x, y, turn, (1, 1, height)))
        return things

    def _clutter(self) -> list[Panels]:
        """Place walkers, signs, crates and trailers beside roads, where no vehicle parks."""
        rng, things = self.rng, []
        for _ in range(rng.poisson(self.environment.clutter)):
            road, side = self.roads[rng.integers(len(self.roads))], rng.choice((-1, 1))
            beyond = rng.uniform(1.0, max(1.1, road.pavement) + 1.5)
            s = rng.uniform(self.span[0], min(self.span[1], 60))
            x, y, heading = road.place(s, side * (road.half_width + beyond))
            if not self._free(x, y, 0, besides=road) or self._parked(x, y):
                continue
            what = rng.choice(("pedestrian", "sign", "crate", "trailer"), p=(0.4, 0.25, 0.2, 0.15))
            if what in ("pedestrian", "sign"):
                things.append(getattr(props, what)(rng, self.camera, x, y))
            else:
                solid = getattr(props, what)(rng)
                things.append(solid.placed(x, y, heading + rng.normal(0, 0.2)))
        return things

    def _free(self, x: float, y: float, room: float, *, besides: Road | None = None) -> bool:
        """Whether no road but one passes within some metres of a point.

        x, y: the point, metres
        room: metres
        besides: the one that may; by default the main one
        """
        for road in self.roads:
            if road is not (besides or self.roads[0]):
                _, t = road.locate(np.array(x), np.array(y))
                if abs(t) < road.half_width + road.pavement + room:
                    return False
        return True

    def _parked(self, x: float, y: float) -> bool:
        """Whether a vehicle stands within two and a half metres of a point, its length counted."""
        return any(np.hypot(x - v.x, y - v.y) < v.length / 2 + 2.5 for v in self.vehicles)

    def _maybe_seen(self, x: float, y: float, size: float, height: float) -> bool:
        """Whether a thing of some size and height at a point may be in the picture."""
        corners = np.array([[x, y, 0.0], [x, y, height]])
        pixels, depth = self.camera.project(corners)
        margin = self.camera.focal * size / np.maximum(depth, NEAREST)
        across = (pixels[:, 0] + margin > 0) & (pixels[:, 0] - margin < self.camera.width)
        return bool(((depth > NEAREST) & across).any())

    def _in_front(self, thing: Panels) -> bool:
        """Whether all of a thing is before the camera, and some of it may be in the picture."""
        pixels, depth = self.camera.project(thing.points)
        if depth.min() < NEAREST:
            return False
        low, high = pixels.min((0, 1)), pixels.max((0, 1))
        within = low[0] < self.camera.width and low[1] < self.camera.lines
        return bool((high > 0).all() and within)
