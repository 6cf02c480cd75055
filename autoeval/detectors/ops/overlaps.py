"""Overlap of boxes with boxes, and which boxes suppression would remove for which."""

from __future__ import annotations

import torch
from torch import Tensor

from autoeval.detectors.ops.hard_nms import pairwise_iou

IOU = 0


def bbox_overlaps(
    bboxes1: Tensor, bboxes2: Tensor, ious: Tensor, *, mode: int, aligned: bool, offset: int
) -> None:
    """Write the overlaps of boxes into ``ious``.

    Parameters
    ----------
    bboxes1, bboxes2 : Tensor of shape (M, 4), (N, 4)
        Boxes as xyxy.
    ious : Tensor of shape (M, N), or (M,) where aligned
        Receives the overlaps.
    mode : int
        0 divides by the union, 1 by the area of the first box.
    aligned : bool
        Whether box i of the one is compared with box i of the other alone.
    offset : int
        Added to widths and heights: 0, or 1 where coordinates name the last pixel inside.
    """
    one, other = (bboxes1, bboxes2) if aligned else (bboxes1[:, None], bboxes2[None])
    low = torch.maximum(one[..., :2], other[..., :2])
    high = torch.minimum(one[..., 2:], other[..., 2:])
    shared = (high - low + offset).clamp(min=0).prod(-1)
    area, other_area = ((b[..., 2:] - b[..., :2] + offset).prod(-1) for b in (one, other))
    whole = area + other_area - shared if mode == IOU else area
    ious.copy_(shared / whole.clamp(min=offset))


def nms_match(dets: Tensor, *, iou_threshold: float) -> list[list[int]]:
    """Group boxes by the one that non-maximum suppression keeps of them.

    Parameters
    ----------
    dets : Tensor of shape (N, 5)
        Boxes as xyxy, and their scores.
    iou_threshold : float
        A box goes to the group of a better one that it overlaps by as much or more.

    Returns
    -------
    list of list of int
        Numbers of the boxes: groups by their best one's score, and in each the best one first.
    """
    order = torch.sort(dets[:, 4], descending=True, stable=True).indices.tolist()
    boxes = dets[:, :4].detach().cpu().numpy()
    hits = pairwise_iou(boxes, boxes, 0) >= iou_threshold
    groups: list[list[int]] = []
    while order:
        best = order[0]
        groups.append([best, *(i for i in order[1:] if hits[best, i])])
        order = [i for i in order[1:] if not hits[best, i]]
    return groups
