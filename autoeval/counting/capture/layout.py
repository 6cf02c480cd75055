"""Where the objects of a synthetic pattern lie (CAPTURe section 2.2 and its released metadata).

Coordinates are xy in pixels with pixel (0, 0) covering [0, 1) x [0, 1); y grows downwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from autoeval.errors import InputError

Layout = Callable[[int], np.ndarray | None]


def circle(n: int) -> np.ndarray | None:
    """Equal angles on a circle of radius .25, the first object to the right of the centre."""
    angles = 2 * np.pi * np.arange(n) / n
    return 0.5 + 0.25 * np.column_stack([np.cos(angles), np.sin(angles)])


def triangle(n: int) -> np.ndarray | None:
    """Rows of 1, 2, ..., k objects of spacing .4/k from y = .3 down, apex on top."""
    k = round((np.sqrt(8 * n + 1) - 1) / 2)
    if k * (k + 1) // 2 != n:
        return None
    rows = np.repeat(np.arange(k), np.arange(1, k + 1))
    place = np.concatenate([np.arange(row + 1) - row / 2 for row in range(k)])
    step = 0.4 / k
    return np.column_stack([0.5 + step * place, 0.3 + step * np.sqrt(0.75) * rows])


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


def cross(n: int) -> np.ndarray | None:
    """Make a plus sign with arms of (n - 1) / 4 objects, .6 wide and high."""
    if n < 5 or n % 4 != 1:
        return None
    arm = _spread((n + 1) // 2, 0.6)
    across = np.column_stack([arm, np.full_like(arm, 0.5)])
    return np.concatenate([across, np.delete(across[:, ::-1], len(arm) // 2, axis=0)])


LAYOUTS: dict[str, Layout] = {
    "circle": circle,
    "triangle": triangle,
    "rectangle": rectangle,
    "staggered": staggered,
    "cross": cross,
}
RELEASED = ("circle", "triangle", "rectangle")


def pattern_positions(
    pattern: str, n: int, *, size: int = 200, offset: tuple[float, float] = (0.0, 0.0)
) -> np.ndarray:
    """Place ``n`` objects.

    Parameters
    ----------
    pattern : str
        A key of `LAYOUTS`; ``circle``, ``triangle`` and ``rectangle`` are the published ones.
    n : int
        Number of objects.
    size : int
        Side of the square canvas, pixels.
    offset : tuple of float
        Added to x and y, pixels.

    Returns
    -------
    ndarray of shape (n, 2), float64
        Centres, rounded to hundredths of a pixel as in the released metadata. They may lie outside
        the canvas; see `fit_shift`.

    Raises
    ------
    InputError
        If the pattern is unknown or cannot be made of ``n`` objects.

    Examples
    --------
    >>> pattern_positions("rectangle", 5, offset=(26, -26)).tolist()[:2]
    [[126.0, -6.0], [126.0, 34.0]]
    """
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
    """Return the shortest translation (2,) that brings every object (N, 2) into the canvas.

    Raises
    ------
    InputError
        If the pattern is larger than the canvas.
    """
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
