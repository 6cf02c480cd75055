"""Deformable convolution, plain and modulated, and convolution at chosen places.

Each output reads its kernel's places shifted by offsets of its own, and, modulated, weighs what it
reads there: ``y(p) = sum_k w_k · m_k(p) · x(p + p_k + Δ_k(p))``, bilinear in ``x``, which is 0
outside.

Dai et al., "Deformable Convolutional Networks", 2017, equation 2; Zhu et al., "Deformable ConvNets
v2", 2019, equation 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import unfold

from autoeval.detectors.ops.support import at_least_float, gradients, sample, write_gradients

Pair = tuple[int, int]


# The parameters are those of mmcv's compiled operators, whatever their number.
def deform_conv(
    input: Tensor,
    offset: Tensor,
    weight: Tensor,
    mask: Tensor | None,
    *,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    groups: int,
    deform_groups: int,
) -> Tensor:
    """Convolve (N, C, H, W) with shifted places into (N, O, P, Q).

    `offset` (N, 2 G K, P, Q) are shifts in pixels of the input, y before x for each of the K places
    of the G groups; `weight` is (O, C / groups, kernel height, kernel width); `mask` (N, G K, P, Q)
    is what each place counts. Pairs are (vertical, horizontal); `groups` parts of the channels are
    convolved each on its own, `deform_groups` parts of the input channels have their own offsets.
    """
    n, channels = input.shape[:2]
    kernel, size = weight.shape[2:], offset.shape[2:]
    shifts = offset.reshape(n * deform_groups, kernel.numel(), 2, *size)
    vertical = _regular(kernel[0], size[0], stride[0], padding[0], dilation[0], input)
    horizontal = _regular(kernel[1], size[1], stride[1], padding[1], dilation[1], input)
    grid = (*kernel, *size)
    y = shifts[:, :, 0] + vertical[:, None, :, None].expand(grid).flatten(0, 1)
    x = shifts[:, :, 1] + horizontal[None, :, None, :].expand(grid).flatten(0, 1)
    maps = input.reshape(n * deform_groups, channels // deform_groups, *input.shape[2:])
    read = sample(maps, x.flatten(1, 2), y.flatten(1, 2))
    if mask is not None:
        read = read.reshape(n, deform_groups, -1, kernel.numel(), *size)
        read = read * mask.reshape(n, deform_groups, 1, kernel.numel(), *size)
    read = read.reshape(n, groups, channels // groups * kernel.numel(), size.numel())
    kernels = weight.reshape(groups, weight.shape[0] // groups, -1)
    return (kernels @ read).reshape(n, weight.shape[0], *size)


def _regular(
    kernel: int, size: int, stride: int, padding: int, dilation: int, like: Tensor
) -> Tensor:
    """Return where plain convolution reads along an axis, (kernel, size)."""
    starts = torch.arange(size, device=like.device) * stride - padding
    steps = torch.arange(kernel, device=like.device) * dilation
    return (steps[:, None] + starts).to(like.dtype)


def deform_conv_forward(*tensors: Tensor, **settings: int) -> None:
    """Write the plain deformable convolution; the two buffers behind the output stay."""
    input, weight, offset, output, *_ = tensors
    output.copy_(_plain(settings, *map(at_least_float, (input, offset, weight))))


def deform_conv_backward_input(*tensors: Tensor, **settings: int) -> None:
    """Write the gradients of input and offsets."""
    input, offset, grad_output, grad_input, grad_offset, weight, _ = tensors
    gradients = _plain_gradients(settings, input, offset, weight, grad_output)
    grad_input.copy_(gradients[0])
    grad_offset.copy_(gradients[1])


def deform_conv_backward_parameters(*tensors: Tensor, scale: float, **settings: int) -> None:
    """Write the gradient of the weights, times ``scale``."""
    input, offset, grad_output, grad_weight, *_ = tensors
    gradients = _plain_gradients(settings, input, offset, grad_weight, grad_output)
    grad_weight.copy_(gradients[2] * scale)


def modulated_deform_conv_forward(*tensors: Tensor, with_bias: bool, **settings: int) -> None:
    """Write the modulated deformable convolution into the last but one."""
    input, weight, bias, _, offset, mask, output, _ = tensors
    convolved = _modulated(settings, *map(at_least_float, (input, offset, mask, weight)))
    output.copy_(convolved + bias[:, None, None] if with_bias else convolved)


def modulated_deform_conv_backward(*tensors: Tensor, with_bias: bool, **settings: int) -> None:
    """Write the gradients of input, weights, bias, offsets and mask."""
    input, weight, _, _, offset, mask, _, *rest = tensors
    grad_input, grad_weight, grad_bias, grad_offset, grad_mask, grad_output = rest
    inputs = [at_least_float(tensor) for tensor in (input, offset, mask, weight)]
    wanted = [grad_input, grad_offset, grad_mask, grad_weight]
    write_gradients(lambda *leaves: _modulated(settings, *leaves), inputs, grad_output, wanted)
    if with_bias:
        grad_bias.copy_(grad_output.sum((0, 2, 3)))


def _options(settings: dict[str, int], prefixes: tuple[str, ...], axes: str) -> dict[str, Any]:
    """Read settings whose names are a prefix and an axis, such as ``dH`` and ``stride_h``."""
    pairs = [(settings[prefix + axes[0]], settings[prefix + axes[1]]) for prefix in prefixes]
    options = dict(zip(("stride", "padding", "dilation"), pairs, strict=True))
    return {**options, "groups": settings["group"], "deform_groups": settings["deformable_group"]}


def _plain(settings: dict[str, int], input: Tensor, offset: Tensor, weight: Tensor) -> Tensor:
    options = _options(settings, ("d", "pad", "dilation"), "HW")
    return deform_conv(input, offset, weight, None, **options)


def _plain_gradients(
    settings: dict[str, int], input: Tensor, offset: Tensor, weight: Tensor, grad_output: Tensor
) -> tuple[Tensor, ...]:
    inputs = [at_least_float(tensor) for tensor in (input, offset, weight)]
    return gradients(lambda *leaves: _plain(settings, *leaves), inputs, grad_output)


def _modulated(
    settings: dict[str, int], input: Tensor, offset: Tensor, mask: Tensor, weight: Tensor
) -> Tensor:
    options = _options(settings, ("stride_", "pad_", "dilation_"), "hw")
    stride, padding, dilation = options["stride"], options["padding"], options["dilation"]
    size = []  # of the output, vertical and horizontal
    for k in (0, 1):
        reach = dilation[k] * (weight.shape[2 + k] - 1) + 1
        size.append((input.shape[2 + k] + 2 * padding[k] - reach) // stride[k] + 1)
    return deform_conv(input, _first(offset, size), weight, _first(mask, size), **options)


def _first(values: Tensor, size: Sequence[int]) -> Tensor:
    """Read a tensor (N, K, P, Q) as if its maps had another size, from the first of its numbers on.

    So does mmcv where offsets and masks are larger than the output: DyHead hands those of a finer
    level to a coarser one, and its weights are trained with what that gives.
    """
    n, places = values.shape[:2]
    needed = places * size[0] * size[1]
    return values.flatten(1)[:, :needed].reshape(n, places, *size)


def masked_im2col_forward(
    features: Tensor, mask_h_idx: Tensor, mask_w_idx: Tensor, data_col: Tensor, **settings: int
) -> None:
    """Write what the kernel of a convolution with stride 1 reads at M places into ``data_col``.

    `features` are (1, C, H, W), `mask_h_idx` and `mask_w_idx` (M,) row and column of each place in
    the output, `data_col` (C kernel_h kernel_w, M).
    """
    kernel = (settings["kernel_h"], settings["kernel_w"])
    padding = (settings["pad_h"], settings["pad_w"])
    width = features.shape[3] + 2 * padding[1] - kernel[1] + 1
    columns = unfold(features, kernel, padding=padding)[0]
    data_col.copy_(columns[:, mask_h_idx * width + mask_w_idx])


def masked_col2im_forward(
    col: Tensor, mask_h_idx: Tensor, mask_w_idx: Tensor, im: Tensor, **size: int
) -> None:
    """Write the results (channels, M) to their places in ``im`` (1, channels, height, width)."""
    im[0, :, mask_h_idx, mask_w_idx] = col
