"""Predictive distributions, and intervals from them that stay inside the possible range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

HALVINGS = 50
WIDEST = 0.42


@dataclass(frozen=True, eq=False)
class Mixture:
    """G normal distributions of each of N quantities, with one set of weights.

    weights (G,): they add up to 1.
    means, stds (G, N)

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


@dataclass(frozen=True)
class PredictionInterval:
    """The prediction interval of one accuracy; NaN where it would be too wide.

    raw: mean of the distribution, which may lie outside [0, 1]; value: the nearest possible
        accuracy.
    lower, upper: interval in [0, 1], ``lower < upper`` but where the value is known by definition.
    reach: half the width of the interval before anything is cut off, and the distance of `raw` to
        the nearest possible accuracy.
    """

    raw: float
    value: float
    lower: float
    upper: float
    reach: float

    @property
    def outside(self) -> str:
        """``"below"`` or ``"above"`` the possible range, else empty."""
        return "below" if self.raw < 0 else "above" if self.raw > 1 else ""

    @property
    def refused(self) -> bool:
        """Whether the interval would be too wide to give one."""
        return self.value != self.value


def predict_intervals(predicted: Mixture, level: float = 0.9) -> list[PredictionInterval]:
    """Turn each quantity of a predictive distribution into a value and an interval.

    The interval reaches from the value as far as the distribution reaches from its mean, and is cut
    at 0 and 1. A mean outside shows that the line is off by at least its distance to the edge, so
    the interval from the edge inwards reaches that much further; no interval has width 0. Where it
    would reach further than `WIDEST` to each side, which is nearly everything, no value is given.

    >>> at = Mixture(np.ones(1), np.array([[.5, -.1, .5]]), np.array([[.1, .05, .4]]))
    >>> inside, below, wide = predict_intervals(at)
    >>> [(round(t.lower, 3), round(t.upper, 3), t.outside) for t in (inside, below)]
    [(0.336, 0.664, ''), (0.0, 0.182, 'below')]
    >>> wide.refused
    True
    """
    low, high = predicted.quantile((1 - level) / 2), predicted.quantile((1 + level) / 2)
    return [_interval(*ends) for ends in zip(predicted.mean, low, high, strict=True)]


def _interval(raw: float, low: float, high: float) -> PredictionInterval:
    value = float(np.clip(raw, 0, 1))
    off = abs(value - float(raw))
    reach = float(high - low) / 2 + off
    if not reach <= WIDEST:
        return PredictionInterval(float(raw), np.nan, np.nan, np.nan, reach)
    lower = max(value - float(raw - low) - off, 0.0)
    upper = min(value + float(high - raw) + off, 1.0)
    return PredictionInterval(float(raw), value, lower, upper, reach)
