r"""Bayesian linear regression of accuracy on scores, with random effects.

Pair i, in family f, place p and category c, with scores x_i in units of their scale:

.. math:: y_i = a + x_i^T b + u_f + x_i^T b_f + v_p + w_c + e_i + s_i

with a and slopes b normal as a `Prior` has them, the effects of a family (u and the slopes b_f), a
place (v), a category (w, whose mean is known for some) and the pair (e) normal with the variances
of a `Variances`, and s the sampling error of few images.

Given the variances everything is jointly normal, and so are the accuracies of new pairs (Rasmussen
& Williams 2006, equations 2.25 and 2.26, with this covariance). The variances are not known: the
predictions of all possibilities are mixed, each weighted by its prior and its marginal likelihood
(ibid., equation 2.30). With few sources this is what makes intervals wide, as in Student's
distribution; where scores leave the range of the sources, the uncertainty of the slopes does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from typing_extensions import Self

from autoeval.regression.covariance import Shared
from autoeval.regression.mixture import Mixture
from autoeval.regression.pairs import Pairs
from autoeval.regression.regression_prior import Prior
from autoeval.regression.scaling import Scaling
from autoeval.regression.shared_line import SharedLine, Solved
from autoeval.regression.variances import Variances, possible_variances

NEGLIGIBLE = 1e-4  # share of the greatest weight


class MixedModel:
    """The regression of this module.

    Parameters
    ----------
    scaling : Scaling
        Units of the P scores.
    prior : Prior
        With the slopes of these scores.
    variances : sequence of Variances, optional
        Possibilities; those of the prior by default.

    Attributes
    ----------
    pairs_ : Pairs
    intercept_std_ : float
        Of the prior, with what so few pairs leave open.
    weights_ : ndarray of shape (G,)
        Posterior weight of each possibility that is not negligible.
    """

    def __init__(
        self, scaling: Scaling, prior: Prior, *, variances: Sequence[Variances] | None = None
    ) -> None:
        self.scaling = scaling
        self.prior = prior
        self.variances = variances

    def fit(self, pairs: Pairs, y: np.ndarray) -> Self:
        """Fit on pairs whose accuracies `y` (N,) are known, in [0, 1].

        Raises
        ------
        ValueError
            If there is no pair, or an accuracy is not finite.
        """
        if not len(pairs) or np.shape(y) != (len(pairs),) or not np.isfinite(y).all():
            raise ValueError(f"Expected finite accuracies of {len(pairs)} pairs, at least one.")
        self.pairs_ = pairs
        of_pairs = self.prior.calibration_std / np.sqrt(len(pairs))
        self.intercept_std_ = float(np.hypot(self.prior.intercept_std, of_pairs))
        x = self.scaling.apply(pairs.x)
        shared = Shared.of(pairs, pairs, (x, x))
        residual = y - self._prior_mean(pairs)
        every = self.variances or possible_variances(self.prior)
        solved: list[Solved] = []
        logs = []
        for variances in every:
            own = np.diag(variances.pair + pairs.sampling)
            factor = cho_factor(self._covariance(shared, variances) + own, lower=True)
            coefficients = cho_solve(factor, residual)
            solved.append((factor, coefficients))
            volume = np.log(np.diag(factor[0])).sum()
            logs.append(variances.log_prior - 0.5 * residual @ coefficients - volume)
        weights = np.exp(np.array(logs) - max(logs))
        kept = np.flatnonzero(weights > NEGLIGIBLE).tolist()
        self.weights_ = weights[kept] / weights[kept].sum()
        self._likely = [(every[k], solved[k]) for k in kept]
        return self

    def predict(self, pairs: Pairs, *, average: np.ndarray | None = None) -> Mixture:
        """Predict the accuracies of pairs, or of averages over them.

        Parameters
        ----------
        pairs : Pairs
            M pairs; a family, place, category or pair that was seen in `fit` shares its effect.
        average : ndarray of shape (K, M), optional
            Weights of pairs in each of K averages; by default each pair on its own. What the pairs
            share does not average out.

        Returns
        -------
        Mixture
            Of M, or K, quantities. Their sampling error by `Pairs.sampling` is included.
        """
        average = np.eye(len(pairs)) if average is None else average
        x, known = self.scaling.apply(pairs.x), self.scaling.apply(self.pairs_.x)
        cross = Shared.of(self.pairs_, pairs, (known, x))
        own = Shared.of(pairs, pairs, (x, x))
        prior, means, stds = self._prior_mean(pairs), [], []
        for variances, (factor, coefficients) in self._likely:
            reach = self._covariance(cross, variances) + variances.pair * cross.pair
            spread = self._covariance(own, variances) - reach.T @ cho_solve(factor, reach)
            spread += np.diag(variances.pair + pairs.sampling)
            means.append(average @ (prior + reach.T @ coefficients))
            squares = ((average @ spread) * average).sum(axis=1)
            stds.append(np.sqrt(np.maximum(squares, 1e-12)))
        return Mixture(self.weights_, np.array(means), np.array(stds))

    def draw(self, pairs: Pairs, *, draws: int, seed: int = 0) -> np.ndarray:
        """Draw the accuracies of pairs together: what is not known of the line they share.

        Parameters
        ----------
        pairs : Pairs
            M pairs, none of a family that was seen in `fit`.
        draws : int
        seed : int

        Returns
        -------
        ndarray of shape (draws, M)
            Each column is distributed as `predict` says.
        """
        rng = np.random.default_rng(seed)
        x = (self.scaling.apply(self.pairs_.x), self.scaling.apply(pairs.x))
        line = SharedLine(self.pairs_, pairs, x, self.intercept_std_)
        counts = rng.multinomial(draws, self.weights_)
        parts = [
            line.draw(variances, solved, draws=n, rng=rng)
            for n, (variances, solved) in zip(counts, self._likely, strict=True)
        ]
        return self._prior_mean(pairs) + rng.permutation(np.concatenate(parts))

    def _prior_mean(self, pairs: Pairs) -> np.ndarray:
        known = np.array([self.prior.categories.get(str(of), 0.0) for of in pairs.category])
        slopes = self.scaling.apply(pairs.x) @ np.array(self.prior.slopes)
        return np.asarray(self.prior.intercept + slopes + known)

    def _covariance(self, shared: Shared, variances: Variances) -> np.ndarray:
        return shared.covariance(variances, self.intercept_std_**2)
