"""The synthetic split: every pattern, number, place, colour and object (section 2.2).

A record holds the released keys (`image_file`, `ground_truth`, `shape`, `offset`, `color`,
`num_occluded`, `dot_shape`, `positions`) and, beyond them, the occluder and what the canvas holds.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.counting.capture.render import (
    clip_box,
    draw_objects,
    draw_occluder,
    on_canvas,
    paint_box,
    touched,
)
from autoeval.counting.capture.split import (
    OCCLUDED,
    ORIGINAL,
    CaptureSplit,
    box_of,
    box_record,
    open_split,
    write_image,
    write_metadata,
)
from autoeval.errors import InputError
from autoeval.runtime.files import PathLike
from autoeval.runtime.progress import progress_bar

DOT_SHAPES = {"dots": "circle", "boxes": "square"}
Record = dict[str, Any]
Layout = Callable[[int], np.ndarray | None]
RELEASED = ("circle", "triangle", "rectangle")


def circle(n: int) -> np.ndarray | None:
    """Equal angles on a circle of radius .25, the first object to the right of the centre."""
    angles = 2 * np.pi * np.arange(n) / n
    return 0.5 + 0.25 * np.column_stack([np.cos(angles), np.sin(angles)])


def cross(n: int) -> np.ndarray | None:
    """Make a plus sign with arms of (n - 1) / 4 objects, .6 wide and high."""
    if n < 5 or n % 4 != 1:
        return None
    arm = _spread((n + 1) // 2, 0.6)
    across = np.column_stack([arm, np.full_like(arm, 0.5)])
    return np.concatenate([across, np.delete(across[:, ::-1], len(arm) // 2, axis=0)])


def rectangle(n: int) -> np.ndarray | None:
    """Rows x columns as square as n allows, .2 wide and .4 high; a prime n is one column of .8."""
    rows, columns = _rows_and_columns(n)
    x = _spread(columns, 0.2 if rows > 1 else 0.8)
    y = _spread(rows, 0.4 if columns > 1 else 0.8)
    return np.column_stack([np.tile(x, rows), np.repeat(y, columns)])


def staggered(n: int) -> np.ndarray | None:
    """Shift every second row of the rectangle half a column to the right; no prime n."""
    rows, columns = _rows_and_columns(n)
    if min(rows, columns) == 1:
        return None
    x, y = _spread(columns, 0.3), _spread(rows, 0.4)
    shift = (x[1] - x[0]) / 4 * np.where(np.arange(rows) % 2, 1, -1)
    return np.column_stack([np.tile(x, rows) + np.repeat(shift, columns), np.repeat(y, columns)])


def triangle(n: int) -> np.ndarray | None:
    """Rows of 1, 2, ..., k objects of spacing .4/k from y = .3 down, apex on top."""
    k = round((np.sqrt(8 * n + 1) - 1) / 2)
    if k * (k + 1) // 2 != n:
        return None
    rows = np.repeat(np.arange(k), np.arange(1, k + 1))
    place = np.concatenate([np.arange(row + 1) - row / 2 for row in range(k)])
    step = 0.4 / k
    return np.column_stack([0.5 + step * place, 0.3 + step * np.sqrt(0.75) * rows])


LAYOUTS: dict[str, Layout] = {
    "circle": circle,
    "triangle": triangle,
    "rectangle": rectangle,
    "staggered": staggered,
    "cross": cross,
}


@dataclass(frozen=True)
class SyntheticSpec:
    """What a synthetic split is made of; the defaults are the published split.

    An image's occluder depends on `seed` and its name alone. `fit_canvas` moves a pattern the
    shortest way into the image: the published layout leaves one object outside in 151 of 1150
    items. `box_anywhere` also centres occluders on objects outside, as the authors' generator does.
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
            for place, offset in enumerate(offsets(spec.size)):
                points = pattern_positions(pattern, n, size=spec.size, offset=offset)
                if spec.fit_canvas:
                    x, y = fit_shift(points, spec.size, spec.radius)
                    offset = (offset[0] + x, offset[1] + y)
                    points = pattern_positions(pattern, n, size=spec.size, offset=offset)
                for color in spec.colors:
                    for kind in DOT_SHAPES:
                        name = f"{pattern}_{n}_dots_{place}_{color}_{kind}.png"
                        yield _record(spec, name, pattern, points, offset, color, DOT_SHAPES[kind])


def render_pair(record: Record) -> tuple[np.ndarray, np.ndarray]:
    """Draw the original and the occluded image of a record, each (S, S, 3), uint8, BGR."""
    size = record.get("canvas_size", 200)
    original = draw_objects(
        np.array(record["positions"]),
        dot_shape=record["dot_shape"],
        color=record["color"],
        size=size,
        radius=record.get("radius", size / 40),
    )
    return original, paint_box(original, box_of(record))


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


def pattern_positions(
    pattern: str, n: int, *, size: int = 200, offset: tuple[float, float] = (0.0, 0.0)
) -> np.ndarray:
    """Place ``n`` objects in a pattern: centres (n, 2) in pixels, to hundredths, maybe outside."""
    if pattern not in LAYOUTS:
        raise InputError(f"Expected a pattern among {', '.join(LAYOUTS)} but got '{pattern}'.")
    unit = LAYOUTS[pattern](n)
    if unit is None:
        raise InputError(f"A {pattern} cannot be made of {n} objects.")
    return np.round(unit * size + np.asarray(offset), 2)


def possible_counts(pattern: str, counts: Iterable[int]) -> list[int]:
    """Return those of ``counts`` of which ``pattern`` can be made.

    Examples
    --------
    >>> possible_counts("triangle", range(5, 16))
    [6, 10, 15]
    """
    return [n for n in counts if LAYOUTS[pattern](n) is not None]


def offsets(size: int = 200) -> list[tuple[float, float]]:
    """Return the five places of a pattern: the centre, then .13 of the canvas to each corner."""
    d = 0.13 * size
    return [(0.0, 0.0), (-d, -d), (d, -d), (-d, d), (d, d)]


def fit_shift(points: np.ndarray, size: int, radius: float) -> np.ndarray:
    """Return the shortest translation (2,) that brings every object (N, 2) into the canvas."""
    low = np.maximum(radius - points.min(0), 0)
    high = np.minimum(size - radius - points.max(0), 0)
    if np.any((low > 0) & (high < 0)):
        raise InputError(f"The pattern does not fit a canvas of {size} with objects of {radius}.")
    return low + high


def _rows_and_columns(n: int) -> tuple[int, int]:
    factors = [k for k in range(1, n + 1) if n % k == 0]
    rows = factors[len(factors) // 2]
    return rows, n // rows


def _spread(count: int, span: float) -> np.ndarray:
    return 0.5 + span * (np.linspace(-0.5, 0.5, count) if count > 1 else np.zeros(1))


def write_synthetic(spec: SyntheticSpec, folder: PathLike) -> CaptureSplit:
    """Write both images of every configuration, then the metadata."""
    records = list(make_records(spec))
    if not records:
        raise InputError(
            "None of these patterns can be made of any of these numbers of objects: choose others "
            "with --patterns or --counts."
        )
    with progress_bar(len(records), "Drawing", unit="pair") as bar:
        for record in records:
            for variant, image in zip((ORIGINAL, OCCLUDED), render_pair(record), strict=True):
                write_image(Path(folder) / variant / record["image_file"], image)
            bar.update()
    write_metadata(folder, records)
    return open_split(folder)
