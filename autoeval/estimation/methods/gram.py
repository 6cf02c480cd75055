"""Weighted least squares from sums of products, which subsets of rows and columns share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Gram:
    """Normal equations of weighted least squares, for each of S groups of rows.

    Parameters
    ----------
    products : ndarray of shape (S, P, P)
        Sums of w x xᵀ.
    moments : ndarray of shape (S, P)
        Sums of w x y.
    """

    products: np.ndarray
    moments: np.ndarray

    @classmethod
    def of(
        cls, x: np.ndarray, y: np.ndarray, weights: np.ndarray, groups: np.ndarray, n_groups: int
    ) -> Gram:
        """Sum over the rows of each group.

        Parameters
        ----------
        x : ndarray of shape (N, P)
        y, weights : ndarray of shape (N,)
        groups : ndarray of shape (N,), int
            In 0 to ``n_groups`` - 1.
        n_groups : int
        """
        parts = [groups == g for g in range(n_groups)]
        weighted = x * weights[:, None]
        products = np.array([weighted[part].T @ x[part] for part in parts])
        moments = np.array([weighted[part].T @ y[part] for part in parts])
        return cls(products, moments)

    def solve(self, columns: np.ndarray, ridge: float) -> tuple[np.ndarray, np.ndarray]:
        """Fit many sets of columns, on all groups and on all but each.

        Parameters
        ----------
        columns : ndarray of shape (B, k), int
        ridge : float
            Added to the diagonal, so that columns that repeat each other still have a solution.

        Returns
        -------
        whole : ndarray of shape (B, k)
            Coefficients on all groups.
        without : ndarray of shape (S, B, k)
            Coefficients on all groups but one.
        """
        total = Gram(self.products.sum(0)[None], self.moments.sum(0)[None])
        rest = Gram(total.products - self.products, total.moments - self.moments)
        return total._solve(columns, ridge)[0], rest._solve(columns, ridge)

    def _solve(self, columns: np.ndarray, ridge: float) -> np.ndarray:
        a = self.products[:, columns[:, :, None], columns[:, None, :]]
        b = self.moments[:, columns]
        a = a + ridge * np.eye(columns.shape[1])
        return np.linalg.solve(a, b[..., None])[..., 0]
