"""What operators share: refusals, gradients of formulas, bilinear samples, torchvision's ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import grid_sample, pad

from autoeval.errors import InputError


class MissingOperator(InputError):
    """An operator of mmcv that the stand-in does not supply."""


def gradients(
    formula: Callable[..., Tensor], inputs: Sequence[Tensor], grad_output: Tensor
) -> tuple[Tensor, ...]:
    """Return the gradient of each input of a formula, zeros where it does not depend on one.

    The formula is run again, so nothing has to be kept since it was run first.
    """
    with torch.enable_grad():
        leaves = [tensor.detach().requires_grad_() for tensor in inputs]
        output = formula(*leaves)
        grad_output = grad_output.to(output.dtype)
        grads = torch.autograd.grad(output, leaves, grad_output, allow_unused=True)
    return tuple(
        torch.zeros_like(tensor) if grad is None else grad
        for tensor, grad in zip(inputs, grads, strict=True)
    )


def write_gradients(
    formula: Callable[..., Tensor],
    inputs: Sequence[Tensor],
    grad_output: Tensor,
    wanted: Sequence[Tensor],
) -> None:
    """Write the gradients of the inputs of a formula into tensors of their shapes."""
    for place, grad in zip(wanted, gradients(formula, inputs, grad_output), strict=True):
        place.copy_(grad)


def at_least_float(tensor: Tensor) -> Tensor:
    """Return float16 and bfloat16 as float32: sums of theirs would lose what they add."""
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


@cache
def torchvision_ops(device_type: str) -> Any | None:
    """Return ``torch.ops.torchvision`` when it works for tensors on this kind of device, else None.

    A torchvision built for another torch may fail to import with a RuntimeError, or import and then
    lack its kernels; a trial call on one box finds out.
    """
    try:
        import torchvision  # noqa: F401

        box = torch.tensor([[0.0, 0.0, 1.0, 1.0]], device=device_type)
        torch.ops.torchvision.nms(box, box[:, 3], 0.5)
    except (ImportError, RuntimeError, AttributeError):
        return None
    return torch.ops.torchvision


def sample(maps: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Interpolate maps (N, C, H, W) at x, y (N, P, Q) in their pixels, (N, C, P, Q).

    The centres of pixels lie at whole numbers, and beyond its edges a map is 0. At whole numbers
    the derivative by the place is the one to the right, and 0 at -1, as in mmcv. torch wants places
    as fractions of the map, and rounding on the way there and back could step over a whole number:
    maps whose sides are powers of two round nothing.
    """
    height = 1 << (maps.shape[2] - 1).bit_length()
    width = 1 << (maps.shape[3] - 1).bit_length()
    grid = torch.stack([(2 * x + 1) / width - 1, (2 * y + 1) / height - 1], dim=-1)
    maps = pad(maps, (0, width - maps.shape[3], 0, height - maps.shape[2]))
    samples = grid_sample(maps, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
    return samples * ((x > -1) & (y > -1))[:, None]
