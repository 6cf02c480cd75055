"""Deformable convolution, plain and modulated, and convolution at chosen places.

Each output reads its kernel's places shifted by offsets of its own, and, modulated, weighs what it
reads there: ``y(p) = sum_k w_k · m_k(p) · x(p + p_k + Δ_k(p))``, bilinear in ``x``, which is 0
outside.

Dai et al., "Deformable Convolutional Networks", 2017, equation 2; Zhu et al., "Deformable ConvNets
v2", 2019, equation 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import unfold

from autoeval.detectors.ops.support import at_least_float, gradients, sample, write_gradients


@dataclass(frozen=True)
class Shape:
    """How a deformable convolution moves, all pairs as (vertical, horizontal).

    `groups` parts of the channels are convolved each on its own; `deform_groups` parts of the input
    channels have offsets of their own.
    """

    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]
    groups: int
    deform_groups: int

    @property
    def n_places(self) -> int:
        """Number of places that a kernel reads."""
        return self.kernel[0] * self.kernel[1]

    def output_size(self, input: Tensor) -> tuple[int, int]:
        """Return the height and width of the output."""
        reach = [d * (k - 1) + 1 for d, k in zip(self.dilation, self.kernel, strict=True)]
        free = [n + 2 * p - r for n, p, r in zip(input.shape[2:], self.padding, reach, strict=True)]
        rows, columns = (f // s + 1 for f, s in zip(free, self.stride, strict=True))
        return rows, columns


def deform_conv(
    input: Tensor, offset: Tensor, weight: Tensor, mask: Tensor | None, shape: Shape
) -> Tensor:
    """Convolve (N, C, H, W) with shifted places into (N, O, P, Q).

    `offset` (N, 2 G K, P, Q) are shifts in pixels of the input, y before x for each of the K places
    of the G groups; `weight` is (O, C / groups, kernel height, kernel width); `mask` (N, G K, P, Q)
    is what each place counts.
    """
    n, channels = input.shape[:2]
    rows, columns = offset.shape[2:]
    read = _read(input, offset, shape)  # (N, G, C / G, K, P, Q)
    if mask is not None:
        read = read * mask.reshape(n, shape.deform_groups, 1, shape.n_places, rows, columns)
    read = read.reshape(n, shape.groups, channels // shape.groups * shape.n_places, rows * columns)
    kernels = weight.reshape(shape.groups, weight.shape[0] // shape.groups, -1)
    return (kernels @ read).reshape(n, weight.shape[0], rows, columns)


def _read(input: Tensor, offset: Tensor, shape: Shape) -> Tensor:
    """Read the shifted places of all kernels, (N, G, C / G, K, P, Q)."""
    n, channels, groups = *input.shape[:2], shape.deform_groups
    rows, columns = offset.shape[2:]
    shifts = offset.reshape(n * groups, shape.n_places, 2, rows, columns)
    places = [_regular(axis, rows, columns, shape, input) for axis in (0, 1)]
    y, x = ((shifts[:, :, axis] + places[axis]).flatten(1, 2) for axis in (0, 1))
    maps = input.reshape(n * groups, channels // groups, *input.shape[2:])
    size = (n, groups, channels // groups, shape.n_places, rows, columns)
    return sample(maps, x, y).reshape(size)


def _regular(axis: int, rows: int, columns: int, shape: Shape, like: Tensor) -> Tensor:
    """Return where plain convolution reads along an axis, of shape (K, P, 1) or (K, 1, Q)."""
    count = (rows, columns)[axis]
    starts = torch.arange(count, device=like.device) * shape.stride[axis] - shape.padding[axis]
    steps = torch.arange(shape.kernel[axis], device=like.device) * shape.dilation[axis]
    grid = [steps[:, None], steps[None, :]][axis].expand(shape.kernel).flatten()
    place = starts[:, None] if axis == 0 else starts[None, :]
    return (grid[:, None, None] + place[None]).to(like.dtype)


def deform_conv_forward(*tensors: Tensor, **settings: int) -> None:
    """Write the plain deformable convolution; the two buffers behind the output stay."""
    input, weight, offset, output, *_ = tensors
    output.copy_(_plain(settings, *map(at_least_float, (input, offset, weight))))


def deform_conv_backward_input(*tensors: Tensor, **settings: int) -> None:
    """Write the gradients of input and offsets."""
    input, offset, grad_output, grad_input, grad_offset, weight, _ = tensors
    found = _plain_gradients(settings, input, offset, weight, grad_output)
    grad_input.copy_(found[0])
    grad_offset.copy_(found[1])


def deform_conv_backward_parameters(*tensors: Tensor, scale: float, **settings: int) -> None:
    """Write the gradient of the weights, times ``scale``."""
    input, offset, grad_output, grad_weight, *_ = tensors
    found = _plain_gradients(settings, input, offset, grad_weight, grad_output)
    grad_weight.copy_(found[2] * scale)


def modulated_deform_conv_forward(*tensors: Tensor, with_bias: bool, **settings: int) -> None:
    """Write the modulated deformable convolution into the last but one."""
    input, weight, bias, _, offset, mask, output, _ = tensors
    found = _modulated(settings, *map(at_least_float, (input, offset, mask, weight)))
    output.copy_(found + bias[:, None, None] if with_bias else found)


def modulated_deform_conv_backward(*tensors: Tensor, with_bias: bool, **settings: int) -> None:
    """Write the gradients of input, weights, bias, offsets and mask."""
    input, weight, _, _, offset, mask, _, *rest = tensors
    grad_input, grad_weight, grad_bias, grad_offset, grad_mask, grad_output = rest
    inputs = [at_least_float(each) for each in (input, offset, mask, weight)]
    wanted = [grad_input, grad_offset, grad_mask, grad_weight]
    write_gradients(lambda *each: _modulated(settings, *each), inputs, grad_output, wanted)
    if with_bias:
        grad_bias.copy_(grad_output.sum((0, 2, 3)))


def _shape(settings: dict[str, int], prefixes: tuple[str, ...], axes: str) -> Shape:
    """Read settings whose names are a prefix and an axis, such as ``kH`` and ``kernel_h``."""
    kernel, stride, padding, dilation = (
        (settings[prefix + axes[0]], settings[prefix + axes[1]]) for prefix in prefixes
    )
    groups, deform_groups = settings["group"], settings["deformable_group"]
    return Shape(kernel, stride, padding, dilation, groups, deform_groups)


def _plain(settings: dict[str, int], input: Tensor, offset: Tensor, weight: Tensor) -> Tensor:
    shape = _shape(settings, ("k", "d", "pad", "dilation"), "HW")
    return deform_conv(input, offset, weight, None, shape)


def _plain_gradients(
    settings: dict[str, int], input: Tensor, offset: Tensor, weight: Tensor, grad_output: Tensor
) -> tuple[Tensor, ...]:
    inputs = [at_least_float(each) for each in (input, offset, weight)]
    return gradients(lambda *each: _plain(settings, *each), inputs, grad_output)


def _modulated(
    settings: dict[str, int], input: Tensor, offset: Tensor, mask: Tensor, weight: Tensor
) -> Tensor:
    shape = _shape(settings, ("kernel_", "stride_", "pad_", "dilation_"), "hw")
    size = shape.output_size(input)
    return deform_conv(input, _first(offset, size), weight, _first(mask, size), shape)


def _first(values: Tensor, size: tuple[int, int]) -> Tensor:
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
