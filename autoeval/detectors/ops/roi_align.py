"""RoIAlign as two small matrix products for each region, and deformable RoI pooling.

The average of bilinear samples on a regular grid is separable: with a row of weights for each bin
along y (P, H) and along x (Q, W), the pooled region is ``rows @ features @ columns.T``. Channels
come last while computing, so that the part of the map under a region is read in place.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from typing_extensions import TypedDict, Unpack

from autoeval.detectors.ops.support import (
    MissingOperator,
    at_least_float,
    sample,
    torchvision_ops,
    write_gradients,
)

MAX_POOLING = 0


class AlignSettings(TypedDict):
    """What mmcv gives with each call of RoIAlign; for the meaning see `roi_align_forward`."""

    aligned_height: int
    aligned_width: int
    spatial_scale: float
    sampling_ratio: int
    pool_mode: int
    aligned: bool


def roi_align_forward(
    input: Tensor,
    rois: Tensor,
    output: Tensor,
    *argmax: Tensor,
    **settings: Unpack[AlignSettings],
) -> None:
    """Pool each region of a feature map into P x Q bins, written into ``output`` (R, C, P, Q).

    `rois` (R, 5) are (batch index, x1, y1, x2, y2), pixels of the image; one is `spatial_scale`
    pixels of the feature map. There are `sampling_ratio` samples a bin along each axis; 0 takes one
    for each feature map pixel, rounded up. `aligned` says whether pixel centres lie at .5; if not,
    regions are also at least one pixel wide. Raises `MissingOperator` for maximum pooling,
    `pool_mode` 0, which alone uses the argmax.

    He et al., "Mask R-CNN", 2017, section 3.
    """
    bins, scale, ratio, aligned = _read(settings)
    library = _library(input)
    if library is not None:
        output.copy_(library.roi_align(input, rois, scale, *bins, ratio, aligned))
        return
    maps = at_least_float(input).permute(0, 2, 3, 1).contiguous()
    regions = _regions(input.shape, at_least_float(rois), bins, scale, ratio, aligned)
    for k, window, rows, columns in regions:
        part = maps[window]
        pooled = columns @ (rows @ part.flatten(1)).unflatten(1, part.shape[1:])
        output[k] = pooled.permute(2, 0, 1)


def roi_align_backward(*tensors: Tensor, **settings: Unpack[AlignSettings]) -> None:
    """Add the gradient of the pooled features (R, C, P, Q) to the last tensor (B, C, H, W)."""
    grad_output, rois, _, _, grad_input = tensors
    bins, scale, ratio, aligned = _read(settings)
    shape = grad_input.shape
    library = _library(grad_output)
    if library is not None:
        grad_input += library._roi_align_backward(
            grad_output, rois, scale, *bins, *shape, ratio, aligned
        )
        return
    grads = at_least_float(grad_output).permute(0, 2, 3, 1).contiguous()
    grad_maps = grads.new_zeros(shape[0], *shape[2:], shape[1])
    regions = _regions(shape, at_least_float(rois), bins, scale, ratio, aligned)
    for k, window, rows, columns in regions:
        wide = columns.T @ grads[k]
        grad_maps[window].flatten(1).addmm_(rows.T, wide.flatten(1))
    grad_input += grad_maps.permute(0, 3, 1, 2)


def _library(tensor: Tensor) -> Any | None:
    """Return torchvision's ops for an accelerator; its CPU kernels are slower than ours."""
    return None if tensor.device.type == "cpu" else torchvision_ops(tensor.device.type)


def _read(settings: AlignSettings) -> tuple[tuple[int, int], float, int, bool]:
    """Return bins, scale, samples a bin and alignment, or refuse maximum pooling."""
    if settings["pool_mode"] == MAX_POOLING:
        raise MissingOperator(
            "RoIAlign with pool_mode='max' needs mmcv's compiled extension; "
            "use pool_mode='avg' or compile mmcv."
        )
    bins = settings["aligned_height"], settings["aligned_width"]
    return bins, settings["spatial_scale"], settings["sampling_ratio"], settings["aligned"]


def _regions(
    shape: torch.Size,
    rois: Tensor,
    bins: tuple[int, int],
    scale: float,
    sampling_ratio: int,
    aligned: bool,
) -> Iterator[tuple[int, tuple, Tensor, Tensor]]:
    """Yield the number of each region that touches the map, the part it reads, its weights."""
    corners = rois[:, 1:] * scale - (0.5 if aligned else 0.0)
    low, high = corners[:, :2], corners[:, 2:]
    high = high if aligned else torch.maximum(high, low + 1)
    rows, tops, bottoms = _weights(low[:, 1], high[:, 1], bins[0], sampling_ratio, shape[2])
    columns, lefts, rights = _weights(low[:, 0], high[:, 0], bins[1], sampling_ratio, shape[3])
    batch = rois[:, 0].long().tolist()
    for k, (b, y0, y1, x0, x1) in enumerate(zip(batch, tops, bottoms, lefts, rights, strict=True)):
        if y0 < y1 and x0 < x1:
            window = (b, slice(y0, y1), slice(x0, x1))
            yield k, window, rows[k, :, y0:y1], columns[k, :, x0:x1]


def _weights(
    low: Tensor, high: Tensor, bins: int, sampling_ratio: int, length: int
) -> tuple[Tensor, list[int], list[int]]:
    """Work out what each bin takes from each pixel along one axis, (R, bins, length).

    A sample more than one pixel outside counts as zero. Also returned are the first pixel read and
    one past the last, for each region; equal where it reads none.
    """
    size = (high - low) / bins
    count = torch.full_like(size, sampling_ratio) if sampling_ratio > 0 else size.ceil()
    number = torch.arange(max(1, int(count.max())) if len(count) else 1, device=low.device)
    step = (number + 0.5)[None] * (size / count.clamp(min=1))[:, None]
    starts = low[:, None] + torch.arange(bins, device=low.device) * size[:, None]
    at = starts[:, :, None] + step[:, None, :]
    used = (at >= -1) & (at <= length) & (number < count[:, None])[:, None]
    at = at.clamp(0, length - 1)
    floor = at.floor()
    below, above = floor.long(), (floor.long() + 1).clamp(max=length - 1)
    share = used / count.clamp(min=1)[:, None, None]
    weights = at.new_zeros(len(low), bins, length)
    weights.scatter_add_(2, below, (1 - (at - floor)) * share)
    weights.scatter_add_(2, above, (at - floor) * share)
    first = torch.where(used, below, length).flatten(1).amin(1).tolist() if len(low) else []
    last = torch.where(used, above + 1, 0).flatten(1).amax(1).tolist() if len(low) else []
    return weights, first, last


# The parameters are those of mmcv's compiled operator, whatever their number.
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
    """Average bilinear samples on a grid in each moved bin, (R, C, P, Q).

    `offset` (R, 2, P, Q) or (0,) are shifts of the bins along x and y, as multiples of ``gamma``
    times the region's size; for the others see `roi_align_forward`.
    """
    bins = (pooled_width, pooled_height)
    pooled = [input.new_zeros(0, input.shape[1], pooled_height, pooled_width)]
    for number, roi in enumerate(rois):
        low, high = roi[1:3] * spatial_scale - 0.5, roi[3:5] * spatial_scale - 0.5
        moved = offset[number] * gamma if offset.numel() else offset.new_zeros(2, *bins[::-1])
        x = _places(low[0], high[0], pooled_width, sampling_ratio)
        y = _places(low[1], high[1], pooled_height, sampling_ratio)
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


class MovedSettings(TypedDict):
    """What mmcv gives with each call of deformable pooling; for the meaning see `pool_moved`."""

    pooled_height: int
    pooled_width: int
    spatial_scale: float
    sampling_ratio: int
    gamma: float


def deform_roi_pool_forward(
    input: Tensor,
    rois: Tensor,
    offset: Tensor,
    output: Tensor,
    **settings: Unpack[MovedSettings],
) -> None:
    """Write the pooled regions into ``output``."""
    inputs = map(at_least_float, (input, offset, rois))
    output.copy_(pool_moved(*inputs, **settings))


def deform_roi_pool_backward(*tensors: Tensor, **settings: Unpack[MovedSettings]) -> None:
    """Write the gradients of the maps and of the offsets."""
    grad_output, input, rois, offset, *wanted = tensors
    regions, inputs = at_least_float(rois), [at_least_float(input), at_least_float(offset)]
    write_gradients(
        lambda maps, moved: pool_moved(maps, moved, regions, **settings),
        inputs,
        grad_output,
        wanted,
    )
