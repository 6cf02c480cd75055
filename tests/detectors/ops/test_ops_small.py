"""Masked convolution, overlaps, matching, focal losses, attention, CARAFE, each by a reference."""

import math

import numpy as np
import pytest
import torch
from torch.nn.functional import conv2d, cross_entropy

from autoeval.detectors import ops
from autoeval.detectors.ops.carafe import ms_deform_attn_backward, ms_deform_attn_forward
from autoeval.detectors.ops.nms import nms
from autoeval.detectors.ops.roi_align import roi_align_forward
from autoeval.detectors.ops.support import MissingOperator

ops.register()
from mmcv.ops import (  # noqa: E402
    MaskedConv2d,
    bbox_overlaps,
    carafe,
    carafe_naive,
    nms_match,
    sigmoid_focal_loss,
    softmax_focal_loss,
)
from mmcv.ops.multi_scale_deform_attn import multi_scale_deformable_attn_pytorch  # noqa: E402


def test_a_masked_convolution_is_a_convolution_where_the_mask_is():
    torch.manual_seed(0)
    layer, x = MaskedConv2d(3, 4, (3, 5), padding=(1, 2)), torch.randn(1, 3, 6, 7)
    mask = (torch.rand(1, 6, 7) > 0.5).float()
    with torch.no_grad():
        found = layer(x, mask)
        expected = conv2d(x, layer.weight, layer.bias, padding=(1, 2)) * mask
        assert not layer(x, torch.zeros(1, 6, 7)).any()
    torch.testing.assert_close(found, expected)


ONE = torch.tensor([[0.0, 0, 10, 10], [10, 10, 20, 20], [32, 32, 38, 42]])
OTHER = torch.tensor([[0.0, 0, 10, 20], [0, 10, 10, 19], [10, 10, 20, 20]])


def test_overlaps_that_mmcv_publishes():
    expected = [[0.5, 0, 0], [0, 0, 1], [0, 0, 0]]
    assert bbox_overlaps(ONE, OTHER).tolist() == expected
    assert bbox_overlaps(ONE, OTHER, aligned=True).tolist() == [0.5, 0, 0]


def test_overlaps_by_hand():
    """Of the first box all lies in the other; with the offset, 11 * 11 and 11 * 21 pixels."""
    assert bbox_overlaps(ONE[:1], OTHER[:1], mode="iof").item() == 1
    assert bbox_overlaps(ONE[:1], OTHER[:1], offset=1).item() == pytest.approx(11 / 21)
    assert bbox_overlaps(torch.zeros(0, 4), OTHER).shape == (0, 3)


def test_matches_that_mmcv_publishes():
    dets = np.array(
        [
            [49.1, 32.4, 51, 35.9, 0.9],
            [49.3, 32.9, 51, 35.3, 0.9],
            [35.3, 11.5, 39.9, 14.5, 0.4],
            [35.2, 11.7, 39.7, 15.7, 0.3],
        ],
        np.float32,
    )
    assert [group.tolist() for group in nms_match(dets, 0.6)] == [[0, 1], [2, 3]]
    kept = nms(torch.from_numpy(dets[:, :4]), torch.from_numpy(dets[:, 4]), 0.6, 0)
    assert [int(group[0]) for group in nms_match(dets, 0.6)] == kept.tolist()


def test_each_box_is_matched_once():
    torch.manual_seed(0)
    corners = torch.rand(60, 2) * 30
    dets = torch.cat([corners, corners + 5 + torch.rand(60, 2) * 10, torch.rand(60, 1)], 1)
    groups = [group.tolist() for group in nms_match(dets, 0.4)]
    assert sorted(i for group in groups for i in group) == list(range(60))
    overlaps = bbox_overlaps(dets[:, :4], dets[:, :4])
    for number, (best, *rest) in enumerate(groups):
        assert (overlaps[best, rest] >= 0.4).all() and (dets[rest, 4] <= dets[best, 4]).all()
        later = [other[0] for other in groups[number + 1 :]]
        assert (overlaps[best, later] < 0.4).all() and (dets[later, 4] <= dets[best, 4]).all()


# (logits, classes, mean loss, gradient) of mmcv's own test.
PUBLISHED = [
    (
        [[1.0, 0], [0, 1]],
        [0, 1],
        0.00566451,
        [[-0.00657264, 0.00657264], [0.00657264, -0.00657264]],
    ),
    (
        [[1.0, 0, -1], [0, 1, 2]],
        [2, 1],
        0.34956908,
        [[0.10165970, 0.03739851, -0.13905823], [0.01227554, -0.10298023, 0.09070466]],
    ),
]


@pytest.mark.parametrize(("logits", "target", "loss", "grad"), PUBLISHED)
def test_softmax_focal_losses_that_mmcv_publishes(logits, target, loss, grad):
    x = torch.tensor(logits, requires_grad=True)
    found = softmax_focal_loss(x, torch.tensor(target), 2.0, 0.25, None, "mean")
    found.backward()
    assert found.item() == pytest.approx(loss, rel=1e-4)
    torch.testing.assert_close(x.grad, torch.tensor(grad), atol=1e-6, rtol=1e-4)


def test_softmax_focal_loss_without_focus_is_cross_entropy():
    torch.manual_seed(0)
    x, target = torch.randn(5, 4).double(), torch.tensor([0, 3, 1, 1, 2])
    weight = torch.tensor([1.0, 2, 3, 4]).double()
    found = softmax_focal_loss(x, target, 0.0, 1.0, weight, "sum")
    torch.testing.assert_close(found, cross_entropy(x, target, weight, reduction="sum"))


def test_softmax_focal_loss_has_its_gradient():
    torch.manual_seed(0)
    x = torch.randn(5, 4).double().requires_grad_()
    target, weight = torch.tensor([0, 3, -1, 1, 2]), torch.tensor([1.0, 2, 3, 4]).double()
    assert torch.autograd.gradcheck(
        lambda x: softmax_focal_loss(x, target, 1.5, 0.3, weight, "sum"), (x,)
    )


def test_attention_is_the_formula_that_mmcv_has_in_torch():
    torch.manual_seed(0)
    shapes, start = torch.tensor([[4, 5], [2, 3]]), torch.tensor([0, 20])
    value = torch.randn(2, 26, 2, 3).double().requires_grad_()
    places = torch.rand(2, 7, 2, 2, 4, 2).double().requires_grad_()
    weights = torch.rand(2, 7, 2, 2, 4).double().requires_grad_()
    inputs = (value, shapes, start, places, weights)
    expected = multi_scale_deformable_attn_pytorch(value, shapes, places, weights)
    torch.testing.assert_close(ms_deform_attn_forward(*inputs, im2col_step=64), expected)
    expected.sum().backward()
    grads = [torch.empty_like(each) for each in (value, places, weights)]
    ms_deform_attn_backward(*inputs, torch.ones_like(expected), *grads, im2col_step=64)
    for found, each in zip(grads, (value, places, weights), strict=True):
        torch.testing.assert_close(found, each.grad)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_of_pooling_and_suppression(dtype):
    """Computed in single precision, and given back in half."""
    torch.manual_seed(0)
    maps, rois = torch.randn(1, 3, 8, 8).to(dtype), torch.tensor([[0, 1.0, 2, 6, 7]]).to(dtype)
    settings = {"aligned_height": 2, "aligned_width": 2, "spatial_scale": 1.0}
    settings |= {"sampling_ratio": 2, "pool_mode": 1, "aligned": True}
    none = torch.empty(0)
    half, single = torch.zeros(1, 3, 2, 2, dtype=dtype), torch.zeros(1, 3, 2, 2)
    roi_align_forward(maps, rois, half, none, none, **settings)
    roi_align_forward(maps.float(), rois.float(), single, none, none, **settings)
    torch.testing.assert_close(half, single.to(dtype))
    boxes = torch.tensor([[0.0, 0, 400, 400], [0, 0, 400, 300], [900, 900, 1200, 1200]])
    scores = torch.tensor([0.8, 0.9, 0.3])
    assert nms(boxes.to(dtype), scores.to(dtype), 0.5, 0).tolist() == [1, 2]


def slow(features, masks, kernel, groups, scale):
    """The definition, one output number at a time."""
    n, channels, height, width = features.shape
    out = torch.zeros(n, channels, height * scale, width * scale, dtype=features.dtype)
    for b, c, p, q, i, j in np.ndindex(*out.shape, kernel, kernel):
        y, x = p // scale + i - kernel // 2, q // scale + j - kernel // 2
        if 0 <= y < height and 0 <= x < width:
            place = (c // (channels // groups) * kernel + i) * kernel + j
            out[b, c, p, q] += features[b, c, y, x] * masks[b, place, p, q]
    return out


@pytest.mark.parametrize("operator", [carafe, carafe_naive])
@pytest.mark.parametrize(("kernel", "groups", "scale"), [(3, 1, 2), (5, 2, 3), (1, 4, 1)])
def test_carafe_equals_the_definition(operator, kernel, groups, scale):
    torch.manual_seed(0)
    features = torch.randn(2, 4, 3, 4).double()
    masks = torch.randn(2, groups * kernel**2, 3 * scale, 4 * scale).double()
    found = operator(features, masks, kernel, groups, scale)
    torch.testing.assert_close(found, slow(features, masks, kernel, groups, scale))


def test_carafe_has_its_gradients():
    torch.manual_seed(0)
    features = torch.randn(1, 4, 3, 4).double().requires_grad_()
    masks = torch.randn(1, 18, 6, 8).double().requires_grad_()
    assert torch.autograd.gradcheck(lambda *x: carafe(*x, 3, 2, 2).sum(), (features, masks))


LOGITS = torch.tensor([[0.0, 2.0], [-1.0, 30.0], [0.5, -40.0]], dtype=torch.float64)
TARGET = torch.tensor([0, 1, 2])  # 2 = background


def test_focal_loss_by_hand():
    # p = 1/2: the hit costs .25 (1/2)² ln 2, the miss .75 (1/2)² ln 2.
    loss = sigmoid_focal_loss(torch.zeros(1, 2), torch.tensor([0]), 2.0, 0.25, None, "none")
    assert loss[0].tolist() == pytest.approx([0.0625 * math.log(2), 0.1875 * math.log(2)])


def test_focal_loss_equals_the_python_version_of_mmdet():
    from mmdet.models.losses.focal_loss import py_sigmoid_focal_loss

    hot = torch.nn.functional.one_hot(TARGET, 3)[:, :2].double()
    expected = py_sigmoid_focal_loss(LOGITS, hot, reduction="none")
    loss = sigmoid_focal_loss(LOGITS, TARGET, 2.0, 0.25, None, "none")
    torch.testing.assert_close(loss, expected)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_focal_loss_has_its_gradient(reduction):
    logits = LOGITS.clone().requires_grad_()
    assert torch.autograd.gradcheck(
        lambda x: sigmoid_focal_loss(x, TARGET, 1.5, 0.3, None, reduction).sum(), (logits,)
    )


def test_class_weights_of_the_focal_loss_are_refused():
    with pytest.raises(MissingOperator, match="class weights"):
        sigmoid_focal_loss(LOGITS, TARGET, 2.0, 0.25, torch.ones(2).double(), "none")
