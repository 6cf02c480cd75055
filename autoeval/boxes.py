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
DECIMALS = 6  # of the sides of boxes in files; more are hardly written, or are all of a double


def box_area(boxes: Array) -> Array:
    """Area of boxes (..., N, 4), as (..., N)."""
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def has_area(boxes: np.ndarray) -> np.ndarray:
    """Whether boxes (N, 4) have a width and a height, (N,); others overlap nothing.

    >>> has_area(np.array([[0, 0, 2, 2], [5, 5, 5, 9]]))
    array([ True, False])
    """
    # side by side: NumPy reduces short rows many times slower than it compares columns
    return np.asarray((boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1]))


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
    a_area = _written_area(a)
    b_area = a_area if b is a else _written_area(b)
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
        low = np.maximum(a[rows, :2], b[columns, :2])
        high = np.minimum(a[rows, 2:], b[columns, 2:])
        meeting = np.maximum(high - low, 0)
        intersection = meeting[:, 0] * meeting[:, 1]
        whole = a_area[rows] + b_area[columns] - intersection
        if crowd is not None:
            whole = np.where(crowd[columns], a_area[rows], whole)
        overlaps = np.divide(intersection, whole, out=np.zeros(len(rows)), where=whole > 0)
        kept = overlaps >= least
        pairs.append((rows[kept], columns[kept], overlaps[kept]))
    rows, columns, overlaps = (np.concatenate(column) for column in zip(*pairs, strict=True))
    return rows, columns, overlaps


def _written_area(boxes: np.ndarray) -> np.ndarray:
    sides = written_sides(boxes)
    return sides[:, 0] * sides[:, 1]


def written_sides(boxes: np.ndarray) -> np.ndarray:
    """Return width and height of boxes (N, 4) of files that write them, (N, 2), to the last bit.

    In double precision ``(x + w) - x`` differs from w by its rounding, which decides where an
    overlap equals a threshold, as those of boxes with few decimals often do. Of numbers with up to
    `DECIMALS` decimals the nearest double is w; others are left as they are.

    >>> box = np.array([[5.3, 0.0, 5.3 + 0.7, 1.0]])
    >>> box[0, 2] - box[0, 0], written_sides(box)[0, 0]
    (np.float64(0.7000000000000002), np.float64(0.7))
    """
    sides = boxes[:, 2:] - boxes[:, :2]
    rounded = np.round(sides, DECIMALS)
    # x + w is rounded to the spacing of doubles there, and so is the difference
    left, top, right, bottom = np.abs(boxes).T
    largest = np.maximum(np.maximum(left, top), np.maximum(right, bottom))
    possible = np.abs(rounded - sides) <= np.spacing(largest)[:, None]
    return np.where(possible, rounded, sides)


def _parts(counts: np.ndarray) -> Iterator[slice]:
    """Cut rows so that no part has many more than `MOST_PAIRS` pairs."""
    part = np.cumsum(counts) // MOST_PAIRS
    ends = [0, *(np.flatnonzero(np.diff(part)) + 1), len(counts)]
    yield from (slice(int(i), int(j)) for i, j in pairwise(ends))
