"""The black box: where it goes and what it hides.

Boxes are xyxy in pixels with pixel (0, 0) covering [0, 1) x [0, 1).
"""

from __future__ import annotations

import numpy as np

SMALLEST, LARGEST = 6.0, 12.0


def draw_occluder(
    points: np.ndarray,
    *,
    radius: float,
    size: int,
    rng: np.random.Generator,
    anywhere: bool = False,
) -> np.ndarray:
    """Draw a square of side ``radius * U(6, 12)`` centred on a random object.

    Parameters
    ----------
    points : ndarray of shape (N, 2)
        Object centres.
    radius : float
        Half the width of an object.
    size : int
        Side of the canvas.
    rng : numpy.random.Generator
    anywhere : bool
        Also choose objects outside the canvas, as the authors' generator does, where a box may hide
        nothing that can be seen.

    Returns
    -------
    ndarray of shape (4,), int64
        The square, edges rounded to whole pixels; it may reach beyond the canvas.
    """
    chosen = np.ones(len(points), bool) if anywhere else on_canvas(points, radius, size)
    centre = points[rng.choice(np.flatnonzero(chosen))]
    half = radius * rng.uniform(SMALLEST, LARGEST) / 2
    return np.rint(np.concatenate([centre - half, centre + half])).astype(np.int64)


def on_canvas(points: np.ndarray, radius: float, size: int | tuple[int, int]) -> np.ndarray:
    """Say which objects (N, 2) have any part inside the canvas; (N,) bool.

    ``size`` is the side of a square canvas, or width and height.
    """
    return np.all((points > -radius) & (points < np.array(size) + radius), axis=1)


def touched(points: np.ndarray, box: np.ndarray, radius: float, dot_shape: str) -> np.ndarray:
    """Say which objects the box covers at least in part.

    Parameters
    ----------
    points : ndarray of shape (N, 2)
    box : ndarray of shape (4,)
    radius : float
        Half the width of an object.
    dot_shape : {'circle', 'square'}
        Outline of an object.

    Returns
    -------
    ndarray of shape (N,), bool

    Examples
    --------
    >>> points = np.array([[5.0, 5.0], [24.0, 24.0], [40.0, 5.0]])
    >>> touched(points, np.array([0, 0, 20, 20]), 5, "circle")
    array([ True, False, False])
    >>> touched(points, np.array([0, 0, 20, 20]), 5, "square")
    array([ True,  True, False])
    """
    gap = np.maximum(np.maximum(box[:2] - points, points - box[2:]), 0)
    if dot_shape == "square":
        return (gap < radius).all(1)
    return np.hypot(*gap.T) < radius


def clip_box(box: np.ndarray, width: int, height: int) -> np.ndarray:
    """Return the part of ``box`` (4,) that lies in an image."""
    return np.clip(box, 0, [width, height, width, height])
