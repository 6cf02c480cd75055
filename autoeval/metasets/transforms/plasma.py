"""Plasma: clouds of random brightness, the same in kind at every scale."""

from __future__ import annotations

import numpy as np


def plasma(size: tuple[int, int], rng: np.random.Generator, *, decay: float) -> np.ndarray:
    """Refine a coarse random field again and again, disturbing it less each time.

    Parameters
    ----------
    size : tuple of int
        Height and width, pixels. The coarsest features span the longer side.
    rng : Generator
    decay : float
        By what the disturbance shrinks when the grid's spacing is halved: 1 gives white noise,
        large values a smooth field.

    Returns
    -------
    ndarray of shape (height, width), float32
        Between 0 and 1, both ends reached (0 everywhere for one pixel).

    References
    ----------
    Random midpoint displacement with successive additions (Saupe, "The Science of Fractal Images",
    1988, section 2.3).
    """
    n_levels = (max(size) - 1).bit_length()
    field = rng.random((2, 2), dtype=np.float32)
    for level in range(1, n_levels + 1):
        spacing = 2 ** (n_levels - level)
        field = _midpoints(field)[: -(-size[0] // spacing) + 1, : -(-size[1] // spacing) + 1]
        field += rng.random(field.shape, dtype=np.float32) * np.float32(decay**-level)
    field = field[: size[0], : size[1]]
    field = field - field.min()
    return field / (field.max() or np.float32(1))


def _midpoints(field: np.ndarray) -> np.ndarray:
    """Put a point between any two neighbours, at their mean."""
    height, width = field.shape
    fine = np.empty((2 * height - 1, 2 * width - 1), np.float32)
    fine[::2, ::2] = field
    fine[1::2, ::2] = (field[1:] + field[:-1]) / 2
    fine[:, 1::2] = (fine[:, 2::2] + fine[:, :-1:2]) / 2
    return fine
