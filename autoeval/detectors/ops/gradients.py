"""Gradients of an operator from its formula, by torch's own differentiation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor


def gradients(
    formula: Callable[..., Tensor], inputs: Sequence[Tensor], grad_output: Tensor
) -> tuple[Tensor, ...]:
    """Return the gradient of each input of a formula, zeros where it does not depend on one.

    The formula is run again, so nothing has to be kept since it was run first.

    Parameters
    ----------
    formula : callable
        Takes the inputs and returns a tensor, by differentiable steps.
    inputs : sequence of Tensor
    grad_output : Tensor
        Of the shape that the formula returns.
    """
    with torch.enable_grad():
        leaves = [each.detach().requires_grad_() for each in inputs]
        found = torch.autograd.grad(formula(*leaves), leaves, grad_output, allow_unused=True)
    return tuple(
        torch.zeros_like(each) if grad is None else grad
        for each, grad in zip(inputs, found, strict=True)
    )


def at_least_float(tensor: Tensor) -> Tensor:
    """Return float16 and bfloat16 as float32: sums of theirs would lose what they add."""
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor
