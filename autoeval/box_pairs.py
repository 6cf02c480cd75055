"""Overlapping pairs of boxes in many images at once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from autoeval.boxes import box_area

MOST_PAIRS = 4_000_000


def overlapping_pairs(
    a: np.ndarray,
    a_group: np.ndarray,
    b: np.ndarray,
    b_group: np.ndarray,
    *,
    least: float,
    crowd: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find the pairs of boxes of one group, such as an image and category, that overlap enough.

    Parameters
    ----------
    a : ndarray of shape (N, 4), float64
        Boxes as xyxy, any unit.
    a_group : ndarray of shape (N,), int
    b : ndarray of shape (M, 4), float64
    b_group : ndarray of shape (M,), int
    least : float
        Smallest intersection over union, over 0.
    crowd : ndarray of shape (M,), bool, optional
        Boxes of `b` that mark a crowd: what counts is the share of the box of `a` inside them.

    Returns
    -------
    rows, columns : ndarray of shape (P,), int64
        Indices into `a` and `b`, by row.
    overlaps : ndarray of shape (P,), float64

    Examples
    --------
    >>> boxes = np.array([[0., 0., 2., 2.], [0., 0., 2., 1.], [0., 0., 2., 2.]])
    >>> overlapping_pairs(boxes, np.array([1, 1, 2]), boxes[:1], np.array([1]), least=.4)
    (array([0, 1]), array([0, 0]), array([1. , 0.5]))
    """
    order = np.argsort(b_group, kind="stable")
    first = np.searchsorted(b_group[order], a_group)
    counts = np.searchsorted(b_group[order], a_group, side="right") - first
    found = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
    for part in _parts(counts):
        rows = np.repeat(np.arange(part.start, part.stop), counts[part])
        ends = np.cumsum(counts[part])
        within = np.arange(len(rows)) - np.repeat(ends - counts[part], counts[part])
        columns = order[first[rows] + within]
        overlaps = _overlaps(a[rows], b[columns], None if crowd is None else crowd[columns])
        kept = overlaps >= least
        found.append((rows[kept], columns[kept], overlaps[kept]))
    rows, columns, overlaps = (np.concatenate(column) for column in zip(*found, strict=True))
    return rows, columns, overlaps


def _parts(counts: np.ndarray) -> Iterator[slice]:
    """Cut rows so that no part has many more than `MOST_PAIRS` pairs."""
    part = np.cumsum(counts) // MOST_PAIRS
    ends = [0, *(np.flatnonzero(np.diff(part)) + 1), len(counts)]
    yield from (slice(int(i), int(j)) for i, j in pairwise(ends))


def _overlaps(a: np.ndarray, b: np.ndarray, crowd: np.ndarray | None) -> np.ndarray:
    """Overlap of each box of `a` with the box of `b` in its row, (P,)."""
    low, high = np.maximum(a[:, :2], b[:, :2]), np.minimum(a[:, 2:], b[:, 2:])
    intersection = np.maximum(high - low, 0).prod(axis=1)
    area, other = box_area(a), box_area(b)
    whole = area + other - intersection
    if crowd is not None:
        whole = np.where(crowd, area, whole)
    return np.divide(intersection, whole, out=np.zeros(len(a)), where=whole > 0)
