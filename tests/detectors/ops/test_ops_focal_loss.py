"""Sigmoid focal loss against hand-worked values, mmdet's python version and numeric gradients."""

import math

import pytest
import torch

from autoeval.detectors import ops
from autoeval.detectors.ops.support import MissingOperator

ops.register()
from mmcv.ops import sigmoid_focal_loss  # noqa: E402

LOGITS = torch.tensor([[0.0, 2.0], [-1.0, 30.0], [0.5, -40.0]], dtype=torch.float64)
TARGET = torch.tensor([0, 1, 2])  # 2 = background


def test_by_hand():
    # p = 1/2: the hit costs .25 (1/2)² ln 2, the miss .75 (1/2)² ln 2.
    loss = sigmoid_focal_loss(torch.zeros(1, 2), torch.tensor([0]), 2.0, 0.25, None, "none")
    assert loss[0].tolist() == pytest.approx([0.0625 * math.log(2), 0.1875 * math.log(2)])


def test_equals_the_python_version_of_mmdet():
    from mmdet.models.losses.focal_loss import py_sigmoid_focal_loss

    hot = torch.nn.functional.one_hot(TARGET, 3)[:, :2].double()
    expected = py_sigmoid_focal_loss(LOGITS, hot, reduction="none")
    loss = sigmoid_focal_loss(LOGITS, TARGET, 2.0, 0.25, None, "none")
    torch.testing.assert_close(loss, expected)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_gradient(reduction):
    logits = LOGITS.clone().requires_grad_()
    assert torch.autograd.gradcheck(
        lambda x: sigmoid_focal_loss(x, TARGET, 1.5, 0.3, None, reduction).sum(), (logits,)
    )


def test_class_weights_are_refused():
    with pytest.raises(MissingOperator, match="class weights"):
        sigmoid_focal_loss(LOGITS, TARGET, 2.0, 0.25, torch.ones(2).double(), "none")
