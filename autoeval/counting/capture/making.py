"""Splits made: the synthetic one (section 2.2), and that of real images (appendix B).

A synthetic record holds the released keys (`image_file`, `ground_truth`, `shape`, `offset`,
`color`, `num_occluded`, `dot_shape`, `positions`) and, beyond them, the occluder and what the
canvas holds. The real split has FSC-147's images, the released boxes, and a black rectangle.
"""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from autoeval.counting.capture.split import (
    OCCLUDED,
    ORIGINAL,
    CaptureSplit,
    annotated_points,
    box_of,
    box_record,
    on_canvas,
    open_split,
    read_records,
    to_items,
    write_image,
    write_metadata,
)
from autoeval.counting.praco.data import read_classes
from autoeval.counting.true_counts import GroundTruth, read_truth
from autoeval.errors import InputError
from autoeval.io.image_lists import image_path
from autoeval.io.images import read_image
from autoeval.runtime.files import PathLike, atomic_path, write_text
from autoeval.runtime.progress import progress_bar

DOT_SHAPES = {"dots": "circle", "boxes": "square"}
Record = dict[str, Any]
Layout = Callable[[int], np.ndarray | None]
RELEASED = ("circle", "triangle", "rectangle")
Inpainter = Callable[[np.ndarray, np.ndarray], np.ndarray]
_OPENCV = {"telea": cv2.INPAINT_TELEA, "navier-stokes": cv2.INPAINT_NS}
_REACH = 5  # pixels around the box that OpenCV looks at
COLORS = {
    "blue": (255, 0, 0),
    "green": (0, 128, 0),
    "red": (0, 0, 255),
    "orange": (0, 165, 255),
    "purple": (128, 0, 128),
}
SMALLEST = 6.0
LARGEST = 12.0
WARNINGS = "warnings.txt"


def circle(n: int) -> np.ndarray | None:
    """Place objects at equal angles on a circle of radius .25, the first at its right.

    Parameters
    ----------
    n : int
        Number of objects.

    Returns
    -------
    ndarray of shape (n, 2)
        Centres, xy as shares of the side of the canvas, as those of all patterns.
    """
    angles = 2 * np.pi * np.arange(n) / n
    return 0.5 + 0.25 * np.column_stack([np.cos(angles), np.sin(angles)])


def cross(n: int) -> np.ndarray | None:
    """Place objects in a plus sign with arms of (n - 1) / 4 objects, .6 wide and high.

    Parameters
    ----------
    n : int
        Number of objects.

    Returns
    -------
    ndarray of shape (n, 2) or None
        None where n is no 5, 9, 13 ...
    """
    if n < 5 or n % 4 != 1:
        return None
    arm = _spread((n + 1) // 2, 0.6)
    across = np.column_stack([arm, np.full_like(arm, 0.5)])
    return np.concatenate([across, np.delete(across[:, ::-1], len(arm) // 2, axis=0)])


def rectangle(n: int) -> np.ndarray | None:
    """Place objects in rows and columns, as square as n allows, .2 wide and .4 high.

    Parameters
    ----------
    n : int
        Number of objects; a prime makes one column, .8 high.

    Returns
    -------
    ndarray of shape (n, 2)
    """
    rows, columns = _rows_and_columns(n)
    x = _spread(columns, 0.2 if rows > 1 else 0.8)
    y = _spread(rows, 0.4 if columns > 1 else 0.8)
    return np.column_stack([np.tile(x, rows), np.repeat(y, columns)])


def staggered(n: int) -> np.ndarray | None:
    """Place objects as `rectangle`, .3 wide, every second row half a column further right.

    Parameters
    ----------
    n : int
        Number of objects.

    Returns
    -------
    ndarray of shape (n, 2) or None
        None for a prime or 1, which makes one column.
    """
    rows, columns = _rows_and_columns(n)
    if min(rows, columns) == 1:
        return None
    x, y = _spread(columns, 0.3), _spread(rows, 0.4)
    shift = (x[1] - x[0]) / 4 * np.where(np.arange(rows) % 2, 1, -1)
    return np.column_stack([np.tile(x, rows) + np.repeat(shift, columns), np.repeat(y, columns)])


def triangle(n: int) -> np.ndarray | None:
    """Place objects in rows of 1, 2, ..., k, of spacing .4/k, from y = .3 down.

    Parameters
    ----------
    n : int
        Number of objects.

    Returns
    -------
    ndarray of shape (n, 2) or None
        None where n is no 1, 3, 6, 10 ...
    """
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
    """What a synthetic split is made of; the defaults are the published layout.

    Parameters
    ----------
    seed : int
        The occluder of an image depends on it and on the name of the image alone.
    size : int
        Side of the square canvas, pixels.
    counts : tuple of int
        Numbers of objects.
    patterns : tuple of str
        Keys of `LAYOUTS`; a pattern that cannot be made of a number is left out.
    colors : tuple of str
        Keys of `COLORS`.
    fit_canvas : bool
        Whether a pattern is moved the shortest way into the image: the published layout leaves one
        object outside in 160 of 1250 items (151 of the 1150 released).
    box_anywhere : bool
        Whether occluders are also centred on objects outside, as by the authors' generator.
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
    """Yield the record of every configuration, in the order of the released metadata.

    Parameters
    ----------
    spec : SyntheticSpec
        Of the split.
    """
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
    """Draw the original and the occluded image of a record.

    Parameters
    ----------
    record : dict
        See `make_records`, or a released one.

    Returns
    -------
    original, occluded : ndarray of shape (S, S, 3), uint8, BGR
    """
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
    """Place objects in a pattern; some may lie outside the canvas.

    Parameters
    ----------
    pattern : str
        A key of `LAYOUTS`.
    n : int
        Number of objects.
    size : int
        Side of the canvas, pixels.
    offset : (float, float)
        By which the pattern is moved in x and y, pixels.

    Returns
    -------
    ndarray of shape (n, 2)
        Centres, xy in pixels, to hundredths.

    Raises
    ------
    InputError
        If there is no such pattern, or it cannot be made of n objects.
    """
    if pattern not in LAYOUTS:
        raise InputError(f"Expected a pattern among {', '.join(LAYOUTS)} but got '{pattern}'.")
    unit = LAYOUTS[pattern](n)
    if unit is None:
        raise InputError(f"A {pattern} cannot be made of {n} objects.")
    return np.round(unit * size + np.asarray(offset), 2)


def possible_counts(pattern: str, counts: Iterable[int]) -> list[int]:
    """Return the numbers of objects of which a pattern can be made.

    Parameters
    ----------
    pattern : str
        A key of `LAYOUTS`.
    counts : iterable of int
        Numbers to choose from.

    Examples
    --------
    >>> possible_counts("triangle", range(5, 16))
    [6, 10, 15]
    """
    return [n for n in counts if LAYOUTS[pattern](n) is not None]


def offsets(size: int = 200) -> list[tuple[float, float]]:
    """Return the five places of a pattern, xy in pixels: the centre, then toward each corner.

    Parameters
    ----------
    size : int
        Side of the canvas, pixels, of which a pattern moves .13 in x and in y.
    """
    d = 0.13 * size
    return [(0.0, 0.0), (-d, -d), (d, -d), (-d, d), (d, d)]


def fit_shift(points: np.ndarray, size: int, radius: float) -> np.ndarray:
    """Return the shortest translation that brings every object into the canvas.

    Parameters
    ----------
    points : ndarray of shape (N, 2)
        Centres, xy in pixels.
    size : int
        Side of the canvas, pixels.
    radius : float
        Half the width of an object, pixels.

    Returns
    -------
    ndarray of shape (2,)
        x and y, pixels.

    Raises
    ------
    InputError
        If the pattern is wider or higher than the canvas.
    """
    low = np.maximum(radius - points.min(0), 0)
    high = np.minimum(size - radius - points.max(0), 0)
    if np.any(np.ptp(points, axis=0) > size - 2 * radius):
        raise InputError(f"The pattern does not fit a canvas of {size} with objects of {radius}.")
    return low + high


def _rows_and_columns(n: int) -> tuple[int, int]:
    factors = [k for k in range(1, n + 1) if n % k == 0]
    rows = factors[len(factors) // 2]
    return rows, n // rows


def _spread(count: int, span: float) -> np.ndarray:
    return 0.5 + span * (np.linspace(-0.5, 0.5, count) if count > 1 else np.zeros(1))


def write_synthetic(spec: SyntheticSpec, folder: PathLike) -> CaptureSplit:
    """Write both images of every configuration, then the metadata.

    Parameters
    ----------
    spec : SyntheticSpec
        Of the split.
    folder : path-like
        Where it is written.

    Raises
    ------
    InputError
        If no pattern can be made of any of the numbers of objects.
    """
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


def _disc(point: np.ndarray, radius: float, size: int) -> np.ndarray:
    middles = np.arange(size) + 0.5
    distance = np.hypot(middles[None] - point[0], middles[:, None] - point[1])
    return np.clip(radius + 0.5 - distance, 0, 1)


def _square(point: np.ndarray, radius: float, size: int) -> np.ndarray:
    edges = np.arange(size)[:, None]
    overlap = np.minimum(edges + 1, point + radius) - np.maximum(edges, point - radius)
    across, down = np.clip(overlap, 0, 1).T
    return down[:, None] * across


_COVERAGE = {"circle": _disc, "square": _square}


def draw_objects(
    points: np.ndarray, *, dot_shape: str, color: str, size: int, radius: float = 5
) -> np.ndarray:
    """Draw objects on a white square canvas.

    Parameters
    ----------
    points : array-like of shape (N, 2)
        Centres, xy in pixels; pixel (0, 0) covers [0, 1) x [0, 1).
    dot_shape : {"circle", "square"}
        Of the objects.
    color : str
        A key of `COLORS`.
    size : int
        Side of the canvas, pixels.
    radius : float
        Of a circle, or half the side of a square, pixels.

    Returns
    -------
    ndarray of shape (size, size, 3), uint8, BGR
    """
    shade = np.zeros((size, size))
    for point in np.asarray(points, float):
        shade = np.maximum(shade, _COVERAGE[dot_shape](point, radius, size))
    image = 255 + shade[..., None] * (np.array(COLORS[color], float) - 255)
    return np.rint(image).astype(np.uint8)


def paint_box(image: np.ndarray, box: np.ndarray) -> np.ndarray:
    """Return a copy of an image with a box painted black.

    Parameters
    ----------
    image : ndarray of shape (H, W, 3), uint8
        Not changed.
    box : ndarray of shape (4,), int
        xyxy, pixels; it may reach beyond the image.
    """
    x0, y0, x1, y1 = np.maximum(box, 0)
    covered = image.copy()
    covered[y0:y1, x0:x1] = 0
    return covered


def draw_occluder(
    points: np.ndarray,
    *,
    radius: float,
    size: int,
    rng: np.random.Generator,
    anywhere: bool = False,
) -> np.ndarray:
    """Draw a square at random, of side ``radius * U(6, 12)``, centred on a random object.

    Parameters
    ----------
    points : ndarray of shape (N, 2)
        Centres of the objects, xy in pixels.
    radius : float
        Half the width of an object, pixels.
    size : int
        Side of the canvas, pixels.
    rng : Generator
        Draws first the object, then the side.
    anywhere : bool
        Whether it may also be an object outside the canvas, as by the authors' generator.

    Returns
    -------
    ndarray of shape (4,), int64
        xyxy, pixels; it may reach beyond the canvas.
    """
    chosen = np.ones(len(points), bool) if anywhere else on_canvas(points, radius, size)
    centre = points[rng.choice(np.flatnonzero(chosen))]
    half = radius * rng.uniform(SMALLEST, LARGEST) / 2
    return np.rint(np.concatenate([centre - half, centre + half])).astype(np.int64)


def touched(points: np.ndarray, box: np.ndarray, radius: float, dot_shape: str) -> np.ndarray:
    """Return which objects a box hides at least in part.

    Parameters
    ----------
    points : ndarray of shape (N, 2)
        Centres, xy in pixels.
    box : ndarray of shape (4,)
        xyxy, pixels.
    radius : float
        Of a circle, or half the side of a square, pixels.
    dot_shape : {"circle", "square"}
        Of the objects.

    Returns
    -------
    ndarray of shape (N,), bool
    """
    gap = np.maximum(np.maximum(box[:2] - points, points - box[2:]), 0)
    if dot_shape == "square":
        return np.all(gap < radius, axis=1)
    return np.hypot(*gap.T) < radius


def clip_box(box: np.ndarray, width: int, height: int) -> np.ndarray:
    """Return the part of a box that lies in an image.

    Parameters
    ----------
    box : ndarray of shape (4,)
        xyxy, pixels.
    width, height : int
        Of the image, pixels.
    """
    return np.clip(box, 0, [width, height, width, height])


def load_inpainter(name: str) -> Inpainter:
    """Return a function that fills in the box of an image.

    Parameters
    ----------
    name : str
        ``telea`` and ``navier-stokes`` are OpenCV's, which continue colours but no pattern;
        ``package.module.function`` is one's own.

    Returns
    -------
    callable
        From an image (H, W, 3), uint8, BGR, and a box (4,), xyxy in pixels, to the image without
        the box.

    Raises
    ------
    InputError
        If there is none of this name.
    """
    if name in _OPENCV:

        def inpaint(image: np.ndarray, box: np.ndarray) -> np.ndarray:
            x0, y0, x1, y1 = box
            mask = np.zeros(image.shape[:2], np.uint8)
            mask[y0:y1, x0:x1] = 1
            return cv2.inpaint(image, mask, _REACH, _OPENCV[name])

        return inpaint
    from mmengine.utils import get_object_from_string

    try:
        inpainter = get_object_from_string(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(
            f"No inpainter '{name}' ({error}): expected {', '.join(_OPENCV)} or "
            "package.module.function."
        ) from None
    if not callable(inpainter):
        raise InputError(f"'{name}' cannot be called: expected a function of image and box.")
    return inpainter


def build_real(
    metadata: PathLike,
    images: PathLike,
    folder: PathLike,
    *,
    classes: PathLike | None = None,
    annotations: PathLike | None = None,
) -> CaptureSplit:
    """Build the occluded images of the real split.

    Items that cannot be built are left out, boxes beyond the image clipped; warnings name both.

    Parameters
    ----------
    metadata : path-like
        The released metadata.
    images : path-like
        FSC-147's ``images_384_VarV2``, in whose pixels the boxes are.
    folder : path-like
        Where the split is written.
    classes : path-like, optional
        FSC-147's names of objects; other names become warnings.
    annotations : path-like, optional
        FSC-147's annotations: other true counts become warnings, and items without points get
        theirs.

    Raises
    ------
    InputError
        If a file cannot be read, or no item can be built.
    """
    records, warnings = read_records(metadata), list[str]()
    to_items(records)
    names = read_classes(Path(classes)) if classes else {}
    if annotations is not None:
        records, warnings = with_points(records, read_truth(annotations))
    kept: list[dict[str, Any]] = []
    with progress_bar(len(records), "Occluding") as bar:
        for record in records:
            name, called = record["image_file"], record["object"] if names else None
            if names and name not in names:
                warnings.append(f"{name}: not an image of FSC-147")
            elif names and names[name] != called:
                warnings.append(f"{name}: called '{called}' here and '{names[name]}' in FSC-147")
            try:
                kept.append(_build(record, Path(images), Path(folder), warnings))
            except InputError as error:
                warnings.append(f"{name}: left out: {error}")
            bar.update()
    if not kept:
        raise InputError(f"None of the {len(records)} items could be built. {warnings[0]}")
    write_text(Path(folder) / WARNINGS, "".join(f"{line}\n" for line in warnings))
    write_metadata(folder, kept)
    return replace(open_split(folder), warnings=tuple(warnings))


def with_points(
    records: Sequence[dict[str, Any]], truth: GroundTruth
) -> tuple[list[dict[str, Any]], list[str]]:
    """Give points to the records that have none, and state where true counts differ.

    Parameters
    ----------
    records : sequence of dict
        Of a metadata file.
    truth : GroundTruth
        By ``image_file``, with points.

    Returns
    -------
    completed : list of dict
        All records.
    warnings : list of str
        Of images that are not in the truth, or have another count there.
    """
    completed, warnings = [], []
    for record in records:
        name = str(record["image_file"])
        image = truth.images.get(name)
        if image is None or image.points is None:
            warnings.append(f"{name}: not in the annotations")
        elif image.count != record["ground_truth"]:
            warnings.append(
                f"{name}: its true count is {record['ground_truth']}, but the annotations have "
                f"{image.count:.0f} points"
            )
        if image is not None and image.points is not None and annotated_points(record) is None:
            record = {**record, "positions": image.points.tolist()}
        completed.append(record)
    return completed, warnings


def _build(
    record: dict[str, Any], images: Path, folder: Path, warnings: list[str]
) -> dict[str, Any]:
    name = record["image_file"]
    source = image_path(images, name)
    image = read_image(source)
    height, width = image.shape[:2]
    item = to_items([record])[0]
    if item.box is None:
        raise InputError("it has no bbox")
    box = clip_box(item.box, width, height)
    if np.any(box[2:] <= box[:2]):
        raise InputError(f"its box {item.box.tolist()} lies outside the {width}x{height} image")
    if np.any(box != item.box):
        warnings.append(f"{name}: its box reached beyond the {width}x{height} image; clipped")
    if item.points is None:
        warnings.append(f"{name}: it has no object points, so the oracle tasks leave it out")
    with atomic_path(folder / ORIGINAL / name) as temporary:
        shutil.copyfile(source, temporary)
    write_image(folder / OCCLUDED / name, paint_box(image, box))
    return {**record, "bbox": box_record(box)}
