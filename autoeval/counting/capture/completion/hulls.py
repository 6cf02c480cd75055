"""Hulls on a lattice, and how far the box lets them grow."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from autoeval.counting.capture.completion.evidence import VisibleEvidence, can_hide

MOST_GROWTH = 6
Hull = Callable[[np.ndarray, tuple[int, ...]], np.ndarray]


@dataclass(frozen=True, eq=False)
class Lattice:
    """Sites at ``origin + index @ steps``.

    Parameters
    ----------
    origin : ndarray of shape (2,)
        Pixels.
    steps : ndarray of shape (D, 2)
        D is 1 for a row and 2 for a plane.
    index : ndarray of shape (M, D), int
        Cells of the visible objects.
    """

    origin: np.ndarray
    steps: np.ndarray
    index: np.ndarray

    def sites(self, cells: np.ndarray) -> np.ndarray:
        """Return the sites (N, 2) of cells (N, D)."""
        return self.origin + cells @ self.steps


def extensions(hull: Hull, lattice: Lattice, evidence: VisibleEvidence) -> Iterator[np.ndarray]:
    """Yield the sites of the smallest hull and of all larger ones that the box can hide.

    What the box cannot hide of a hull is part of every larger one, so sides are first grown alone.
    """
    sides = 3 if hull is triangle else 2 * lattice.steps.shape[0]

    def fits(grow: tuple[int, ...]) -> bool:
        return _hideable(hull(lattice.index, grow), lattice, evidence)

    if not fits((0,) * sides):
        return
    ranges = []
    for side in range(sides):
        alone = (tuple(g * (k == side) for k in range(sides)) for g in range(1, MOST_GROWTH + 1))
        ranges.append(range(1 + sum(1 for _ in itertools.takewhile(fits, alone))))
    for grow in itertools.product(*ranges):
        if fits(grow):
            yield lattice.sites(hull(lattice.index, grow))


def block(index: np.ndarray, grow: tuple[int, ...]) -> np.ndarray:
    """Return the cells of the block around ``index``, grown at its low and high ends in turn.

    Examples
    --------
    >>> block(np.array([[0], [2]]), (0, 1)).ravel()
    array([0, 1, 2, 3])
    """
    low = index.min(0) - np.array(grow[::2])
    high = index.max(0) + np.array(grow[1::2])
    ranges = [np.arange(a, b + 1) for a, b in zip(low, high, strict=True)]
    return np.stack(np.meshgrid(*ranges, indexing="ij"), -1).reshape(-1, index.shape[1])


def triangle(index: np.ndarray, grow: tuple[int, ...]) -> np.ndarray:
    """Return the cells i >= a, j >= b, i + j <= c around ``index``; ``grow`` moves a, b and c.

    Examples
    --------
    >>> triangle(np.array([[0, 0], [1, 0], [0, 1]]), (0, 0, 0)).tolist()
    [[0, 0], [0, 1], [1, 0]]
    """
    low = index.min(0) - np.array(grow[:2])
    last = index.sum(1).max() + grow[2] - low.sum()
    i, j = np.indices((last + 1, last + 1)).reshape(2, -1)
    return low + np.column_stack([i, j])[i + j <= last]


def _hideable(cells: np.ndarray, lattice: Lattice, evidence: VisibleEvidence) -> bool:
    free = cells[~(cells[:, None] == lattice.index).all(2).any(1)]
    sites = lattice.sites(free)
    inside = ((sites > 0) & (sites < np.array(evidence.size))).all(1)
    return can_hide(sites[inside], evidence)
