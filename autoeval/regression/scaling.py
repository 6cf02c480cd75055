"""Units of scores: where the middle of each lies and how far it usually strays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Scaling:
    r"""Location and scale of P scores, learned with some trust in a first guess.

    .. math:: m' = \frac{k m_0 + \sum_i x_i}{k + n}, \quad
              s'^2 = \frac{k s_0^2 + \sum_i (x_i - m')^2}{k + n}

    so that a handful of pairs that happen to be alike cannot make a small difference look great.

    Parameters
    ----------
    location, scale : ndarray of shape (P,)
        m0 and s0; scales above 0.
    weight : float
        k, the number of pairs that the guess counts as.

    Examples
    --------
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
