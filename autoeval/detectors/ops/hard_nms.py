"""Greedy non-maximum suppression."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from autoeval.detectors.ops.gradients import at_least_float
from autoeval.detectors.ops.torchvision import torchvision_ops

BLOCK = 64


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float, offset: int) -> Tensor:
    """Keep the best boxes: a box goes when a better kept one overlaps it by more than a threshold.

    Parameters
    ----------
    boxes : Tensor of shape (N, 4)
        Boxes as xyxy.
    scores : Tensor of shape (N,)
        Confidence.
    iou_threshold : float
        A box whose IoU with a kept one exceeds this is dropped.
    offset : int
        Added to widths and heights: 0, or 1 where coordinates name the last pixel inside.

    Returns
    -------
    Tensor of shape (K,), int64
        Indices of the kept boxes, best first; equal scores stay in their order.

    Examples
    --------
    >>> boxes = torch.tensor([[0., 0, 4, 4], [0, 0, 4, 3], [9, 9, 12, 12]])
    >>> nms(boxes, torch.tensor([.8, .9, .3]), iou_threshold=.5, offset=0)
    tensor([1, 2])
    """
    library = torchvision_ops(boxes.device.type) if offset == 0 else None
    if library is not None:
        return library.nms(boxes, scores, iou_threshold)
    boxes = at_least_float(boxes)
    order = torch.sort(scores, descending=True, stable=True).indices
    kept = _greedy(boxes[order].detach().cpu().numpy(), iou_threshold, offset)
    return order[torch.from_numpy(kept).to(order.device)]


def _greedy(boxes: np.ndarray, iou_threshold: float, offset: int) -> np.ndarray:
    """Return the positions kept of boxes (N, 4) that come best first, a block at a time."""
    threshold = boxes.dtype.type(iou_threshold)
    left, kept = np.arange(len(boxes)), [np.zeros(0, np.int64)]
    while len(left):
        block, left = left[:BLOCK], left[BLOCK:]
        block = block[_survivors(pairwise_iou(boxes[block], boxes[block], offset) > threshold)]
        kept.append(block)
        hit = pairwise_iou(boxes[block], boxes[left], offset) > threshold
        left = left[~hit.any(0)]
    return np.concatenate(kept)


def _survivors(hits: np.ndarray) -> np.ndarray:
    """Return which boxes stay, best first, when each that stays removes those it hits (N, N)."""
    alive = np.ones(len(hits), bool)
    for i, row in enumerate(hits):
        if alive[i]:
            alive[i + 1 :] &= ~row[i + 1 :]
    return alive


@np.errstate(divide="ignore", invalid="ignore")
def pairwise_iou(one: np.ndarray, other: np.ndarray, offset: int) -> np.ndarray:
    """Return the IoU (M, N) of boxes (M, 4) and (N, 4); NaN where an area is infinite or both 0."""
    a, b = one.T[:, :, None], other.T[:, None, :]
    width = np.maximum(np.minimum(a[2], b[2]) - np.maximum(a[0], b[0]) + offset, 0)
    height = np.maximum(np.minimum(a[3], b[3]) - np.maximum(a[1], b[1]) + offset, 0)
    overlap = width * height
    area_a = (a[2] - a[0] + offset) * (a[3] - a[1] + offset)
    area_b = (b[2] - b[0] + offset) * (b[3] - b[1] + offset)
    return overlap / (area_a + area_b - overlap)
