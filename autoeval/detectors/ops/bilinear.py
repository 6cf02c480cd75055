"""Bilinear samples of feature maps at any place."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import grid_sample, pad


def sample(maps: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Interpolate between the four nearest pixels, whose centres lie at whole numbers.

    Beyond its edges a map is 0. At whole numbers the derivative by the place is the one to the
    right, and 0 at -1, as in mmcv. torch wants places as fractions of the map, and rounding on the
    way there and back could step over a whole number: maps whose sides are powers of two round
    nothing.

    Parameters
    ----------
    maps : Tensor of shape (N, C, H, W)
        Feature maps.
    x, y : Tensor of shape (N, P, Q)
        Places in pixels of the maps.

    Returns
    -------
    Tensor of shape (N, C, P, Q)
    """
    height, width = (_power_of_two(side) for side in maps.shape[2:])
    grid = torch.stack([(2 * x + 1) / width - 1, (2 * y + 1) / height - 1], dim=-1)
    maps = pad(maps, (0, width - maps.shape[3], 0, height - maps.shape[2]))
    found = grid_sample(maps, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
    return found * ((x > -1) & (y > -1))[:, None]


def _power_of_two(number: int) -> int:
    """Return the smallest one that is not less."""
    return 1 << (number - 1).bit_length()
