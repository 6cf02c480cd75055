"""Deformable convolution against mmcv's published values, a slow loop, and numeric gradients."""

import math

import numpy as np
import pytest
import torch
from torch.nn.functional import conv2d

from autoeval.detectors import ops

ops.register()
from mmcv.ops import (  # noqa: E402
    DeformConv2d,
    DeformConv2dPack,
    ModulatedDeformConv2dPack,
    deform_conv2d,
    modulated_deform_conv2d,
)


def test_values_that_mmcv_publishes():
    """Those of its own test, for one sample."""
    x = torch.tensor([[[[1.0, 2, 3], [0, 1, 2], [3, 5, 2]]]]).double().requires_grad_()
    layer = DeformConv2dPack(1, 1, kernel_size=2).double()
    offsets = [[0.1, 0.4, 0.6, 0.1], [0.3, 0.2, 0.1, 0.3], [0.5, 0.5, 0.2, 0.8]]
    offsets += [[0.8, 0.3, 0.9, 0.1], [0.3, 0.1, 0.2, 0.5], [0.3, 0.7, 0.5, 0.3]]
    offsets += [[0.6, 0.2, 0.5, 0.3], [0.4, 0.1, 0.8, 0.4]]
    layer.conv_offset.weight.data = torch.tensor(offsets).double().reshape(8, 1, 2, 2)
    layer.conv_offset.bias.data = torch.tensor([0.7, 0.1, 0.8, 0.5, 0.6, 0.5, 0.4, 0.7]).double()
    layer.weight.data = torch.tensor([0.4, 0.2, 0.1, 0.9]).double().reshape(1, 1, 2, 2)
    out = layer(x)
    out.sum().backward()
    close(out, [[1.65, 0], [0, 0]])
    close(x.grad, [[-0.666, 0.204, 0], [0.030, -0.416, 0.012], [0, 0.252, 0.129]])
    close(layer.weight.grad, [[3.62, 0], [0.40, 0.18]])
    close(layer.conv_offset.bias.grad, [1.44, -0.72, 0, 0, -0.10, -0.08, -0.54, -0.54])
    close(layer.conv_offset.weight.grad[4], [[-0.10, -0.20], [0, -0.10]])


def test_values_that_mmcv_publishes_of_the_modulated_one():
    """No offsets and masks of one half: half a convolution."""
    x = torch.tensor([1.0, 2, 3]).repeat(1, 1, 3, 1).requires_grad_()
    layer = ModulatedDeformConv2dPack(1, 1, kernel_size=2, padding=1, bias=False)
    layer.weight.data.fill_(1)
    out = layer(x)
    out.sum().backward()
    close(out, [[0.5, 1.5, 2.5, 1.5], [1, 3, 5, 3], [1, 3, 5, 3], [0.5, 1.5, 2.5, 1.5]])
    close(x.grad, [[2.0, 2, 2]] * 3)
    close(layer.weight.grad, [[9.0, 9], [9, 9]])
    close(layer.conv_offset.bias.grad, [-3, -1.5] * 4 + [4.5] * 4)
    close(layer.conv_offset.weight.grad[1], [[-9.0, 7.5], [-6, 5]])


def close(found, expected):
    expected = torch.tensor(expected).to(found).reshape(found.shape)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-3)


def slow(x, offset, mask, weight, stride, padding, dilation, groups, deform_groups):
    """The definition, one output number at a time."""
    out_channels, per_group, *kernel = weight.shape
    out = torch.zeros(len(x), out_channels, *offset.shape[2:], dtype=x.dtype)
    for b, o, p, q in np.ndindex(*out.shape):
        first = o // (out_channels // groups) * per_group
        for c, i, j in np.ndindex(per_group, *kernel):
            group = (first + c) // (x.shape[1] // deform_groups)
            k = (group * kernel[0] + i) * kernel[1] + j
            y = p * stride[0] - padding[0] + i * dilation[0] + float(offset[b, 2 * k, p, q])
            u = q * stride[1] - padding[1] + j * dilation[1] + float(offset[b, 2 * k + 1, p, q])
            share = mask[b, k, p, q] * weight[o, c, i, j]
            out[b, o, p, q] += share * bilinear(x[b, first + c], y, u)
    return out


def bilinear(image, y, x):
    total = 0.0
    for v in (math.floor(y), math.floor(y) + 1):
        for u in (math.floor(x), math.floor(x) + 1):
            if 0 <= v < image.shape[0] and 0 <= u < image.shape[1]:
                total += (1 - abs(y - v)) * (1 - abs(x - u)) * float(image[v, u])
    return total


SETTINGS = [
    ((1, 1), (0, 0), (1, 1), 1, 1),
    ((2, 1), (1, 2), (1, 2), 2, 1),  # everything different along the two axes
    ((1, 2), (2, 1), (2, 1), 1, 2),
    ((1, 1), (1, 1), (1, 1), 2, 4),
]


def inputs(stride, padding, dilation, groups, deform_groups, image=(5, 6)):
    torch.manual_seed(0)
    x, weight = torch.randn(2, 4, *image).double(), torch.randn(4, 4 // groups, 2, 3).double()
    size = conv2d(x, weight, None, stride, padding, dilation, groups).shape[2:]
    offset = torch.randn(2, deform_groups * 12, *size).double() * 2
    mask = torch.rand(2, deform_groups * 6, *size).double()
    return x, offset, mask, weight


@pytest.mark.parametrize("settings", SETTINGS)
def test_both_equal_the_definition(settings):
    x, offset, mask, weight = inputs(*settings)
    expected = slow(x, offset, torch.ones_like(mask), weight, *settings)
    torch.testing.assert_close(deform_conv2d(x, offset, weight, *settings), expected)
    expected = slow(x, offset, mask, weight, *settings) + 0.5
    bias = torch.full((4,), 0.5).double()
    found = modulated_deform_conv2d(x, offset, mask, weight, bias, *settings)
    torch.testing.assert_close(found, expected)


def test_gradients():
    settings = SETTINGS[2]
    given = inputs(*settings, image=(2, 4))  # every number is moved twice
    x, offset, mask, weight = (each.requires_grad_() for each in given)
    plain = lambda *each: deform_conv2d(*each, *settings).sum()  # noqa: E731
    assert torch.autograd.gradcheck(plain, (x, offset, weight))
    bias = torch.zeros(4, requires_grad=True).double()
    modulated = lambda *each: modulated_deform_conv2d(*each, *settings).sum()  # noqa: E731
    assert torch.autograd.gradcheck(modulated, (x, offset, mask, weight, bias))


def test_offsets_larger_than_the_output_are_read_from_their_start():
    """As DyHead hands them over: mmcv reads their memory as if they had the output's size."""
    x, offset, mask, weight = inputs(*SETTINGS[0])
    grown = []
    for each in (offset, mask):
        more = torch.cat([each.flatten(1), torch.rand(2, each[0].numel())], 1)
        grown.append(more.reshape(2, each.shape[1], -1, each.shape[3]).requires_grad_())
    found = modulated_deform_conv2d(x, *grown, weight, None, *SETTINGS[0])
    expected = modulated_deform_conv2d(x, offset, mask, weight, None, *SETTINGS[0])
    torch.testing.assert_close(found, expected)
    found.sum().backward()
    assert not grown[0].grad.flatten(1)[:, offset[0].numel() :].any() and grown[0].grad.any()


def test_without_offsets_it_is_a_convolution():
    x = torch.randn(1, 4, 30, 40)
    layer = DeformConv2d(4, 8, 3, padding=1)
    expected = conv2d(x, layer.weight, padding=1)
    found = layer(x, torch.zeros(1, 18, 30, 40))
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(dtype):
    x, offset, _, weight = (each.to(dtype) for each in inputs(*SETTINGS[1]))
    found = deform_conv2d(x, offset, weight, *SETTINGS[1])
    assert found.dtype == dtype
    expected = deform_conv2d(x.float(), offset.float(), weight.float(), *SETTINGS[1])
    torch.testing.assert_close(found, expected.to(dtype))
