"""Drawing synthetic images, and placing and painting their occluders."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np

from autoeval.errors import InputError

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
SMALLEST, LARGEST = 6.0, 12.0


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
    points: np.ndarray, *, dot_shape: str, color: str, size: int = 200, radius: float = 5
) -> np.ndarray:
    """Draw objects at `points` (N, 2), xy, on a white square canvas of side `size` pixels.

    Pixel (0, 0) covers [0, 1) x [0, 1); `radius` is that of a circle or half the side of a square.
    """
    shade = np.zeros((size, size))
    for point in np.asarray(points, float):
        shade = np.maximum(shade, _COVERAGE[dot_shape](point, radius, size))
    image = 255 + shade[..., None] * (np.array(COLORS[color], float) - 255)
    return np.rint(image).astype(np.uint8)


def paint_box(image: np.ndarray, box: np.ndarray) -> np.ndarray:
    """Return a copy of an image (H, W, 3) with ``box`` (4,), xyxy whole pixels, painted black."""
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
    """Draw a square of side ``radius * U(6, 12)`` centred on a random object of `points` (N, 2).

    ``anywhere`` also chooses objects outside the canvas, as the authors' generator does. Returns
    (4,) int64 xyxy, whole pixels, which may reach beyond the canvas.
    """
    chosen = np.ones(len(points), bool) if anywhere else on_canvas(points, radius, size)
    centre = points[rng.choice(np.flatnonzero(chosen))]
    half = radius * rng.uniform(SMALLEST, LARGEST) / 2
    return np.rint(np.concatenate([centre - half, centre + half])).astype(np.int64)


def on_canvas(points: np.ndarray, radius: float, size: int | tuple[int, int]) -> np.ndarray:
    """Say which objects (N, 2) show on a canvas of ``size``, its side, or width and height."""
    return np.all((points > -radius) & (points < np.array(size) + radius), axis=1)


def touched(points: np.ndarray, box: np.ndarray, radius: float, dot_shape: str) -> np.ndarray:
    """Say of which objects (N, 2), circles or squares of half-width `radius`, the box hides any."""
    gap = np.maximum(np.maximum(box[:2] - points, points - box[2:]), 0)
    if dot_shape == "square":
        return (gap < radius).all(1)
    return np.hypot(*gap.T) < radius


def clip_box(box: np.ndarray, width: int, height: int) -> np.ndarray:
    """Return the part of ``box`` (4,) that lies in an image."""
    return np.clip(box, 0, [width, height, width, height])


def load_inpainter(name: str) -> Inpainter:
    """Return an inpainter by name.

    ``telea`` and ``navier-stokes`` are OpenCV's, which continue colours but no pattern;
    ``package.module.function`` is one's own: image (H, W, 3) uint8 BGR and box (4,) xyxy in, the
    image without the box out.
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
