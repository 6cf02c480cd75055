"""Focal loss of a softmax over classes, and its gradient.

The loss of a row whose class has probability p is ``-alpha (1 - p)^gamma log p``: Lin et al.,
"Focal Loss for Dense Object Detection", 2017, equation 5, with a softmax for the sigmoid.
"""

from __future__ import annotations

import torch
from torch import Tensor


def softmax_focal_loss_forward(
    softmax: Tensor, target: Tensor, weight: Tensor, output: Tensor, *, gamma: float, alpha: float
) -> None:
    """Write the loss of every row into ``output``.

    Parameters
    ----------
    softmax : Tensor of shape (N, C)
        Probabilities.
    target : Tensor of shape (N,), int64
        Class of each row; a negative one makes the loss 0.
    weight : Tensor of shape (C,) or (0,)
        Factor on the loss of each class, if any.
    output : Tensor of shape (N,)
    gamma, alpha : float
        Focusing exponent and common factor.
    """
    p = _of_target(softmax, target)
    output.copy_(-alpha * (1 - p) ** gamma * _log(p) * _factor(target, weight, p))


def softmax_focal_loss_backward(
    softmax: Tensor,
    target: Tensor,
    weight: Tensor,
    buff: Tensor,
    grad_input: Tensor,
    *,
    gamma: float,
    alpha: float,
) -> None:
    """Write the derivative of every loss by the logits of its row into ``grad_input`` (N, C)."""
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
