"""The synthetic split: every pattern, number, place, colour and object (section 2.2).

A record holds the released keys (`image_file`, `ground_truth`, `shape`, `offset`, `color`,
`num_occluded`, `dot_shape`, `positions`) and, beyond them, the occluder and what the canvas holds.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from autoeval.counting.capture.layout import (
    RELEASED,
    fit_shift,
    offsets,
    pattern_positions,
    possible_counts,
)
from autoeval.counting.capture.occluder import clip_box, draw_occluder, on_canvas, touched
from autoeval.counting.capture.records import box_of, box_record
from autoeval.counting.capture.render import draw_objects, paint_box

DOT_SHAPES = {"dots": "circle", "boxes": "square"}
Record = dict[str, Any]


@dataclass(frozen=True)
class SyntheticSpec:
    """What a synthetic split is made of; the defaults are the published split.

    Parameters
    ----------
    seed : int
        Of the occluders. An image's occluder depends on the seed and the image's name alone.
    size : int
        Side of the canvas, pixels; objects grow with it (radius 5 at 200).
    counts : tuple of int
        Numbers of objects.
    patterns : tuple of str
        Keys of `layout.LAYOUTS`.
    fit_canvas : bool
        Move a pattern the shortest way that brings all its objects into the image. The published
        layout leaves one object wholly outside in 151 of its 1150 items.
    box_anywhere : bool
        Also centre occluders on objects outside the image, as the authors' generator does.

    Examples
    --------
    >>> records = list(make_records(SyntheticSpec()))
    >>> len(records), records[0]["image_file"]
    (1250, 'circle_5_dots_0_blue_dots.png')
    """

    seed: int = 0
    size: int = 200
    counts: tuple[int, ...] = tuple(range(5, 16))
    patterns: tuple[str, ...] = RELEASED
    colors: tuple[str, ...] = ("blue", "green", "red", "orange", "purple")
    fit_canvas: bool = False
    box_anywhere: bool = False

    @property
    def radius(self) -> float:
        """Radius of a circle and half the side of a square, pixels."""
        return self.size / 40


def make_records(spec: SyntheticSpec) -> Iterator[Record]:
    """Yield the record of every configuration, in the order of the released metadata."""
    for n in spec.counts:
        for pattern in spec.patterns:
            if not possible_counts(pattern, [n]):
                continue
            for place in range(5):
                points, offset = _place(spec, pattern, n, place)
                for color in spec.colors:
                    for kind in DOT_SHAPES:
                        name = f"{pattern}_{n}_dots_{place}_{color}_{kind}.png"
                        yield _record(spec, name, pattern, points, offset, color, DOT_SHAPES[kind])


def render_pair(record: Record) -> tuple[np.ndarray, np.ndarray]:
    """Draw the original and the occluded image of a record, each (S, S, 3), uint8, BGR."""
    original = draw_original(record)
    return original, paint_box(original, box_of(record))


def draw_original(record: Record) -> np.ndarray:
    """Draw the unoccluded image of a record; released records, which lack a size, are of 200."""
    size = record.get("canvas_size", 200)
    return draw_objects(
        np.array(record["positions"]),
        dot_shape=record["dot_shape"],
        color=record["color"],
        size=size,
        radius=record.get("radius", size / 40),
    )


def _place(
    spec: SyntheticSpec, pattern: str, n: int, place: int
) -> tuple[np.ndarray, tuple[float, float]]:
    offset = offsets(spec.size)[place]
    points = pattern_positions(pattern, n, size=spec.size, offset=offset)
    if spec.fit_canvas:
        shift = fit_shift(points, spec.size, spec.radius)
        offset = (offset[0] + shift[0], offset[1] + shift[1])
        points = pattern_positions(pattern, n, size=spec.size, offset=offset)
    return points, offset


def _record(
    spec: SyntheticSpec,
    name: str,
    pattern: str,
    points: np.ndarray,
    offset: tuple[float, float],
    color: str,
    dot_shape: str,
) -> Record:
    rng = np.random.default_rng([spec.seed, zlib.crc32(name.encode())])
    square = draw_occluder(
        points, radius=spec.radius, size=spec.size, rng=rng, anywhere=spec.box_anywhere
    )
    hidden = touched(points, square, spec.radius, dot_shape)
    inside = on_canvas(points, spec.radius, spec.size)
    return {
        "image_file": name,
        "ground_truth": len(points),
        "shape": pattern,
        "offset": [float(v) for v in offset],
        "color": color,
        "num_occluded": int(hidden.sum()),
        "dot_shape": dot_shape,
        "positions": points.tolist(),
        "bbox": box_record(clip_box(square, spec.size, spec.size)),
        "occluded": hidden.tolist(),
        "in_canvas_count": int(inside.sum()),
        "in_canvas_occluded": int((hidden & inside).sum()),
        "canvas_size": spec.size,
        "radius": spec.radius,
        "seed": spec.seed,
    }
