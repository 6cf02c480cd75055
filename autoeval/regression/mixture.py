"""A mixture of normal distributions, for many quantities at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

HALVINGS = 50


@dataclass(frozen=True, eq=False)
class Mixture:
    """G normal distributions of each of N quantities, with one set of weights.

    Parameters
    ----------
    weights : ndarray of shape (G,)
        They add up to 1.
    means, stds : ndarray of shape (G, N)

    Examples
    --------
    >>> two = Mixture(np.array([.5, .5]), np.array([[-1.], [1.]]), np.ones((2, 1)))
    >>> float(two.mean[0]), round(float(two.std[0]), 4), abs(round(float(two.quantile(.5)[0]), 6))
    (0.0, 1.4142, 0.0)
    """

    weights: np.ndarray
    means: np.ndarray
    stds: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        """Mean of each quantity, (N,)."""
        return self.weights @ self.means

    @property
    def std(self) -> np.ndarray:
        """Standard deviation of each quantity, (N,)."""
        return np.sqrt(self.weights @ (self.stds**2 + (self.means - self.mean) ** 2))

    def blurred(self, std: float | np.ndarray) -> Mixture:
        """Add an independent error to each quantity, of one standard deviation or of (N,)."""
        return Mixture(self.weights, self.means, np.hypot(self.stds, std))

    def shifted(self, by: np.ndarray) -> Mixture:
        """Add something that is known, (N,), to each quantity."""
        return Mixture(self.weights, self.means + by, self.stds)

    def cdf(self, values: np.ndarray) -> np.ndarray:
        """Probability of each quantity to be below its value, (N,)."""
        return self.weights @ ndtr((values - self.means) / self.stds)

    def quantile(self, probability: float) -> np.ndarray:
        """Value that each quantity is below with a probability, (N,), by bisection."""
        low, high = (self.means - 9 * self.stds).min(0), (self.means + 9 * self.stds).max(0)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            below = self.cdf(middle) < probability
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return (low + high) / 2
