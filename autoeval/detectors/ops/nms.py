"""Non-maximum suppression, greedy and soft, and overlaps of boxes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from autoeval.detectors.ops.support import at_least_float, torchvision_ops

BLOCK = 64
Decay = Callable[[np.ndarray, float, float], np.ndarray]

#: Factor on the score of a box with IoU `o` to the chosen one, by mmcv's method number.
DECAYS: dict[int, Decay] = {
    0: lambda o, threshold, sigma: np.where(o >= threshold, 0.0, 1.0),
    1: lambda o, threshold, sigma: np.where(o >= threshold, 1.0 - o, 1.0),
    2: lambda o, threshold, sigma: np.exp(-(o**2) / sigma),
}
IOU = 0


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float, offset: int) -> Tensor:
    """Keep the best boxes: a box goes when a better kept one overlaps it by more than a threshold.

    Boxes (N, 4) are xyxy; `offset` is added to widths and heights: 0, or 1 where coordinates name
    the last pixel inside. Returns the indices of the kept boxes, best first; equal scores stay in
    their order.

    Examples
    --------
    >>> boxes = torch.tensor([[0., 0, 4, 4], [0, 0, 4, 3], [9, 9, 12, 12]])
    >>> nms(boxes, torch.tensor([.8, .9, .3]), iou_threshold=.5, offset=0)
    tensor([1, 2])
    """
    boxes, scores = at_least_float(boxes), at_least_float(scores)
    library = torchvision_ops(boxes.device.type) if offset == 0 else None
    if library is not None:
        return library.nms(boxes, scores, iou_threshold)
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


# The parameters are those of mmcv's compiled operator, whatever their number.
def softnms(
    boxes: Tensor,
    scores: Tensor,
    dets: Tensor,
    iou_threshold: float,
    sigma: float,
    min_score: float,
    method: int,
    offset: int,
) -> Tensor:
    """Pick boxes best first, lowering the scores of what overlaps each pick.

    Method 0 drops (plain NMS), 1 multiplies by 1 - IoU, both from `iou_threshold` on, 2 by
    ``exp(-IoU² / sigma)``. A box whose lowered score falls below `min_score` is dropped. `dets` (N,
    5) receives the picked boxes with their lowered scores in its first rows; their indices are
    returned. For `offset` see `nms`.

    Bodla et al., "Soft-NMS: Improving Object Detection With One Line of Code", 2017, section 4.
    """
    all_boxes, live = at_least_float(boxes).numpy(), at_least_float(scores).numpy().copy()
    left = np.arange(len(live))
    kept: list[int] = []
    while len(left):
        place = int(live[left].argmax())
        best = left[place]
        left = np.delete(left, place)
        dets[len(kept)] = torch.tensor([*all_boxes[best], live[best]])
        kept.append(best)
        overlap = pairwise_iou(all_boxes[best : best + 1], all_boxes[left], offset)[0]
        live[left] *= DECAYS[method](overlap, iou_threshold, sigma)
        left = left[live[left] >= min_score]
    return torch.tensor(kept, dtype=torch.int64)


def bbox_overlaps(
    bboxes1: Tensor, bboxes2: Tensor, ious: Tensor, *, mode: int, aligned: bool, offset: int
) -> None:
    """Write the overlaps of boxes (M, 4) and (N, 4), xyxy, into ``ious`` (M, N), aligned (M,).

    `mode` 0 divides by the union, 1 by the area of the first box; for `offset` see `nms`.
    """
    one, other = (bboxes1, bboxes2) if aligned else (bboxes1[:, None], bboxes2[None])
    low = torch.maximum(one[..., :2], other[..., :2])
    high = torch.minimum(one[..., 2:], other[..., 2:])
    shared = (high - low + offset).clamp(min=0).prod(-1)
    area = (one[..., 2:] - one[..., :2] + offset).prod(-1)
    other_area = (other[..., 2:] - other[..., :2] + offset).prod(-1)
    whole = area + other_area - shared if mode == IOU else area
    ious.copy_(shared / whole.clamp(min=offset))


def nms_match(dets: Tensor, *, iou_threshold: float) -> list[list[int]]:
    """Group boxes (N, 5), xyxy and score, by the one that non-maximum suppression keeps of them.

    A box goes to the group of a better one that it overlaps by the threshold or more. Groups are
    numbers of boxes, by their best one's score, and in each the best one comes first.
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
