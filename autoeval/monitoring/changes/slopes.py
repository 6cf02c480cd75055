r"""Regression of a change on changes of scores and signals, with slopes that differ by origin.

.. math:: y_i = x_i^T (b + b_{f(i)} + b_{k(i)} + b_{f(i) k(i)}) + e_i

for row i of family f (places of one origin) and kind of change k. There is no intercept: where
nothing moved, nothing is told. All slopes are normal with mean 0 and one variance each for the
shared ones, those of families, of kinds, and of a kind in a family (a mixed model: Laird & Ware
1982), for x in units of its root mean square; e is normal. The five variances maximise the marginal
likelihood times a log-normal prior (Rasmussen & Williams 2006, section 5.4.1). What families and
kinds do not share is how far a new family, under a kind of change that nobody has seen, strays:
the interval widens with every signal that moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from typing_extensions import Self

from autoeval.errors import InputError

GUESS = np.log([0.03, 0.015, 0.015, 0.015, 0.03])  # shared, family, kind, both; noise
WIDTH = 1.0  # standard deviation of the logarithms of standard deviations
FURTHEST = 4.0  # from the guess that is looked for
FEWEST = 8


@dataclass(frozen=True, eq=False)
class Slopes:
    """What a change of P quantities says of the change of accuracy, with its uncertainty.

    Parameters
    ----------
    mean : ndarray of shape (P,)
        Of the shared slopes, per unit of each quantity.
    covariance : ndarray of shape (P, P)
        Of the slopes of a new family under a new kind of change.
    noise : float
        Standard deviation of what the quantities do not tell.
    widening : float
        Factor of standard deviations, by which intervals cover as often as they say where families
        and kinds are left out.
    """

    mean: np.ndarray
    covariance: np.ndarray
    noise: float
    widening: float = 1.0

    def predict(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and standard deviation (N,) of the changes, given x (N, P)."""
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


def fit_slopes(
    x: np.ndarray,
    y: np.ndarray,
    family: np.ndarray,
    kind: np.ndarray,
    *,
    logs: np.ndarray | None = None,
) -> Slopes:
    """Fit the regression of this module.

    Parameters
    ----------
    x : ndarray of shape (N, P)
        Changes of scores and signals.
    y : ndarray of shape (N,)
        Change of accuracy.
    family, kind : ndarray of shape (N,)
        Of each row.
    logs : ndarray of shape (5,), optional
        Logarithms of the standard deviations, where they are known already.

    Raises
    ------
    InputError
        If there are fewer than eight rows.
    """
    if len(x) < FEWEST:
        raise InputError(
            f"Expected at least {FEWEST} changes whose effect is known, to fit slopes, but got "
            f"{len(x)}: add labelled places."
        )
    scale = np.sqrt((x**2).mean(axis=0))
    scale[scale == 0] = np.inf  # a quantity that never moved says nothing
    z = x / scale
    same = _Same.of(z, family, kind)
    if logs is None:
        logs = _best_deviations(same, y)
    stds = np.exp(logs)
    factor = cho_factor(same.covariance(stds))
    reach = stds[0] ** 2 * z
    mean = reach.T @ cho_solve(factor, y)
    shared = stds[0] ** 2 * np.eye(z.shape[1]) - reach.T @ cho_solve(factor, reach)
    own = (stds[1:4] ** 2).sum() * np.eye(z.shape[1])
    return Slopes(mean / scale, (shared + own) / np.outer(scale, scale), float(stds[4]))


def fit_deviations(
    x: np.ndarray, y: np.ndarray, family: np.ndarray, kind: np.ndarray
) -> np.ndarray:
    """Return the logarithms of the five standard deviations, for `fit_slopes`."""
    scale = np.sqrt((x**2).mean(axis=0))
    scale[scale == 0] = np.inf
    return _best_deviations(_Same.of(x / scale, family, kind), y)


def _best_deviations(same: _Same, y: np.ndarray) -> np.ndarray:
    bounds = [(guess - FURTHEST, guess + FURTHEST) for guess in GUESS]
    found = minimize(_loss, GUESS, args=(same, y), method="L-BFGS-B", bounds=bounds, tol=1e-4)
    return found.x


@dataclass(frozen=True, eq=False)
class _Same:
    """Products of the quantities of two rows, where both are of one family, kind, or both."""

    products: np.ndarray
    family: np.ndarray
    kind: np.ndarray

    @classmethod
    def of(cls, z: np.ndarray, family: np.ndarray, kind: np.ndarray) -> _Same:
        of_family, of_kind = (np.equal.outer(k, k) for k in (np.asarray(family), np.asarray(kind)))
        return cls(z @ z.T, of_family.astype(float), of_kind.astype(float))

    def covariance(self, stds: np.ndarray) -> np.ndarray:
        shared, family, kind, both, noise = stds**2
        slopes = shared + family * self.family + kind * self.kind + both * self.family * self.kind
        return self.products * slopes + noise * np.eye(len(self.products))


def _loss(logs: np.ndarray, same: _Same, y: np.ndarray) -> float:
    factor = cho_factor(same.covariance(np.exp(logs)), lower=True)
    likelihood = -0.5 * y @ cho_solve(factor, y) - np.log(np.diag(factor[0])).sum()
    return -likelihood + 0.5 * (((logs - GUESS) / WIDTH) ** 2).sum()
