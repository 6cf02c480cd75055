"""Deformable RoI pooling against mmcv's published values, RoIAlign, and numeric gradients."""

import pytest
import torch

from autoeval.detectors import ops

ops.register()
from mmcv.ops import DeformRoIPoolPack, ModulatedDeformRoIPoolPack, deform_roi_pool, roi_align  # noqa: E402  # noqa: E402

SQUARE = [[1.0, 2.0], [3.0, 4.0]]
STEPS = [[1.0, 2, 5, 6], [3, 4, 7, 8], [9, 10, 13, 14], [11, 12, 15, 16]]
PUBLISHED = [
    (SQUARE, 1.0, [[1, 1.25], [1.5, 1.75]], [[3.0625, 0.4375], [0.4375, 0.0625]]),
    (
        STEPS,
        3.0,
        [[1.9375, 4.75], [7.5625, 10.375]],
        [
            [0.47265625, 0.4296875, 0.4296875, 0.04296875],
            [0.4296875, 0.390625, 0.390625, 0.0390625],
            [0.4296875, 0.390625, 0.390625, 0.0390625],
            [0.04296875, 0.0390625, 0.0390625, 0.00390625],
        ],
    ),
]


@pytest.mark.parametrize(("image", "side", "pooled", "grad"), PUBLISHED)
def test_values_that_mmcv_publishes(image, side, pooled, grad):
    x = torch.tensor(image)[None, None].requires_grad_()
    rois = torch.tensor([[0, 0, 0, side, side]])
    found = DeformRoIPoolPack((2, 2), 1, sampling_ratio=2)(x, rois)
    found.sum().backward()
    torch.testing.assert_close(found[0, 0], torch.tensor(pooled))
    torch.testing.assert_close(x.grad[0, 0], torch.tensor(grad))
    modulated = ModulatedDeformRoIPoolPack((2, 2), 1, sampling_ratio=2)(x, rois)
    torch.testing.assert_close(modulated[0, 0], torch.tensor(pooled) / 2)  # masks of sigmoid(0)


ROIS = torch.tensor([[0, 3.0, 2, 17, 21], [1, -6, 4, 11, 9], [1, 8, 8, 9, 30]]).double()


@pytest.mark.parametrize("sampling_ratio", [0, 2])
def test_without_offsets_it_is_roi_align(sampling_ratio):
    torch.manual_seed(0)
    x = torch.randn(2, 3, 12, 10).double()
    found = deform_roi_pool(x, ROIS, None, (3, 2), 0.5, sampling_ratio, 0.1)
    expected = roi_align(x, ROIS, (3, 2), 0.5, sampling_ratio, "avg", True)
    torch.testing.assert_close(found, expected)


def test_an_offset_moves_its_bin():
    """By gamma times the size of the region: .1 * 10 pixels, here one, along x then y."""
    ramp = torch.arange(400.0).reshape(1, 1, 20, 20)
    rois, offset = torch.tensor([[0, 4.0, 4, 14, 14]]), torch.zeros(1, 2, 2, 2)
    plain = deform_roi_pool(ramp, rois, offset, 2, 1.0, 2, 0.1)
    offset[0, 0, 1, 0] = offset[0, 1, 0, 1] = 1
    moved = deform_roi_pool(ramp, rois, offset, 2, 1.0, 2, 0.1)
    torch.testing.assert_close(moved - plain, torch.tensor([[[[0.0, 20], [1, 0]]]]))


def test_gradients():
    torch.manual_seed(0)
    x = torch.randn(2, 2, 12, 10).double().requires_grad_()
    offset = torch.randn(3, 2, 3, 2).double().requires_grad_()
    assert torch.autograd.gradcheck(
        lambda x, offset: deform_roi_pool(x, ROIS, offset, (3, 2), 0.5, 2, 0.1).sum(), (x, offset)
    )


def test_no_regions():
    found = deform_roi_pool(torch.randn(1, 2, 4, 4), torch.zeros(0, 5), None, 2, 1.0, 2, 0.1)
    assert found.shape == (0, 2, 2, 2)
