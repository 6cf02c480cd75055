"""Slopes of a change of accuracy on changes of scores and signals, and what they predict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class Slopes:
    """Slopes of the change of accuracy on changes of P quantities, with their uncertainty.

    mean (P,): of the shared slopes, per unit of each quantity.
    covariance (P, P): of the slopes of a new group under a new kind of change.
    widening: factor of standard deviations that gives intervals their nominal coverage where
        groups and kinds are left out.
    """

    mean: np.ndarray
    covariance: np.ndarray
    noise: float
    widening: float = 1.0

    def predict(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and standard deviation (N,) of the changes, given x (N, P)."""
        # Bayesian linear regression (Rasmussen & Williams 2006, equation 2.9): uncertain slopes
        # count the more, the further a quantity moved; the noise counts always.
        variance = np.einsum("np,pq,nq->n", x, self.covariance, x) + self.noise**2
        return x @ self.mean, self.widening * np.sqrt(variance)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "mean": self.mean.tolist(),
            "covariance": self.covariance.tolist(),
            "noise": self.noise,
            "widening": self.widening,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote."""
        mean, covariance = np.array(values["mean"]), np.array(values["covariance"])
        return cls(mean, covariance, values["noise"], values["widening"])
