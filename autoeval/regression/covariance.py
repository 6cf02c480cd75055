"""Covariance of accuracies before any is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autoeval.regression.pairs import Pairs, same
from autoeval.regression.variances import Variances


@dataclass(frozen=True, eq=False)
class Shared:
    """What N pairs have in common with M others: everything but the variances.

    Parameters
    ----------
    line : ndarray of shape (N, M)
        Products of scores, in units of their scale.
    family, place, category, pair : ndarray of shape (N, M)
        1 where they share one, else 0. A pair is shared by other images of a place and category.
    """

    line: np.ndarray
    family: np.ndarray
    place: np.ndarray
    category: np.ndarray
    pair: np.ndarray

    @classmethod
    def of(cls, a: Pairs, b: Pairs, x: tuple[np.ndarray, np.ndarray]) -> Shared:
        """Compare pairs, given scaled scores `x` (N, P) and (M, P)."""
        family = same(a.family, b.family)
        place = family & same(a.place, b.place)
        category = same(a.category, b.category)
        line, pair = x[0] @ x[1].T, place & category
        return cls(line, 1.0 * family, 1.0 * place, 1.0 * category, 1.0 * pair)

    def covariance(self, variances: Variances, intercept: float) -> np.ndarray:
        """Return the covariance (N, M), without what each pair has on its own.

        Parameters
        ----------
        variances : Variances
        intercept : float
            Variance of the intercept.
        """
        return (
            intercept
            + variances.slope * self.line
            + (variances.family + variances.bending * self.line) * self.family
            + variances.place * self.place
            + variances.category * self.category
        )
