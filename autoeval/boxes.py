"""Overlap of boxes and their one-to-one matching.

Boxes are xyxy with x2 >= x1 and y2 >= y1; any unit, as long as both sides share it. Every function
takes numpy arrays or torch tensors, and any leading batch dimensions.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

Array = Any  # numpy.ndarray or torch.Tensor
MOST_PAIRS = 4_000_000


def box_area(boxes: Array) -> Array:
    """Area of boxes (..., N, 4), as (..., N)."""
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def box_iou(a: Array, b: Array) -> Array:
    """Intersection over union of boxes (..., N, 4) with boxes (..., M, 4).

    It is (..., N, M) in [0, 1], and 0 where both boxes have no area.

    Examples
    --------
    >>> box_iou(np.array([[0., 0., 2., 2.]]), np.array([[1., 0., 3., 2.]])).round(3)
    array([[0.333]])
    """
    intersection, union = _intersection_and_union(a, b)
    return _ratio(intersection, union)


def box_giou(a: Array, b: Array) -> Array:
    """Generalised IoU: IoU less the share of the enclosing box that neither box covers.

    Shapes are as in `box_iou`; values are in [-1, 1]. A common scaling of either axis changes
    nothing. Source: Rezatofighi et al. 2019, algorithm 1.

    Examples
    --------
    >>> box_giou(np.array([[0., 0., 1., 1.]]), np.array([[2., 0., 3., 1.]])).round(3)
    array([[-0.333]])
    """
    xp = _namespace(a)
    intersection, union = _intersection_and_union(a, b)
    a, b = a[..., :, None, :], b[..., None, :, :]
    width = xp.maximum(a[..., 2], b[..., 2]) - xp.minimum(a[..., 0], b[..., 0])
    height = xp.maximum(a[..., 3], b[..., 3]) - xp.minimum(a[..., 1], b[..., 1])
    enclosing = width * height
    return _ratio(intersection, union) - _ratio(enclosing - union, enclosing)


OVERLAPS = {"iou": box_iou, "giou": box_giou}


def match_boxes(
    a: np.ndarray, b: np.ndarray, *, cost: str = "giou"
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Match min(N, M) pairs so that the sum of overlaps is the largest (Hungarian algorithm).

    `a` is (N, 4), `b` (M, 4); `cost` names the overlap, one of `OVERLAPS`, else ValueError. Returns
    the indices into ``a`` and ``b`` of each pair, int64, and their overlaps.

    Examples
    --------
    >>> a = np.array([[0., 0., 2., 2.], [5., 5., 6., 6.]])
    >>> rows, columns, overlaps = match_boxes(a, a[::-1])
    >>> columns, overlaps
    (array([1, 0]), array([1., 1.]))
    """
    if cost not in OVERLAPS:
        raise ValueError(f"Expected `cost` to be one of {sorted(OVERLAPS)} but got {cost!r}.")
    overlaps = OVERLAPS[cost](np.asarray(a, np.float64), np.asarray(b, np.float64))
    from scipy.optimize import linear_sum_assignment  # half a second that most commands can save

    rows, columns = linear_sum_assignment(overlaps, maximize=True)
    return rows, columns, overlaps[rows, columns]


def _namespace(array: Array) -> Any:
    if isinstance(array, np.ndarray):
        return np
    import torch

    return torch


def _intersection_and_union(a: Array, b: Array) -> tuple[Array, Array]:
    xp = _namespace(a)
    first, second = a[..., :, None, :], b[..., None, :, :]
    low = xp.maximum(first[..., :2], second[..., :2])
    high = xp.minimum(first[..., 2:], second[..., 2:])
    size = xp.maximum(high - low, xp.zeros_like(low))
    intersection = size[..., 0] * size[..., 1]
    union = box_area(a)[..., :, None] + box_area(b)[..., None, :] - intersection
    return intersection, union


def _ratio(numerator: Array, denominator: Array) -> Array:
    xp = _namespace(numerator)
    positive = denominator > 0
    safe = xp.where(positive, denominator, xp.ones_like(denominator))
    return xp.where(positive, numerator / safe, xp.zeros_like(numerator))


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

    Boxes `a` (N, 4) and `b` (M, 4) are float64, their groups (N,) and (M,) int; `least` is the
    smallest intersection over union, over 0. Of boxes of `b` that mark a `crowd` (M,) the share of
    the box of `a` inside them counts. Returns indices into `a` and `b`, int64, by row, and
    overlaps, (P,).

    Examples
    --------
    >>> boxes = np.array([[0., 0., 2., 2.], [0., 0., 2., 1.], [0., 0., 2., 2.]])
    >>> overlapping_pairs(boxes, np.array([1, 1, 2]), boxes[:1], np.array([1]), least=.4)
    (array([0, 1]), array([0, 0]), array([1. , 0.5]))
    """
    order = np.argsort(b_group, kind="stable")
    first = np.searchsorted(b_group[order], a_group)
    counts = np.searchsorted(b_group[order], a_group, side="right") - first
    sides = [np.ascontiguousarray(side) for side in (*a.T, *b.T)]
    pairs = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
    for part in _parts(counts):
        rows = np.repeat(np.arange(part.start, part.stop), counts[part])
        ends = np.cumsum(counts[part])
        within = np.arange(len(rows)) - np.repeat(ends - counts[part], counts[part])
        columns = order[first[rows] + within]
        for low in (0, 1):  # most pairs are apart, which one side after the other shows soonest
            start = np.maximum(sides[low][rows], sides[low + 4][columns])
            meet = np.minimum(sides[low + 2][rows], sides[low + 6][columns]) > start
            rows, columns = rows[meet], columns[meet]
        overlaps = _overlaps(a[rows], b[columns], None if crowd is None else crowd[columns])
        kept = overlaps >= least
        pairs.append((rows[kept], columns[kept], overlaps[kept]))
    rows, columns, overlaps = (np.concatenate(column) for column in zip(*pairs, strict=True))
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
