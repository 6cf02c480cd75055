"""From a scene to pixels: ground, sky, shadows, and polygons from far to near.

`render`, which `autoeval.roadworld.dataset.make_picture` calls, draws ground and sky
(`autoeval.roadworld.ground`, `autoeval.roadworld.air`), then each solid whole, the farthest first,
and in the end the glow of lamps. Beside the image it keeps who is seen at each pixel, from which
the labels follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from autoeval.roadworld.air import FARTHEST_HILLS, sky_colour
from autoeval.roadworld.environments import Light
from autoeval.roadworld.ground import ground_albedo
from autoeval.roadworld.panels import DARK, HEADLIGHT, LAMP, TAILLIGHT, Camera, Panels
from autoeval.roadworld.props import street_lamp
from autoeval.roadworld.scene import Scene
from autoeval.roadworld.traffic import Vehicle

REDUCTION = 4
"""Light is drawn at this fraction of the image's size, then blurred."""

COLOURS = {HEADLIGHT: (255, 245, 235), TAILLIGHT: (40, 30, 230), LAMP: (150, 215, 255)}
STRENGTH = {HEADLIGHT: 1.0, TAILLIGHT: 0.35, LAMP: 0.5}
FAINT = 0.05
"""Sunlight below this casts no shadow to speak of."""
SHINE = {HEADLIGHT: (1.0, 1.0, 1.0), TAILLIGHT: (0.25, 0.22, 1.0), LAMP: (0.65, 0.88, 1.0)}
SNOW = np.array([0.93, 0.92, 0.92])
UPPER = 0.55
"""A part whose lowest point is above this, in metres, stands on the parts below."""
LONGEST = 5.0
"""A shadow is cut off at this many times the height of what casts it."""
IN_SHADOW = 64
UNDERNEATH = 40
"""Light left, of 255."""
HIGHEST = 3.0
"""Parts that begin higher than this, in metres, cast no shadow."""
NEAREST = 0.5
BEYOND = 1e4
"""A shadow with a corner at less depth (metres) or farther outside (pixels) is left out."""


@dataclass(frozen=True, eq=False)
class Flame:
    """A lamp that was drawn.

    Parameters
    ----------
    pixel : ndarray of shape (2,)
        Where, pixels.
    depth : float
        Metres.
    kind : int
        `HEADLIGHT`, `TAILLIGHT` or `LAMP`.
    owner : int
        Number of its vehicle; see `Rendering.owner`.
    """

    pixel: np.ndarray
    depth: float
    kind: int
    owner: int


def ground_light(scene: Scene) -> np.ndarray | None:
    """Light that lamps add to the ground.

    Parameters
    ----------
    scene : Scene
        What is to be seen.

    Returns
    -------
    ndarray of shape (H, W, 3), float32, or None
        None where no lamp shines.
    """
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
    """Return the patch of ground (4, 3) that the headlights of a vehicle reach."""
    near = vehicle.length / 2 + 0.3
    ahead = np.array([near, near, near + 11, near + 11])
    left = np.array([0.9, -0.9, -2.6, 2.6])
    sin, cos = np.sin(vehicle.heading), np.cos(vehicle.heading)
    x, y = vehicle.x + ahead * sin - left * cos, vehicle.y + ahead * cos + left * sin
    return np.stack([x, y, np.zeros(4)], 1)


def _add(pools: np.ndarray, camera: Camera, ring: np.ndarray, colour: Sequence[float]) -> None:
    """Brighten a small picture inside a ring of ground points, unless one is too near.

    pools (H / 4, W / 4, 3): changed in place
    camera: that sees the ring
    ring (n, 3): convex, metres
    colour: BGR, of 255
    """
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
    """Brighten an image around the lamps that nothing hides.

    Parameters
    ----------
    canvas : ndarray of shape (H, W, 3), uint8
        Changed in place.
    owner : ndarray of shape (H, W)
        Who is seen at each pixel.
    flames : list of Flame
        All lamps that were drawn.
    camera : Camera
        That sees them.
    light : Light
        How strongly lamps shine.
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
    """Render a scene with a painter's algorithm over whole objects.

    Parameters
    ----------
    scene : Scene
        What is to be seen.
    """
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
    ambient = light.ambient[:, None, None]
    direct = light.direct[:, None, None]
    horizon = light.horizon[:, None, None]
    planes = ground_albedo(camera, scene.roads, scene.terrain, light.wet, light.snow)
    sunlit = np.float32(light.sun[2]) * direct
    planes *= ambient + (shade(scene)[rows] * sunlit if sunlit.max() > FAINT else sunlit)
    lamps = ground_light(scene)
    if lamps is not None:
        planes += np.moveaxis(lamps[rows], -1, 0)
    if light.wet:
        mirror = (0.12 + 0.5 * np.minimum(1, depth / 90) ** 2) * np.float32(light.wet)
        planes += mirror * (horizon * np.float32(0.8) - planes)
    planes *= _underneath(scene)[rows]
    veil = np.exp(np.float32(-light.haze) * np.minimum(depth, FARTHEST_HILLS))
    return horizon + veil * (planes - horizon)


def _far_to_near(camera: Camera, solids: list[Panels]) -> list[int]:
    """Return the numbers of solids, the one whose middle is farthest from the camera first."""
    middles = [(p.points.min((0, 1)) + p.points.max((0, 1))) / 2 for p in solids]
    distance = np.linalg.norm(np.array(middles) - camera.position, axis=1)
    return np.argsort(-distance, kind="stable").tolist()


def _draw(
    work: DrawingList, index: int, number: int, canvas: np.ndarray, owner: np.ndarray
) -> list[Flame]:
    """Draw one solid.

    work: all solids
    number: what `owner` gets where it is seen; 0 for no vehicle
    canvas (H, W, 3): the image, changed in place
    owner (H, W): changed in place
    Returned: its lamps that are on
    """
    flames = []
    for row in work.rows(index):
        cv2.fillConvexPoly(canvas, work.vertices[row], work.colours[row], cv2.LINE_AA, work.SHIFT)
        cv2.fillConvexPoly(owner, work.vertices[row], number, cv2.LINE_8, work.SHIFT)
        if work.glowing[row] and work.light[row] != DARK:
            middle = work.pixels[row].mean(0)
            flames.append(Flame(middle, float(work.depth[row]), int(work.light[row]), number))
    return flames


def _count(owner: np.ndarray, extent: np.ndarray, number: int) -> int:
    """Count the pixels of an owner in a box (4,) xyxy, grown by a pixel."""
    left, top, right, bottom = np.maximum(extent + np.array([-1, -1, 2, 2]), 0).astype(int)
    return int(np.count_nonzero(owner[top:bottom, left:right] == number))


class DrawingList:
    """The panels of all solids, projected and lit, in one array each.

    Parameters
    ----------
    solids : list of Panels
        In world coordinates.
    lit : list of bool
        Whether the lamps of each are on.
    camera : Camera
        That sees them.
    light : Light
        Of the scene.
    """

    SHIFT = 4
    """Fractional bits of `vertices`."""

    def __init__(self, solids: list[Panels], lit: list[bool], camera: Camera, light: Light) -> None:
        self.camera, self.solids = camera, solids
        sizes = [len(panels) for panels in solids]
        self.starts = np.concatenate([[0], np.cumsum(sizes)])
        points = np.concatenate([panels.points for panels in solids])
        self.light = np.concatenate([panels.light for panels in solids])
        self.glowing = np.repeat(lit, sizes) & (self.light != DARK)
        self.pixels, depth = camera.project(points)
        self.depth = depth.mean(1)
        # A pixel's centre is a whole number to OpenCV and a half to the camera.
        self.vertices = np.round((self.pixels - 0.5) * (1 << self.SHIFT)).astype(np.int32)
        self.facing = _faces_camera(self.pixels)
        albedo = np.concatenate([panels.colours for panels in solids])
        self.colours = self._lit(points, albedo, light).tolist()

    def rows(self, index: int) -> list[int]:
        """Rows of one solid that face the camera, in drawing order.

        Parameters
        ----------
        index : int
            Of the solid.
        """
        rows = self.starts[index] + _part_order(self.solids[index], self.camera)
        return rows[self.facing[rows]].tolist()

    def extent(self, index: int) -> np.ndarray:
        """Box (4,) xyxy around the projected vertices of one solid, pixels, not clipped.

        Parameters
        ----------
        index : int
            Of the solid.
        """
        pixels = self.pixels[self.starts[index] : self.starts[index + 1]]
        return np.concatenate([pixels.min((0, 1)), pixels.max((0, 1))])

    def _lit(self, points: np.ndarray, albedo: np.ndarray, light: Light) -> np.ndarray:
        """Return the colour of each panel as it is seen, (P, 3) BGR of 255.

        Parameters
        ----------
        points : ndarray of shape (P, 8, 3)
            Vertices, metres.
        albedo : ndarray of shape (P, 3)
            Reflectances.
        light : Light
            Of the scene.
        """
        normal = np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0])
        normal /= np.linalg.norm(normal, axis=1, keepdims=True) + 1e-9
        if light.snow:
            cover = light.snow * 1.6 * np.clip(normal[:, 2:] - 0.5, 0, 0.5)
            albedo = albedo + cover * (SNOW - albedo)
        sun = np.clip(normal @ light.sun, 0, 1)[:, None] * light.direct
        colour = albedo * (sun + (0.80 + 0.20 * normal[:, 2:]) * light.ambient)
        veil = np.exp(-light.haze * self.depth)
        for kind, shine in SHINE.items():
            colour[self.glowing & (self.light == kind)] = shine
        veil = np.where(self.glowing, np.sqrt(veil), veil)[:, None]
        return np.clip(light.horizon + veil * (colour - light.horizon), 0, 1) * 255


def _faces_camera(pixels: np.ndarray) -> np.ndarray:
    """Whether polygons (P, 8, 2) turn anticlockwise on screen, where v points down."""
    u, v = pixels[..., 0], pixels[..., 1]
    twice = u[:, :-1] * v[:, 1:] - u[:, 1:] * v[:, :-1]
    return twice.sum(1) + u[:, -1] * v[:, 0] - u[:, 0] * v[:, -1] < 0


def _part_order(panels: Panels, camera: Camera) -> np.ndarray:
    """Rows sorted by part: low parts first, then from far to near."""
    parts = int(panels.part[-1]) + 1
    if parts == 1:
        return np.arange(len(panels))
    starts = np.searchsorted(panels.part, np.arange(parts))
    walls = panels.points[starts[:, None] + np.arange(2)].reshape(parts, -1, 3)
    distance = np.linalg.norm(walls.mean(1) - camera.position, axis=1)
    rank = np.lexsort((-distance, walls[..., 2].min(1) > UPPER))
    return np.argsort(np.argsort(rank)[panels.part], kind="stable")


def shade(scene: Scene) -> np.ndarray:
    """Share of the sun's light that reaches the ground at each pixel, (H, W) float32.

    Parameters
    ----------
    scene : Scene
        What is to be seen.
    """
    sun = scene.light.sun
    across = np.hypot(sun[0], sun[1])
    away = -sun[:2] / across * min(across / sun[2], LONGEST)
    polygons = []
    for panels in [*scene.things, *(vehicle.panels for vehicle in scene.vehicles)]:
        for rows in np.split(panels.points, np.flatnonzero(np.diff(panels.part)) + 1):
            if rows[..., 2].min() < HIGHEST:
                polygons.append(rows.reshape(-1, 3))
    stacked = np.concatenate([np.zeros((0, 3)), *polygons])
    stacked[:, :2] += away * stacked[:, 2:]
    stacked[:, 2] = 0
    return _filled(scene.camera, stacked, [len(p) for p in polygons], IN_SHADOW)


def _underneath(scene: Scene) -> np.ndarray:
    """Share of any light that reaches the ground under vehicles, (H, W) float32."""
    feet = [vehicle.outline() for vehicle in scene.vehicles]
    stacked = np.concatenate([np.zeros((0, 3)), *feet])
    return _filled(scene.camera, stacked, [4] * len(feet), UNDERNEATH)


def _filled(camera: Camera, points: np.ndarray, sizes: list[int], value: int) -> np.ndarray:
    """Fill the convex hull of each run of ground points.

    Parameters
    ----------
    camera : Camera
        That sees them.
    points : ndarray of shape (N, 3)
        On the ground, metres.
    sizes : list of int
        Length of each run.
    value : int
        That it is filled with, of 255; elsewhere it is 255.

    Returns
    -------
    ndarray of shape (H, W), float32
        In [0, 1], softened. A run with a point too near or too far outside is left out.
    """
    mask = np.full((camera.lines, camera.width), 255, np.uint8)
    pixels, depth = camera.project(points)
    safe = (depth > NEAREST) & (np.abs(pixels).max(1) < BEYOND)
    vertices = np.round((np.where(safe[:, None], pixels, 0) - 0.5) * 16).astype(np.int32)
    start = 0
    for size in sizes:
        rows = slice(start, start + size)
        if safe[rows].all():
            cv2.fillConvexPoly(mask, cv2.convexHull(vertices[rows]), value, cv2.LINE_AA, 4)
        start += size
    return cv2.GaussianBlur(mask, (0, 0), 0.8).astype(np.float32) / 255
