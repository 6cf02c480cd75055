"""RoIAlign against hand-worked values, a naive loop, its adjoint, torchvision where it works."""

import math

import numpy as np
import pytest
import torch

from autoeval.detectors import ops
from autoeval.detectors.ops import roi_align
from autoeval.detectors.ops.support import MissingOperator, torchvision_ops

SETTINGS = [
    # (scale, samples a bin, aligned): as FPN heads use it; fixed samples; the old convention
    (0.25, 0, True),
    (0.5, 2, True),
    (0.25, 0, False),
]


def pool(features, rois, bins, scale=1.0, ratio=0, aligned=True, **mode):
    output = features.new_zeros(len(rois), features.shape[1], *bins)
    empty = features.new_zeros(0)
    options = settings(bins, scale, ratio, aligned) | mode
    roi_align.roi_align_forward(features, rois, output, empty, empty, **options)
    return output


def pool_back(grad, features, rois, bins, *options):
    back, empty = torch.zeros_like(features), features.new_zeros(0)
    roi_align.roi_align_backward(grad, rois, empty, empty, back, **settings(bins, *options))
    return back


def settings(bins, scale, ratio, aligned):
    names = ("spatial_scale", "sampling_ratio", "aligned", "aligned_height", "aligned_width")
    return dict(zip(names, (scale, ratio, aligned, *bins), strict=True)) | {"pool_mode": 1}


def random_case(dtype=torch.float32):
    generator = torch.Generator().manual_seed(3)
    features = torch.randn(2, 3, 9, 13, generator=generator, dtype=dtype)
    rois = torch.tensor(
        [
            [0.0, 2, 3, 30, 20],
            [1, 0, 0, 52, 36],  # the whole map
            [1, -9, -7, 8, 9],  # over the top left corner
            [0, 40, 28, 70, 60],  # over the bottom right corner
            [0, 300, 300, 320, 330],  # outside
            [1, 10, 10, 10, 10],  # a point
        ],
        dtype=dtype,
    )
    return features, rois


def naive(features, rois, bins, scale, ratio, aligned):
    """The definition, one sample at a time."""
    output = features.new_zeros(len(rois), features.shape[1], *bins)
    for k, roi in enumerate(rois.double()):
        x1, y1, x2, y2 = (roi[1:] * scale - (0.5 if aligned else 0)).tolist()
        width, height = x2 - x1, y2 - y1
        if not aligned:
            width, height = max(width, 1.0), max(height, 1.0)
        size = (height / bins[0], width / bins[1])
        grid = [ratio if ratio > 0 else math.ceil(s) for s in size]
        for p, q in np.ndindex(*bins):
            total = 0.0
            for i, j in np.ndindex(*grid):
                y = y1 + (p + (i + 0.5) / grid[0]) * size[0]
                x = x1 + (q + (j + 0.5) / grid[1]) * size[1]
                total = total + sample(features[int(roi[0])], y, x)
            output[k, :, p, q] = total / max(1, grid[0] * grid[1])
    return output


def sample(feature, y, x):
    height, width = feature.shape[1:]
    if not (-1 <= y <= height and -1 <= x <= width):
        return 0.0
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    top, left = math.floor(y), math.floor(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    upper = feature[:, top, left] * (1 - x + left) + feature[:, top, right] * (x - left)
    lower = feature[:, bottom, left] * (1 - x + left) + feature[:, bottom, right] * (x - left)
    return upper * (1 - y + top) + lower * (y - top)


def test_ramp_by_hand():
    # On f(x, y) = x + 10 y a bin's average is f at its centre. Region (0, 0, 4, 4) in 2 x 2 bins:
    # centres at 1 and 3, which are pixels .5 and 2.5.
    x = torch.arange(4.0)
    ramp = (x[None, :] + 10 * x[:, None])[None, None]
    pooled = pool(ramp, torch.tensor([[0.0, 0, 0, 4, 4]]), (2, 2))
    assert pooled[0, 0].tolist() == [[5.5, 7.5], [25.5, 27.5]]


def test_region_outside_gives_zero():
    pooled = pool(torch.ones(1, 1, 4, 4), torch.tensor([[0.0, 50, 50, 60, 60]]), (2, 2))
    assert pooled.abs().sum() == 0


def test_no_regions():
    assert pool(torch.ones(1, 1, 4, 4), torch.zeros(0, 5), (2, 2)).shape == (0, 1, 2, 2)


@pytest.mark.parametrize(("scale", "ratio", "aligned"), SETTINGS)
def test_equals_a_naive_loop(scale, ratio, aligned):
    features, rois = random_case()
    expected = naive(features, rois, (3, 2), scale, ratio, aligned)
    pooled = pool(features, rois, (3, 2), scale, ratio, aligned)
    torch.testing.assert_close(pooled, expected, atol=2e-6, rtol=0)


def test_a_region_does_not_depend_on_the_others():
    features, rois = random_case()
    together = pool(features, rois, (3, 2), 0.25)
    alone = torch.cat([pool(features, roi[None], (3, 2), 0.25) for roi in rois])
    assert torch.equal(together, alone)


@pytest.mark.parametrize(("scale", "ratio", "aligned"), SETTINGS)
def test_backward_is_the_adjoint(scale, ratio, aligned):
    features, rois = random_case(torch.float64)
    grad = torch.randn(len(rois), 3, 3, 2, generator=torch.Generator().manual_seed(1)).double()
    back = pool_back(grad, features, rois, (3, 2), scale, ratio, aligned)
    forth = pool(features, rois, (3, 2), scale, ratio, aligned)
    assert (forth * grad).sum().item() == pytest.approx((features * back).sum().item())


def test_gradient_through_mmcv():
    ops.register()
    from mmcv.ops import roi_align as mmcv_roi_align

    features, rois = random_case(torch.float64)
    features = features[:, :2].requires_grad_()  # every number is moved twice
    assert torch.autograd.gradcheck(
        lambda x: mmcv_roi_align(x, rois, (2, 2), 0.25, 0, "avg", True), (features,)
    )


def test_maximum_pooling_is_refused():
    with pytest.raises(MissingOperator, match="pool_mode='max'"):
        pool(*random_case(), (2, 2), pool_mode=0)


@pytest.mark.skipif(torchvision_ops("cpu") is None, reason="needs a torchvision that works")
@pytest.mark.parametrize(("scale", "ratio", "aligned"), SETTINGS)
def test_equals_torchvision(monkeypatch, scale, ratio, aligned):
    features, rois = random_case()
    grad, answers = torch.randn(len(rois), 3, 3, 2), []
    for library in (torchvision_ops("cpu"), None):
        monkeypatch.setattr(roi_align, "_library", lambda tensor, lib=library: lib)
        back = pool_back(grad, features, rois, (3, 2), scale, ratio, aligned)
        answers.append((pool(features, rois, (3, 2), scale, ratio, aligned), back))
    torch.testing.assert_close(answers[0], answers[1], atol=5e-6, rtol=0)
