"""Corruptions: transforms whose magnitude is a severity from 1 to 5 (Hendrycks & Dietterich 2019).

"Benchmarking Neural Network Robustness to Common Corruptions and Perturbations", ICLR 2019. What a
severity means is a table of five rows beside each corruption; where it is the published one, the
corruption's docstring says so. Sizes in pixels are published for images of 224 pixels and used
unchanged on larger ones, as Michaelis et al. 2019 do for detectors ("Benchmarking Robustness in
Object Detection").

Arithmetic is on integers, or on floating-point numbers in an order that numpy fixes, so that every
processor gives the same pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from autoeval.errors import InputError
from autoeval.metasets.transforms.base import Transform, register


def register_corruption(
    name: str,
    change: Callable[..., np.ndarray],
    table: Sequence[dict[str, Any]],
    *,
    move: Callable[..., np.ndarray] | None = None,
) -> str:
    """Make a corruption known to recipes.

    Parameters
    ----------
    name : str
        Name used in recipes.
    change : callable
        Takes an image (H, W, 3) uint8 BGR, a generator and the keywords of one row of ``table``;
        returns a new image of the same shape and type.
    table : sequence of dict
        One row for each severity, the mildest first.
    move : callable, optional
        Takes boxes (N, 4) xyxy pixels, (height, width) and the same keywords; returns the moved
        boxes. None where objects stay in their place.

    Returns
    -------
    str
        The name.
    """
    row = partial(_row, name, table)

    def change_at(image: np.ndarray, severity: float, rng: np.random.Generator) -> np.ndarray:
        return change(image, rng, **row(severity))

    def move_at(boxes: np.ndarray, severity: float, size: tuple[int, int]) -> np.ndarray:
        assert move is not None
        return move(boxes, size, **row(severity))

    low, high = 1, len(table)
    move_if_any = None if move is None else move_at
    return register(Transform(name, low, high, 1, "severity", change_at, move_if_any)).name


def _row(name: str, table: Sequence[dict[str, Any]], severity: float) -> dict[str, Any]:
    if severity not in range(1, len(table) + 1):
        raise InputError(
            f"{name} expects a whole number from 1 to {len(table)} as its severity, "
            f"got {severity:g}: correct the recipe."
        )
    return table[int(severity) - 1]


def rows(**columns: Sequence[Any]) -> list[dict[str, Any]]:
    """Turn columns of a table into its rows.

    Examples
    --------
    >>> rows(radius=[3, 4], sigma=[0.1, 0.5])
    [{'radius': 3, 'sigma': 0.1}, {'radius': 4, 'sigma': 0.5}]
    """
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


def to_bytes(values: np.ndarray) -> np.ndarray:
    """Round to whole numbers and clip to 0..255."""
    whole = np.rint(values)
    return np.clip(whole, 0, 255, out=whole).astype(np.uint8)
