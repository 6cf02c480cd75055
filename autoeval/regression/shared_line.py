r"""Joint draws of the accuracies of many new pairs, without their covariance.

In the model of `autoeval.regression.mixed_model` new pairs share the line and what is
particular to their categories, z = (a, b, w), with known pairs, and nothing else. Given those, z is
normal with mean :math:`B^T K^{-1} r` and covariance :math:`I - B^T K^{-1} B`, in units of its prior
standard deviations (Rasmussen & Williams 2006, section 2.1): B holds what each known pair has of z,
K is the covariance of the known pairs and r their residuals. What a family, a place and a pair have
on their own is drawn from its prior.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_solve

from autoeval.regression.pairs import Pairs
from autoeval.regression.variances import Variances

Solved = tuple[tuple[np.ndarray, bool], np.ndarray]


class SharedLine:
    """What M new pairs share with N known ones, none of the same family.

    Parameters
    ----------
    known, new : Pairs
    x : tuple of ndarray of shape (N, P) and (M, P)
        Their scores, in units of their scale.
    intercept_std : float
        Of the prior of the intercept.
    """

    def __init__(
        self, known: Pairs, new: Pairs, x: tuple[np.ndarray, np.ndarray], intercept_std: float
    ) -> None:
        self.new, self.x, self.intercept_std = new, x, intercept_std
        categories = np.array(sorted({*map(str, known.category), *map(str, new.category)}))
        self._of_category = [
            (p.category.astype(str)[:, None] == categories).astype(float) for p in (known, new)
        ]
        self._family = np.unique(new.family.astype(str), return_inverse=True)[1]
        places = [f"{f}\0{p}" for f, p in zip(new.family, new.place, strict=True)]
        self._place = np.unique(places, return_inverse=True)[1]

    def draw(
        self,
        variances: Variances,
        solved: Solved,
        *,
        draws: int,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """Draw how far the new pairs are from their prior means, shape (draws, M).

        Parameters
        ----------
        variances : Variances
        solved : tuple
            Cholesky factor of the covariance of the known pairs, and it solved for their residuals.
        draws : int
        rng : Generator
        """
        known, new = (self._shared(k, variances) for k in (0, 1))
        factor, coefficients = solved
        covariance = np.eye(known.shape[1]) - known.T @ cho_solve(factor, known)
        values, vectors = np.linalg.eigh(covariance)
        root = vectors * np.sqrt(np.maximum(values, 0))
        z = known.T @ coefficients + rng.standard_normal((draws, len(values))) @ root.T
        return z @ new.T + self._own(variances, draws, rng)

    def _shared(self, which: int, variances: Variances) -> np.ndarray:
        """Return what each pair has of z, in units of prior standard deviations."""
        x = self.x[which]
        slopes, categories = np.sqrt([variances.slope, variances.category])
        of_category = categories * self._of_category[which]
        return np.hstack([np.full((len(x), 1), self.intercept_std), slopes * x, of_category])

    def _own(self, variances: Variances, draws: int, rng: np.random.Generator) -> np.ndarray:
        x, n_families = self.x[1], int(self._family.max()) + 1
        bends = np.sqrt(variances.bending)
        own = rng.standard_normal((draws, n_families))[:, self._family] * np.sqrt(variances.family)
        for column in x.T:
            bent = rng.standard_normal((draws, n_families))[:, self._family]
            own += bends * bent * column
        places = rng.standard_normal((draws, int(self._place.max()) + 1))[:, self._place]
        pairs = rng.standard_normal((draws, len(x)))
        own += places * np.sqrt(variances.place)
        return np.asarray(own + pairs * np.sqrt(variances.pair + self.new.sampling))
