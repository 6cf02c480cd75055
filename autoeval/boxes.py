"""Overlap of boxes and their one-to-one matching.

Boxes are xyxy with x2 >= x1 and y2 >= y1; any unit, as long as both sides share it. Every function
takes numpy arrays or torch tensors, and any leading batch dimensions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any  # numpy.ndarray or torch.Tensor


def box_area(boxes: Array) -> Array:
    """Area of each box.

    Parameters
    ----------
    boxes : array of shape (..., N, 4)
        Boxes as xyxy.

    Returns
    -------
    array of shape (..., N)

    Examples
    --------
    >>> box_area(np.array([[0., 0., 2., 3.]]))
    array([6.])
    """
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def box_iou(a: Array, b: Array) -> Array:
    """Intersection over union of every box of ``a`` with every box of ``b``.

    Parameters
    ----------
    a : array of shape (..., N, 4)
    b : array of shape (..., M, 4)

    Returns
    -------
    array of shape (..., N, M)
        In [0, 1]; 0 where both boxes have no area.

    Examples
    --------
    >>> box_iou(np.array([[0., 0., 2., 2.]]), np.array([[1., 0., 3., 2.]])).round(3)
    array([[0.333]])
    """
    intersection, union = _intersection_and_union(a, b)
    return _ratio(intersection, union)


def box_giou(a: Array, b: Array) -> Array:
    """Generalised IoU: IoU less the share of the enclosing box that neither box covers.

    Source: Rezatofighi et al. 2019, algorithm 1. A common scaling of either axis changes nothing.

    Parameters
    ----------
    a : array of shape (..., N, 4)
    b : array of shape (..., M, 4)

    Returns
    -------
    array of shape (..., N, M)
        In [-1, 1].

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

    Parameters
    ----------
    a : ndarray of shape (N, 4)
    b : ndarray of shape (M, 4)
    cost : {"giou", "iou"}
        Overlap whose sum is maximised.

    Returns
    -------
    rows, columns : ndarray of shape (min(N, M),), int64
        Indices into ``a`` and ``b`` of each pair.
    overlaps : ndarray of shape (min(N, M),)
        Overlap of each pair.

    Raises
    ------
    ValueError
        If `cost` is not known.

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
