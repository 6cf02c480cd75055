r"""The likelihood of slopes that differ by family and kind, from sums of products alone.

Rows of one family f and kind k are a block, of which

.. math:: G = X^T X, \quad h = X^T y, \quad q = y^T y

and the number of rows are all that counts: with noise :math:`\sigma^2` and slopes of the block with
variance :math:`\tau^2`, :math:`X^T V^{-1} X = M^{-1} G`, :math:`X^T V^{-1} y = M^{-1} h` and
:math:`\det V = \sigma^{2(n - P)} \det M` with :math:`M = \sigma^2 I + \tau^2 G`
(Rasmussen & Williams 2006, appendix A.3). What blocks share, (b, b_f, b_k), is then a regression of
P (1 + F + K) unknowns, however many rows there are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class Blocks:
    """Sums over the rows of each of B blocks, of F families and K kinds.

    Parameters
    ----------
    family, kind : ndarray of shape (B,), int
        From 0 on.
    products : ndarray of shape (B, P, P)
        The G of this module.
    moments : ndarray of shape (B, P)
        Its h.
    squares, n_rows : ndarray of shape (B,)
        Its q, and the number of rows.
    """

    family: np.ndarray
    kind: np.ndarray
    products: np.ndarray
    moments: np.ndarray
    squares: np.ndarray
    n_rows: np.ndarray

    @classmethod
    def of(cls, x: np.ndarray, y: np.ndarray, family: np.ndarray, kind: np.ndarray) -> Self:
        """Sum up rows: x (N, P), y (N,), and family and kind (N,) of each."""
        families, kinds = (np.unique(names, return_inverse=True)[1] for names in (family, kind))
        several = int(kinds.max()) + 1
        blocks, at = np.unique(families * several + kinds, return_inverse=True)
        rows = [np.flatnonzero(at == k) for k in range(len(blocks))]
        return cls(
            blocks // several,
            blocks % several,
            np.array([x[own].T @ x[own] for own in rows]),
            np.array([x[own].T @ y[own] for own in rows]),
            np.array([y[own] @ y[own] for own in rows]),
            np.array([len(own) for own in rows]),
        )

    def solved(self, stds: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the posterior of the shared slopes, and the negative log-likelihood of all rows.

        Parameters
        ----------
        stds : ndarray of shape (5,)
            Standard deviations of slopes (shared, of a family, of a kind, of both), and of noise.

        Returns
        -------
        mean, covariance : ndarray of shape (P,) and (P, P)
        loss : float
            Negative logarithm of the likelihood, up to a constant.
        """
        n_slopes = self.moments.shape[1]
        both, noise = stds[3:] ** 2
        inner = noise * np.eye(n_slopes) + both * self.products
        solved = np.linalg.solve(inner, np.dstack([self.products, self.moments]))
        precision, pull = solved[..., :-1], solved[..., -1]
        priors, joined, pulled = self._joined(precision, pull, stds[:3] ** 2)
        factor = cho_factor(joined, lower=True)
        found = cho_solve(factor, pulled)
        squares = (self.squares - both * (self.moments * pull).sum(axis=1)).sum() / noise
        volume = ((self.n_rows - n_slopes) * np.log(noise) + np.linalg.slogdet(inner)[1]).sum()
        volume += 2 * np.log(np.diag(factor[0])).sum() + np.log(priors).sum()
        first = np.eye(len(joined), n_slopes)
        covariance = cho_solve(factor, first)[:n_slopes]
        return found[:n_slopes], covariance, float(squares - pulled @ found + volume) / 2

    def _joined(
        self, precision: np.ndarray, pull: np.ndarray, variances: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return prior variances (U,), precision (U, U) and pull (U,) of (b, b_f, b_k)."""
        n_families, n_kinds = int(self.family.max()) + 1, int(self.kind.max()) + 1
        n, size = 1 + n_families + n_kinds, pull.shape[1]
        first = np.zeros_like(self.family)
        at = first, 1 + self.family, 1 + n_families + self.kind
        together, pulled = np.zeros((n, n, size, size)), np.zeros((n, size))
        for a in at:
            np.add.at(pulled, a, pull)
            for b in at:
                np.add.at(together, (a, b), precision)
        priors = np.repeat(variances, [size, size * n_families, size * n_kinds])
        joined = together.swapaxes(1, 2).reshape(n * size, n * size) + np.diag(1 / priors)
        return priors, (joined + joined.T) / 2, pulled.ravel()
