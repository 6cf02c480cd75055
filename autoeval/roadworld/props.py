"""What stands beside roads and is no vehicle: scenery, and things a detector may mistake for one.

Solids are made in their own frame (x ahead, y to the left, z up) and are placed by the caller;
cut-outs (trees, walkers, signs) face the camera and are made where they stand.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from autoeval.roadworld.panels import CORNERS, DARK, LAMP, Builder, Camera, Panels

BLACK = (0.1, 0.1, 0.1)
STEEL = (0.55, 0.55, 0.54)
WHITE = (0.85, 0.85, 0.85)
WALLS = np.array(
    [
        [0.62, 0.70, 0.76],
        [0.40, 0.48, 0.62],
        [0.55, 0.56, 0.58],
        [0.72, 0.78, 0.80],
        [0.35, 0.40, 0.50],
        [0.60, 0.55, 0.50],
    ]
)
LEAVES = np.array([[0.12, 0.34, 0.20], [0.14, 0.28, 0.16], [0.10, 0.36, 0.30]])
FROST = np.array([0.62, 0.62, 0.62])
CLOTHES = np.array([[0.2, 0.15, 0.12], [0.5, 0.3, 0.2], [0.2, 0.2, 0.5], [0.7, 0.7, 0.72]])
CRATES = np.array([[0.25, 0.30, 0.60], [0.50, 0.35, 0.15], [0.30, 0.45, 0.25], [0.3, 0.55, 0.75]])
SIGNS = np.array([[0.15, 0.12, 0.75], [0.65, 0.35, 0.10], [0.10, 0.70, 0.85], [0.80, 0.80, 0.80]])
LUMPS = 14


@cache
def building(floors: int, bays: int, bays_deep: int, lit: bool) -> Panels:
    """Make an unpainted block of 1 x 1 x 1 with a grid of windows.

    Parameters
    ----------
    floors, bays, bays_deep : int
        Windows of a wall: rows, and columns along the front and to the depth.
    lit : bool
        Whether some windows glow.
    """
    builder, chance = Builder(), np.random.default_rng([floors, bays, bays_deep])
    faces = builder.box((-0.5, 0.5, 1, 0), (-0.5, 0.5, 1, 1), (1.0, 1.0, 1.0))
    for name, count in (("front", bays_deep), ("rear", bays_deep), ("left", bays), ("right", bays)):
        for floor in range(floors):
            low, high = (floor + 0.25) / floors, (floor + 0.75) / floors
            builder.inset(faces[name], (0.03, 0.97), (low, high), (0.42, 0.40, 0.38), paint=True)
        for bay in range(count + 1):
            left, right = max(0.0, (bay - 0.15) / count), min(1.0, (bay + 0.15) / count)
            builder.inset(faces[name], (left, right), (0, 1), (1.0, 1.0, 1.0), paint=True)
        for bay, floor in chance.integers((count, floors), size=(count * floors // 3 * lit, 2)):
            left, low = (bay + 0.15) / count, (floor + 0.25) / floors
            builder.inset(faces[name], (left, left + 0.7 / count), (low, low + 0.5 / floors),
                          (0.4, 0.5, 0.55), light=LAMP)  # fmt: skip
    builder.inset(faces["roof"], (0.03, 0.97), (0.05, 0.95), (0.7, 0.7, 0.7), paint=True)
    return builder.done()


@cache
def street_lamp() -> Panels:
    """Make a lamp post of unit height whose arm reaches two metres to the left."""
    builder = Builder()
    builder.box((-0.07, 0.07, 0.14, 0.0), (-0.05, 0.05, 0.1, 1.0), STEEL, paint=False)
    builder.part()
    arm = np.array([[-0.1, 2.0, 1.0], [-0.1, 0, 1.0], [0.1, 0, 1.0], [0.1, 2.0, 1.0]])
    head = np.array([[-0.12, 2.1, 0.99], [-0.12, 1.4, 0.99], [0.12, 1.4, 0.99], [0.12, 2.1, 0.99]])
    for polygon, light in ((arm, DARK), (head, LAMP)):
        builder.add(polygon, STEEL, light=light)
        builder.add(polygon[::-1], STEEL, light=light)
    return builder.done()


def crate(rng: np.random.Generator) -> Panels:
    """Make a skip, a stack of goods or a shipping container: a box that is no vehicle.

    Parameters
    ----------
    rng : Generator
        Source of all chance.
    """
    builder, colour = Builder(), CRATES[rng.integers(len(CRATES))] * rng.uniform(0.7, 1.2)
    length, width, height = rng.uniform(1.0, 2.2, 3) * [1, 1, 0.7]
    if rng.random() < 0.4:
        length, width, height = 6.1, 2.44, 2.6
    box = (-length / 2, length / 2, width)
    faces = builder.box((*box, 0.0), (*box, height), tuple(colour), paint=False)
    for side in ("left", "right", "front", "rear"):
        for rib in np.linspace(0.1, 0.9, 5):
            builder.inset(faces[side], (rib, rib + 0.03), (0.03, 0.97), tuple(colour * 0.7))
    return builder.done()


def trailer(rng: np.random.Generator) -> Panels:
    """Make a parked trailer: a box on two small wheels, without windows, lamps or a cab.

    Parameters
    ----------
    rng : Generator
        Source of all chance.
    """
    builder, colour = Builder(), WALLS[rng.integers(len(WALLS))] * rng.uniform(0.8, 1.2)
    length, height = rng.uniform(2.2, 5.0), rng.uniform(1.0, 2.3)
    box = (-length / 2, length / 2, 1.8)
    builder.box((*box, 0.5), (*box, height + 0.5), tuple(np.minimum(colour, 1)), paint=False)
    ring = np.arange(8) * np.pi / 4
    for side in (1, -1):
        flat = np.stack([np.cos(ring) * -side, np.zeros(8), np.sin(ring)], 1) * 0.32
        builder.add(np.array([0, side * 0.91, 0.32]) + flat, BLACK)
    return builder.done()


def tree(rng: np.random.Generator, camera: Camera, x: float, y: float, bare: bool) -> Panels:
    """Make a trunk and a crown of discs that face the camera.

    Parameters
    ----------
    rng : Generator
        Draws its size and its colour.
    camera : Camera
        That it faces.
    x, y : float
        Where it stands, metres.
    bare : bool
        Whether it is frosted, in place of green.
    """
    height = rng.uniform(4.0, 8.5)
    crown, stem = 0.26 * height, 0.68 * height
    trunk = np.array([[-0.14, 0], [0.14, 0], [0.1, stem], [-0.1, stem]])
    lumps = rng.normal(0, 0.5, (LUMPS, 3)) * crown
    lumps = lumps[np.argsort(lumps[:, 2])]
    green = FROST if bare else LEAVES[rng.integers(len(LEAVES))] * rng.uniform(0.8, 1.3)
    shades = green * (1 + 0.30 * lumps[:, 2:] / crown)
    leaves = _discs(camera, lumps + np.array([x, y, stem]), crown * rng.uniform(0.4, 0.7, LUMPS))
    return _cut_out([_upright(camera, x, y, trunk), *leaves], [(0.14, 0.2, 0.26), *shades])


def pedestrian(rng: np.random.Generator, camera: Camera, x: float, y: float) -> Panels:
    """Make a standing person who faces the camera.

    Parameters
    ----------
    rng : Generator
        Draws the clothes.
    camera : Camera
        That the person faces.
    x, y : float
        Where the person stands, metres.
    """
    coat, legs = CLOTHES[rng.integers(len(CLOTHES), size=2)]
    body = [
        np.array([[-half, low], [half, low], [half, high], [-half, high]])
        for low, high, half in ((0.0, 0.85, 0.17), (0.8, 1.5, 0.25))
    ]
    head = _discs(camera, np.array([[x, y, 1.64]]), np.array([0.15]))
    polygons = [_upright(camera, x, y, flat) for flat in body]
    return _cut_out([*polygons, *head], [legs, coat, (0.5, 0.6, 0.75)])


def sign(rng: np.random.Generator, camera: Camera, x: float, y: float) -> Panels:
    """Make a traffic sign on a post.

    Parameters
    ----------
    rng : Generator
        Draws its height, its shape and its colour.
    camera : Camera
        That it faces.
    x, y : float
        Where it stands, metres.
    """
    height, corners = rng.uniform(2.2, 2.8), int(rng.choice((3, 4, 8)))
    post = np.array([[-0.05, 0], [0.05, 0], [0.05, height], [-0.05, height]])
    turn = np.arange(corners) * 2 * np.pi / corners - np.pi / corners - np.pi / 2
    ring = np.stack([np.cos(turn), np.sin(turn)], 1)
    shapes = [post, 0.42 * ring + [0, height], 0.27 * ring + [0, height]]
    colours = [STEEL, SIGNS[rng.integers(len(SIGNS))], WHITE]
    return _cut_out([_upright(camera, x, y, flat) for flat in shapes], colours)


def _upright(camera: Camera, x: float, y: float, flat: np.ndarray) -> np.ndarray:
    """Stand a flat polygon (n, 2) up at (x, y), facing the camera, as (8, 3)."""
    standing = flat[:, :1] * camera.axes[0] + flat[:, 1:] * np.array([0.0, 0.0, 1.0]) + [x, y, 0]
    return np.concatenate([standing, np.repeat(standing[-1:], CORNERS - len(flat), 0)])


def _discs(camera: Camera, centres: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """Return discs as polygons (n, 8, 3) that face the camera.

    camera: that they face
    centres (n, 3): metres
    radii (n,): metres
    """
    turn = np.arange(CORNERS) * 2 * np.pi / CORNERS
    right, down = camera.axes[0], camera.axes[1]
    ring = np.cos(turn)[:, None] * right - np.sin(turn)[:, None] * down
    return centres[:, None] + radii[:, None, None] * ring


def _cut_out(polygons: list[np.ndarray], colours: list) -> Panels:
    """Return flat polygons (8, 3) with their colours as one unlit, unpaintable part."""
    blank = np.zeros(len(polygons), np.int64)
    shades = np.clip(np.array([np.asarray(c, float) for c in colours]), 0.02, 1)
    return Panels(np.array(polygons), shades, blank, blank, blank > 0)
