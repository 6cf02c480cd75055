"""Multi-scale deformable attention on an accelerator, by the formula that mmcv has in torch.

On a CPU mmcv runs that formula by itself.

Zhu et al., "Deformable DETR", 2021, equation 3.
"""

from __future__ import annotations

from torch import Tensor

from autoeval.detectors.ops.gradients import gradients


def ms_deform_attn_forward(
    value: Tensor,
    spatial_shapes: Tensor,
    level_start_index: Tensor,
    sampling_locations: Tensor,
    attention_weights: Tensor,
    *,
    im2col_step: int,
) -> Tensor:
    """Attend to a few sampled places of each level.

    Parameters
    ----------
    value : Tensor of shape (N, keys, heads, channels)
    spatial_shapes : Tensor of shape (levels, 2), int64
        Height and width of each level.
    level_start_index : Tensor of shape (levels,)
        Not needed: it follows from the shapes.
    sampling_locations : Tensor of shape (N, queries, heads, levels, points, 2)
        As fractions of width and height.
    attention_weights : Tensor of shape (N, queries, heads, levels, points)
    im2col_step : int
        Not needed: all samples are computed together.

    Returns
    -------
    Tensor of shape (N, queries, heads * channels)
    """
    return _attend(spatial_shapes, value, sampling_locations, attention_weights)


def ms_deform_attn_backward(
    value: Tensor,
    spatial_shapes: Tensor,
    level_start_index: Tensor,
    sampling_locations: Tensor,
    attention_weights: Tensor,
    grad_output: Tensor,
    grad_value: Tensor,
    grad_sampling_loc: Tensor,
    grad_attn_weight: Tensor,
    *,
    im2col_step: int,
) -> None:
    """Write the gradients of values, places and weights."""
    found = gradients(
        lambda *each: _attend(spatial_shapes, *each),
        (value, sampling_locations, attention_weights),
        grad_output,
    )
    for place, grad in zip((grad_value, grad_sampling_loc, grad_attn_weight), found, strict=True):
        place.copy_(grad)


def _attend(shapes: Tensor, value: Tensor, locations: Tensor, weights: Tensor) -> Tensor:
    from mmcv.ops.multi_scale_deform_attn import multi_scale_deformable_attn_pytorch

    return multi_scale_deformable_attn_pytorch(value, shapes.tolist(), locations, weights)
