"""How regular an arrangement of objects is, from their centres alone."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

NEIGHBOURS, TOLERANCE = 4, 0.25
FEWEST = 5


def regularity(points: np.ndarray) -> float:
    """Return the larger of `_row_regularity` and `ring_regularity`.

    Parameters
    ----------
    points : ndarray of shape (N, 2)
        Object centres, pixels.

    Returns
    -------
    float
        In [0, 1]; 0 for fewer than five objects, which show no pattern.

    Notes
    -----
    Direction, size and shear do not matter. Points thrown at random score about .2, large lattices
    and rings 1; the published validation items have a median of .7.

    Examples
    --------
    >>> grid = np.stack(np.meshgrid(range(30), range(30)), -1).reshape(-1, 2) * 10.0
    >>> round(regularity(grid), 2)
    1.0
    """
    points = np.unique(np.asarray(points, float).reshape(-1, 2), axis=0)
    if len(points) < FEWEST:
        return 0.0
    return max(_row_regularity(points), ring_regularity(points))


def _row_regularity(points: np.ndarray) -> float:
    """Return the share of steps to a near neighbour that lead on to a further object.

    A step goes from a point to one of its four nearest neighbours. It leads on where, repeated
    beyond the neighbour or backwards from the point, it ends within a quarter of its length of
    another point.
    """
    tree = cKDTree(points)
    near = tree.query(points, k=min(NEIGHBOURS + 1, len(points)))[1][:, 1:]
    start = np.repeat(points, near.shape[1], axis=0)
    end = points[near.ravel()]
    slack = TOLERANCE * np.hypot(*(end - start).T)
    forward = tree.query(2 * end - start)[0] < slack
    backward = tree.query(2 * start - end)[0] < slack
    return float(np.mean(forward | backward))


def ring_regularity(points: np.ndarray) -> float:
    """Return the share of points that sit on one circle, a usual step from both neighbours.

    The usual step is the median angle between neighbours; angles may differ from it, and radii from
    the circle's, by a quarter of the step.
    """
    centre, radius = fit_circle(points)
    if not np.isfinite(radius):
        return 0.0
    from_centre = points - centre
    angles = np.arctan2(from_centre[:, 1], from_centre[:, 0])
    order = np.argsort(angles)
    steps = np.diff(angles[order], append=angles[order[0]] + 2 * np.pi)
    usual = np.median(steps)
    even = np.abs(steps - usual) < TOLERANCE * usual
    off = np.abs(np.hypot(*from_centre[order].T) - radius)
    return float(np.mean(even & np.roll(even, 1) & (off < TOLERANCE * usual * radius)))


def fit_circle(points: np.ndarray) -> tuple[np.ndarray, float]:
    """Fit a circle by least squares on ``x^2 + y^2 = 2ax + 2by + c`` (Kåsa 1976).

    Parameters
    ----------
    points : ndarray of shape (N, 2), N >= 3

    Returns
    -------
    tuple of ndarray of shape (2,) and float
        Centre and radius; the radius is infinite where the points lie on a line.
    """
    middle = points.mean(0)
    local = points - middle
    design = np.column_stack([2 * local, np.ones(len(local))])
    solution, _, rank, _ = np.linalg.lstsq(design, (local**2).sum(1), rcond=1e-9)
    if rank < 3:
        return middle, np.inf
    return middle + solution[:2], float(np.sqrt(solution[2] + solution[:2] @ solution[:2]))
