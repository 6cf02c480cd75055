"""Pairs of place and category as arrays: what the regression is fitted on and asked about."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np


@dataclass(frozen=True, eq=False)
class Pairs:
    """N pairs of a place and a category, with P scores each.

    x (N, P), float64: scores, finite.
    sampling (N,): variance of the accuracy because images are few, in squared units of accuracy.
    family, place, category (N,), int64 or str: names; equal ones share an effect. Families hold
        places.
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


@dataclass(frozen=True, eq=False)
class Scaling:
    r"""Location and scale of P scores, learned with some trust in a first guess.

    .. math:: m' = \frac{k m_0 + \sum_i x_i}{k + n}, \quad
              s'^2 = \frac{k s_0^2 + \sum_i (x_i - m')^2}{k + n}

    so that a handful of pairs that happen to be alike cannot make a small difference look great.

    location, scale (P,): m0 and s0; scales above 0.
    weight: k, the number of pairs that the guess counts as.

    >>> guess = Scaling(np.array([.3]), np.array([.2]), weight=2)
    >>> learned = guess.learn(np.array([[.5], [.5]]))
    >>> learned.location, learned.scale.round(4), learned.apply(np.array([[.4]])).round(3)
    (array([0.4]), array([0.1581]), array([[0.]]))
    """

    location: np.ndarray
    scale: np.ndarray
    weight: float = 10.0

    def learn(self, x: np.ndarray) -> Scaling:
        """Return the location and scale after N pairs (N, P)."""
        total = self.weight + len(x)
        location = (self.weight * self.location + x.sum(axis=0)) / total
        squares = self.weight * self.scale**2 + ((x - location) ** 2).sum(axis=0)
        return Scaling(location, np.sqrt(squares / total), total)

    def apply(self, x: np.ndarray) -> np.ndarray:
        """Express scores (N, P) in their scale."""
        return (x - self.location) / self.scale
