"""Deformable RoI pooling: RoIAlign whose bins are moved by offsets.

Dai et al., "Deformable Convolutional Networks", 2017, equation 5, with bilinear samples in place
of whole pixels. The modulated one (Zhu et al., 2019, equation 2) multiplies the result by a mask,
which mmcv does outside the operator.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from autoeval.detectors.ops.bilinear import sample
from autoeval.detectors.ops.gradients import at_least_float, gradients


def pool_moved(
    input: Tensor,
    offset: Tensor,
    rois: Tensor,
    *,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    sampling_ratio: int,
    gamma: float,
) -> Tensor:
    """Average bilinear samples on a grid in each moved bin.

    Parameters
    ----------
    input : Tensor of shape (B, C, H, W)
    offset : Tensor of shape (R, 2, P, Q) or (0,)
        Shifts of the bins along x and y, as multiples of ``gamma`` times the region's size.
    rois : Tensor of shape (R, 5)
        Regions as (batch index, x1, y1, x2, y2), pixels of the image.
    pooled_height, pooled_width : int
        P and Q.
    spatial_scale : float
        Feature map pixels for one image pixel.
    sampling_ratio : int
        Samples a bin along each axis; 0 takes one for each feature map pixel, rounded up.
    gamma : float

    Returns
    -------
    Tensor of shape (R, C, P, Q)
    """
    bins = (pooled_width, pooled_height)
    pooled = [input.new_zeros(0, input.shape[1], pooled_height, pooled_width)]
    for number, roi in enumerate(rois):
        low, high = roi[1:3] * spatial_scale - 0.5, roi[3:5] * spatial_scale - 0.5
        moved = offset[number] * gamma if offset.numel() else offset.new_zeros(2, *bins[::-1])
        x, y = (_places(low[k], high[k], bins[k], sampling_ratio) for k in (0, 1))
        moved = moved * (high - low)[:, None, None]
        pooled.append(_pool(input[int(roi[0])], x, y, moved)[None])
    return torch.cat(pooled)


def _places(low: Tensor, high: Tensor, bins: int, sampling_ratio: int) -> Tensor:
    """Return where the samples of each bin lie along an axis, of shape (bins, samples)."""
    size = (high - low) / bins
    count = sampling_ratio or math.ceil(float(size))
    steps = (torch.arange(max(count, 0)).to(low) + 0.5) / max(count, 1)
    return low + (torch.arange(bins).to(low)[:, None] + steps) * size


def _pool(map: Tensor, x: Tensor, y: Tensor, moved: Tensor) -> Tensor:
    """Pool one region of a map (C, H, W) at x (Q, J) and y (P, I) into (C, P, Q)."""
    height, width = map.shape[1:]
    shape = (len(y), len(x), y.shape[1], x.shape[1])  # P, Q, I, J
    at_x = (x[None, :, None, :] + moved[0][:, :, None, None]).expand(shape)
    at_y = (y[:, None, :, None] + moved[1][:, :, None, None]).expand(shape)
    inside = (at_x >= -1) & (at_x <= width) & (at_y >= -1) & (at_y <= height)
    flat = (1, shape[0] * shape[1], shape[2] * shape[3])
    at_x, at_y = at_x.clamp(0, width - 1).reshape(flat), at_y.clamp(0, height - 1).reshape(flat)
    samples = sample(map[None], at_x, at_y)
    summed = (samples * inside.reshape(1, *flat)).sum(-1) / max(shape[2] * shape[3], 1)
    return summed.reshape(len(map), *shape[:2])


def deform_roi_pool_forward(
    input: Tensor, rois: Tensor, offset: Tensor, output: Tensor, **settings: Any
) -> None:
    """Write the pooled regions into ``output``."""
    inputs = map(at_least_float, (input, offset, rois))
    output.copy_(pool_moved(*inputs, **settings))


def deform_roi_pool_backward(
    grad_output: Tensor,
    input: Tensor,
    rois: Tensor,
    offset: Tensor,
    grad_input: Tensor,
    grad_offset: Tensor,
    **settings: Any,
) -> None:
    """Write the gradients of the maps and of the offsets."""
    regions = at_least_float(rois)
    found = gradients(
        lambda maps, moved: pool_moved(maps, moved, regions, **settings),
        [at_least_float(input), at_least_float(offset)],
        at_least_float(grad_output),
    )
    grad_input.copy_(found[0])
    grad_offset.copy_(found[1])
