"""CARAFE and multi-scale deformable attention.

CARAFE is upsampling in which every output pixel mixes a neighbourhood by weights of its own.

Wang et al., "CARAFE: Content-Aware ReAssembly of FEatures", 2019, equation 5.
"""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import pad

from autoeval.detectors.ops.support import at_least_float, write_gradients


def reassemble(
    features: Tensor, masks: Tensor, *, kernel_size: int, group_size: int, scale_factor: int
) -> Tensor:
    """Mix the k x k pixels around each source pixel (N, C, H, W); outside the map they are 0.

    `masks` (N, G k k, sH, sW) are weights for each output pixel, row by row of the neighbourhood,
    group by group of channels; `kernel_size` is k, odd, `group_size` G, `scale_factor` s.
    """
    n, channels, height, width = features.shape
    grouped = features.reshape(n, group_size, channels // group_size, height, width)
    around = pad(grouped, [kernel_size // 2] * 4)
    fine = (height, scale_factor, width, scale_factor)
    weights = masks.reshape(n, group_size, kernel_size**2, 1, *fine)
    mixed = weights.new_zeros(n, group_size, channels // group_size, *fine)
    for place in range(kernel_size**2):
        top, left = divmod(place, kernel_size)
        part = around[..., top : top + height, left : left + width]
        mixed = mixed + part[..., :, None, :, None] * weights[:, :, place]
    return mixed.reshape(n, channels, height * scale_factor, width * scale_factor)


def carafe_naive_forward(features: Tensor, masks: Tensor, output: Tensor, **settings: int) -> None:
    """Write the upsampled features into ``output``."""
    output.copy_(reassemble(at_least_float(features), at_least_float(masks), **settings))


def carafe_naive_backward(*tensors: Tensor, **settings: int) -> None:
    """Write the gradients of features and weights."""
    grad_output, features, masks, *wanted = tensors
    inputs = [at_least_float(features), at_least_float(masks)]
    write_gradients(lambda x, y: reassemble(x, y, **settings), inputs, grad_output, wanted)


def carafe_forward(*tensors: Tensor, **settings: int) -> None:
    """Write the upsampled features; a buffer keeps the features for the way back."""
    features, masks, kept_features, _, _, output = tensors
    kept_features.copy_(features)
    carafe_naive_forward(features, masks, output, **settings)


def carafe_backward(*tensors: Tensor, **settings: int) -> None:
    """Write the gradients of features and weights; the four buffers before these stay."""
    grad_output, kept_features, masks, *_, grad_input, grad_masks = tensors
    carafe_naive_backward(grad_output, kept_features, masks, grad_input, grad_masks, **settings)


def ms_deform_attn_forward(
    value: Tensor,
    spatial_shapes: Tensor,
    level_start_index: Tensor,
    sampling_locations: Tensor,
    attention_weights: Tensor,
    *,
    im2col_step: int,
) -> Tensor:
    """Attend to a few sampled places of each level, (N, queries, heads * channels).

    `value` is (N, keys, heads, channels), `spatial_shapes` (levels, 2) heights and widths;
    `sampling_locations` (N, queries, heads, levels, points, 2) are fractions of width and height,
    with weights of that shape without the last axis. The other arguments are not needed: the start
    of each level follows from the shapes, and all samples are computed together.
    """
    return _attend(spatial_shapes, value, sampling_locations, attention_weights)


def ms_deform_attn_backward(*tensors: Tensor, im2col_step: int) -> None:
    """Write the gradients of values, places and weights; the arguments are as going forward."""
    value, shapes, _, locations, weights, grad_output, *wanted = tensors
    inputs = (value, locations, weights)
    write_gradients(lambda *leaves: _attend(shapes, *leaves), inputs, grad_output, wanted)


def _attend(shapes: Tensor, value: Tensor, locations: Tensor, weights: Tensor) -> Tensor:
    from mmcv.ops.multi_scale_deform_attn import multi_scale_deformable_attn_pytorch

    return multi_scale_deformable_attn_pytorch(value, shapes.tolist(), locations, weights)
