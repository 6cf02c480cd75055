"""Boxes of many groups taken at once: the first of every group, then the second, and so on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def rounds(rows: np.ndarray, group: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the pairs of the first box of every group that has any, then of the second, and so on.

    Parameters
    ----------
    rows : ndarray of shape (P,)
        The box of each pair, sorted: boxes come by group, best first.
    group : ndarray of shape (N,)
    """
    if not len(rows):
        return
    new_box = np.append(True, np.diff(rows) > 0)
    boxes = group[rows[new_box]]
    rank = np.arange(len(boxes)) - np.searchsorted(boxes, boxes)
    turn = rank[np.cumsum(new_box) - 1]
    order = np.argsort(turn, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(turn[order])) + 1)


def best_of_each(worth: np.ndarray, box: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find for each level and box the last pair of the highest worth over 0.

    Parameters
    ----------
    worth : ndarray of shape (L, P)
    box : ndarray of shape (P,)
        Sorted.

    Returns
    -------
    level, pair : ndarray of shape (n,)
    """
    starts = np.flatnonzero(np.append(True, np.diff(box) > 0))
    highest = np.maximum.reduceat(worth, starts, axis=1)
    of_box = np.cumsum(np.append(False, np.diff(box) > 0))
    best = (worth == highest[:, of_box]) & (worth > 0)
    last = np.maximum.reduceat(np.where(best, np.arange(worth.shape[1]), -1), starts, axis=1)
    level, place = np.nonzero(last >= 0)
    return level, last[level, place]
