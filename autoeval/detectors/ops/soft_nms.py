"""Soft non-maximum suppression: overlapping boxes lose score instead of being dropped at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from autoeval.detectors.ops.gradients import at_least_float
from autoeval.detectors.ops.hard_nms import pairwise_iou

Decay = Callable[[np.ndarray, float, float], np.ndarray]

#: Factor on the score of a box with IoU `o` to the chosen one, by mmcv's method number.
DECAYS: dict[int, Decay] = {
    0: lambda o, threshold, sigma: np.where(o >= threshold, 0.0, 1.0),
    1: lambda o, threshold, sigma: np.where(o >= threshold, 1.0 - o, 1.0),
    2: lambda o, threshold, sigma: np.exp(-(o**2) / sigma),
}


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

    Parameters
    ----------
    boxes : Tensor of shape (N, 4), float32, on the CPU
        Boxes as xyxy.
    scores : Tensor of shape (N,)
        Confidence.
    dets : Tensor of shape (N, 5)
        Receives the picked boxes with their lowered scores in its first rows.
    iou_threshold : float
        IoU from which methods 0 and 1 act.
    sigma : float
        Width of the Gaussian of method 2.
    min_score : float
        A box whose lowered score falls below this is dropped.
    method : int
        0 drops (plain NMS), 1 multiplies by 1 - IoU, 2 by ``exp(-IoU² / sigma)``.
    offset : int
        Added to widths and heights, as in `nms`.

    Returns
    -------
    Tensor of shape (K,), int64
        Indices of the picked boxes in the order they were picked.

    References
    ----------
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
