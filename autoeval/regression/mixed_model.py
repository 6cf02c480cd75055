r"""Bayesian linear regression of accuracy on scores, with random effects.

Pair i, in family f, place p and category c, with scores x_i in units of their scale:

.. math:: y_i = a + x_i^T b + h_i (u_f + x_i^T b_f + v_p + w_c + e_i + s_i)

with a and slopes b normal as a `Prior` has them, what is particular to a family (u and the slopes
b_f), a place (v), a category (w) and the pair (e) normal with the variances of a `Variances`, and s
the sampling error of few images. h is how far pairs of such a level stray
(`autoeval.regression.level`).

Given the variances everything is jointly normal, and so are the accuracies of new pairs (Rasmussen
& Williams 2006, equations 2.25 and 2.26, with this covariance). The variances are not known: the
predictions of all possibilities are mixed, each weighted by its prior and its marginal likelihood
(ibid., equation 2.30). With few sources this is what makes intervals wide, as in Student's
distribution; where scores leave the range of the sources, the uncertainty of the slopes does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from typing_extensions import Self

from autoeval.regression.covariance import Shared
from autoeval.regression.level import spread_at
from autoeval.regression.mixture import Mixture
from autoeval.regression.pairs import Pairs
from autoeval.regression.regression_prior import Prior
from autoeval.regression.scaling import Scaling
from autoeval.regression.shared_line import SharedLine
from autoeval.regression.variances import Variances, possible_variances

NEGLIGIBLE = 1e-4  # share of the greatest weight
AT_ONCE = 32  # pairs whose covariance is looked at together, where they may be many


class MixedModel:
    """The regression of this module.

    Parameters
    ----------
    scaling : Scaling
        First guess of the units of the P scores, each of which rises with accuracy or may.
    prior : Prior, optional
    variances : sequence of Variances, optional
        Possibilities; those of the prior by default.

    Attributes
    ----------
    pairs_ : Pairs
    scaling_ : Scaling
    weights_ : ndarray of shape (G,)
        Posterior weight of each possibility that is not negligible.
    """

    def __init__(
        self,
        scaling: Scaling,
        *,
        prior: Prior | None = None,
        variances: Sequence[Variances] | None = None,
    ) -> None:
        self.scaling = scaling
        self.prior = prior or Prior()
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
        self.pairs_, self.scaling_ = pairs, self.scaling.learn(pairs.x)
        variances = self.variances or possible_variances(self.prior)
        even = np.ones(len(pairs))
        self._even = _Posterior.of(self, even, y, variances)
        self._posterior = self._even
        if self._by_level:
            self._posterior = _Posterior.of(self, self._spread(pairs), y, variances)
        self.weights_ = self._posterior.weights
        return self

    def predict(self, pairs: Pairs, *, average: np.ndarray | None = None) -> Mixture:
        """Predict the accuracies of pairs, or of averages over them.

        Parameters
        ----------
        pairs : Pairs
            M pairs; a family, place or category that was seen in `fit` shares its effect.
        average : ndarray of shape (K, M), optional
            Weights of pairs in each of K averages; by default each pair on its own. What the pairs
            share does not average out.

        Returns
        -------
        Mixture
            Of M, or K, quantities. Their sampling error by `Pairs.sampling` is included.
        """
        weights = np.eye(len(pairs)) if average is None else average
        return self._posterior.predict(self, pairs, self._spread(pairs), weights)

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
        rng, posterior = np.random.default_rng(seed), self._posterior
        pieces = (slice(k, k + AT_ONCE) for k in range(0, len(pairs), AT_ONCE))
        h = np.concatenate([self._spread(pairs[piece]) for piece in pieces])
        x = (self._scaled(self.pairs_), self._scaled(pairs))
        line = SharedLine(self.pairs_, pairs, x, self.prior.intercept_std)
        prior, parts = self._prior_mean(x[1]), []
        for n, variances, solved in zip(
            rng.multinomial(draws, posterior.weights),
            posterior.variances,
            posterior.solved,
            strict=True,
        ):
            drawn = line.draw(variances, solved, (posterior.spread, h), draws=n, rng=rng)
            parts.append(prior + drawn)
        return rng.permutation(np.concatenate(parts))

    def _spread(self, pairs: Pairs) -> np.ndarray:
        if not self._by_level:
            return np.ones(len(pairs))
        line = self._even.predict(self, pairs, np.zeros(len(pairs)), np.eye(len(pairs)), line=True)
        return spread_at(line.mean, line.std, self.prior.least)

    @property
    def _by_level(self) -> bool:
        return self.prior.least < 1

    def _prior_mean(self, x: np.ndarray) -> np.ndarray:
        return self.prior.intercept + self.prior.rise * x.mean(axis=1)

    def _covariance(self, shared: Shared, variances: Variances) -> np.ndarray:
        return shared.covariance(variances, self.prior.intercept_std**2)

    def _scaled(self, pairs: Pairs) -> np.ndarray:
        return self.scaling_.apply(pairs.x)


@dataclass(frozen=True, eq=False)
class _Posterior:
    """What is known given the data, for each possibility: weights, factors and coefficients."""

    spread: np.ndarray
    variances: list[Variances]
    weights: np.ndarray
    solved: list[tuple[tuple[np.ndarray, bool], np.ndarray]]

    @classmethod
    def of(
        cls, model: MixedModel, h: np.ndarray, y: np.ndarray, every: Sequence[Variances]
    ) -> _Posterior:
        x = model._scaled(model.pairs_)
        shared = Shared.of(model.pairs_, model.pairs_, (x, x), (h, h))
        residual = y - model._prior_mean(x)
        solved, logs = [], []
        for variances in every:
            own = np.diag(h**2 * (variances.pair + model.pairs_.sampling))
            factor = cho_factor(model._covariance(shared, variances) + own, lower=True)
            coefficients = cho_solve(factor, residual)
            solved.append((factor, coefficients))
            logs.append(
                variances.log_prior
                - 0.5 * residual @ coefficients
                - np.log(np.diag(factor[0])).sum()
            )
        weights = np.exp(np.array(logs) - max(logs))
        kept = np.flatnonzero(weights > NEGLIGIBLE).tolist()
        normal = weights[kept] / weights[kept].sum()
        return cls(h, [every[k] for k in kept], normal, [solved[k] for k in kept])

    def predict(
        self,
        model: MixedModel,
        pairs: Pairs,
        h: np.ndarray,
        average: np.ndarray,
        *,
        line: bool = False,
    ) -> Mixture:
        """Predict; with `line`, what the line alone says, without effects and sampling error."""
        x, known = model._scaled(pairs), model._scaled(model.pairs_)
        cross = Shared.of(model.pairs_, pairs, (known, x), (self.spread, h))
        own = Shared.of(pairs, pairs, (x, x), (h, h))
        means, stds = [], []
        for variances, (factor, coefficients) in zip(self.variances, self.solved, strict=True):
            reach = model._covariance(cross, variances)
            spread = model._covariance(own, variances) - reach.T @ cho_solve(factor, reach)
            if not line:
                spread += np.diag(h**2 * (variances.pair + pairs.sampling))
            means.append(average @ (model._prior_mean(x) + reach.T @ coefficients))
            squares = ((average @ spread) * average).sum(axis=1)
            stds.append(np.sqrt(np.maximum(squares, 1e-12)))
        return Mixture(self.weights, np.array(means), np.array(stds))
