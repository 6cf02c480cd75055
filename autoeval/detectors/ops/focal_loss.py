"""Sigmoid focal loss and its gradient.

Lin et al., "Focal Loss for Dense Object Detection", 2017, equation 5.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from autoeval.detectors.ops.needs import MissingOperator


def sigmoid_focal_loss_forward(
    input: Tensor, target: Tensor, weight: Tensor, output: Tensor, *, gamma: float, alpha: float
) -> None:
    """Write the loss of every logit into ``output``.

    Parameters
    ----------
    input : Tensor of shape (N, C)
        Logits.
    target : Tensor of shape (N,), int64
        Class of each row; any value outside 0 ... C-1 is background.
    weight : Tensor of shape (0,)
        Class weights, which are not supported: mmdet passes none.
    output : Tensor of shape (N, C)
        Receives the loss.
    gamma, alpha : float
        Focusing exponent and weight of the positive class.

    Raises
    ------
    MissingOperator
        If class weights are given.
    """
    positive = _positive(input, target, weight)
    p = input.sigmoid()
    hit = -alpha * (1 - p) ** gamma * logsigmoid(input)
    miss = -(1 - alpha) * p**gamma * logsigmoid(-input)
    output.copy_(torch.where(positive, hit, miss))


def sigmoid_focal_loss_backward(
    input: Tensor, target: Tensor, weight: Tensor, grad_input: Tensor, *, gamma: float, alpha: float
) -> None:
    """Write the derivative of every loss by its logit into ``grad_input`` (N, C)."""
    positive = _positive(input, target, weight)
    p = input.sigmoid()
    hit = -alpha * (1 - p) ** gamma * (1 - p - gamma * p * logsigmoid(input))
    miss = (1 - alpha) * p**gamma * (p - gamma * (1 - p) * logsigmoid(-input))
    grad_input.copy_(torch.where(positive, hit, miss))


def _positive(input: Tensor, target: Tensor, weight: Tensor) -> Tensor:
    """Return the mask (N, C) of the logits that belong to their row's class."""
    if weight.numel():
        raise MissingOperator(
            "sigmoid_focal_loss with class weights needs mmcv's compiled extension; "
            "pass `weight=None` or compile mmcv."
        )
    return target[:, None] == torch.arange(input.shape[1], device=input.device)
