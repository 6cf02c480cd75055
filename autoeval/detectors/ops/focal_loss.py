"""Focal losses of sigmoids and of a softmax over classes, and their gradients.

Lin et al., "Focal Loss for Dense Object Detection", 2017, equation 5; the loss of a row of the
softmax whose class has probability p is ``-alpha (1 - p)^gamma log p``.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from autoeval.detectors.ops.support import MissingOperator


def sigmoid_focal_loss_forward(
    input: Tensor, target: Tensor, weight: Tensor, output: Tensor, *, gamma: float, alpha: float
) -> None:
    """Write the loss of every logit (N, C) into ``output``.

    `target` (N,) is the class of each row; any value outside 0 ... C-1 is background. Raises
    `MissingOperator` if there are class weights, of which mmdet passes none.
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


def softmax_focal_loss_forward(
    softmax: Tensor, target: Tensor, weight: Tensor, output: Tensor, *, gamma: float, alpha: float
) -> None:
    """Write the loss of every row of probabilities (N, C) into ``output`` (N,).

    `target` (N,) is the class of each row; a negative one makes the loss 0. `weight` (C,) or (0,)
    is a factor on the loss of each class, `alpha` one on all.
    """
    p = _of_target(softmax, target)
    output.copy_(-alpha * (1 - p) ** gamma * _log(p) * _factor(target, weight, p))


def softmax_focal_loss_backward(*tensors: Tensor, gamma: float, alpha: float) -> None:
    """Write the derivative of every loss by the logits of its row into the last (N, C)."""
    softmax, target, weight, buff, grad_input = tensors
    p = _of_target(softmax, target)
    steep = gamma * p * (1 - p) ** (gamma - 1) * _log(p) - (1 - p) ** gamma
    buff.copy_(alpha * steep * _factor(target, weight, p))
    classes = torch.arange(softmax.shape[1], device=softmax.device)
    hit = (target[:, None] == classes).to(softmax.dtype)
    grad_input.copy_(buff[:, None] * (hit - softmax))


def _of_target(softmax: Tensor, target: Tensor) -> Tensor:
    return softmax.gather(1, target.clamp(min=0)[:, None])[:, 0]


def _log(p: Tensor) -> Tensor:
    return p.clamp(min=torch.finfo(p.dtype).tiny).log()


def _factor(target: Tensor, weight: Tensor, like: Tensor) -> Tensor:
    """Return what multiplies each row's loss, 0 for rows without a class."""
    factor = weight[target.clamp(min=0)] if weight.numel() else torch.ones_like(like)
    return factor * (target >= 0)
