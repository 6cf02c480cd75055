"""Pairs of place and category as arrays: what the regression is fitted on and asked about."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np


@dataclass(frozen=True, eq=False)
class Pairs:
    """N pairs of a place and a category, with P scores each.

    Parameters
    ----------
    x : ndarray of shape (N, P), float64
        Scores, finite.
    sampling : ndarray of shape (N,)
        Variance of the accuracy because images are few, in squared units of accuracy.
    family, place, category : ndarray of shape (N,), int64 or str
        Names; equal ones share an effect. Families hold places.

    Raises
    ------
    ValueError
        If the arrays do not describe the same N pairs, or a score or variance is not finite.
    """

    x: np.ndarray
    sampling: np.ndarray
    family: np.ndarray
    place: np.ndarray
    category: np.ndarray

    def __post_init__(self) -> None:
        n = len(self.sampling)
        shapes = {field.name: np.shape(getattr(self, field.name)) for field in fields(self)}
        if np.ndim(self.x) != 2 or any(shape[:1] != (n,) for shape in shapes.values()):
            raise ValueError(f"Expected arrays of the same N pairs, `x` (N, P), got {shapes}.")
        if not (np.isfinite(self.x).all() and np.isfinite(self.sampling).all()):
            raise ValueError("Expected finite scores and sampling variances of all pairs.")

    def __len__(self) -> int:
        return len(self.sampling)

    def __getitem__(self, index: np.ndarray | slice) -> Pairs:
        """Take the pairs that a mask or an index selects."""
        return Pairs(*(getattr(self, field.name)[index] for field in fields(self)))


def same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Say which of N names equal which of M, shape (N, M), bool."""
    return np.asarray(a, object)[:, None] == np.asarray(b, object)[None, :]
