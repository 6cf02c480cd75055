"""The difference estimator (prediction-powered inference): sample influence and control variate."""

from __future__ import annotations

import math

import numpy as np

from autoeval.labels.value_with_error import ValueWithError
from autoeval.labels.variance_prior import VariancePrior, moderated

MANY = 30  # labels from which on the slope is fitted to them
FOLDS = 5


def difference_estimate(
    value: float,
    influence: np.ndarray,
    predicted: np.ndarray | None = None,
    *,
    n_pool: int,
    weights: np.ndarray | None = None,
    clusters: np.ndarray | None = None,
    variance_prior: VariancePrior | None = None,
    n_holding: int | None = None,
) -> ValueWithError:
    r"""Estimate a statistic of N images from k labelled ones and a prediction of their influence.

    .. math:: \theta = \theta_S - \bar\lambda \sum_i a_i IF^p_i, \qquad
              SE^2 = \Big(1 - \frac{k}{N}\Big) \frac{K}{K-1}
              \sum_c \Big( \sum_{i \in c} a_i (r_i - \bar r) \Big)^2

    with :math:`r_i = IF_i - \lambda_i IF^p_i` and normalised weights :math:`a_i` (1/k, or the
    inverse inclusion probabilities over their sum: Hájek). The sum runs over K clusters; each image
    is its own where none are given, and the formula is then :math:`(1 - k/N)\, s^2(r) / k`.
    :math:`\lambda` is 1 for fewer than `MANY` labels; above, cov(IF, IFᵖ) / var(IFᵖ), clipped to
    [0, 1], each image by the slope of the others (cross-fitted); one mean slope in the value, so
    that all labels give the statistic itself. Without a prediction this is the estimate from
    labels alone. It holds for any asymptotically linear statistic. Sources:
    Angelopoulos et al. 2023 (PPI), 2311.01453 (PPI++); Särndal et al. 1992, section 6.3.

    `value` is the statistic of the labelled images, with their inverse inclusion probabilities
    `weights`; `influence` (k,) is theirs on it, `predicted` (k,) has mean 0 over the pool. Images
    of equal number in `clusters` are dependent, such as neighbouring frames. `variance_prior` is of
    r. The result has K - 1 degrees of freedom, fewer where only `n_holding` images hold an object,
    more with a `variance_prior`; without one there is no standard error for one cluster. With the
    labels of all images it is `value`, without error.

    Examples
    --------
    >>> found = difference_estimate(.5, np.array([.2, -.1, -.1]), n_pool=12)
    >>> round(found.value, 3), round(found.error, 4), found.dof
    (0.5, 0.0866, 2.0)
    """
    if len(influence) >= n_pool:
        return ValueWithError(float(value), 0.0)
    terms, correction = difference_terms(
        influence, predicted, weights=weights, clusters=clusters, n_holding=n_holding
    )
    variance, dof = variance_of_sum(terms, n_holding)
    if variance_prior is not None:
        variance, dof = moderated(variance, dof, variance_prior.of_mean(len(influence)))
    finite = 1 - len(influence) / n_pool
    return ValueWithError(float(value) - correction, math.sqrt(finite * variance), dof)


def difference_terms(
    influence: np.ndarray,
    predicted: np.ndarray | None = None,
    *,
    weights: np.ndarray | None = None,
    clusters: np.ndarray | None = None,
    n_holding: int | None = None,
) -> tuple[np.ndarray, float]:
    """Return the terms of K clusters whose sum is the error of the estimate, and its correction.

    The correction, the mean slope times the mean of `predicted`, is to be subtracted from the
    value; see `difference_estimate`.
    """
    k = len(influence)
    shares = np.full(k, 1 / k) if weights is None else weights / weights.sum()
    predicted = np.zeros(k) if predicted is None else predicted
    slope = slopes(influence, predicted)
    if n_holding is not None:
        # an average precision exists in samples that hold an object alone: among these the mean of
        # the predicted influence is not 0, and the correction by it would be a bias
        slope = slope * (1 - 1 / max(n_holding, 1))
    rest = influence - slope * predicted
    terms = shares * (rest - shares @ rest)
    if clusters is not None:
        _, at = np.unique(clusters, return_inverse=True)
        terms = np.bincount(at, terms)
    return terms, float(slope.mean() * (shares @ predicted))


def variance_of_sum(terms: np.ndarray, n_holding: int | None = None) -> tuple[float, float]:
    """Return the variance of the sum of the terms, and its degrees of freedom.

    Images without an object all have about the same influence: only the `n_holding` others show a
    variance, and their terms sum to 0 among themselves, so that Bessel's correction counts them
    alone.
    """
    n = len(terms)
    if n < 2:
        return math.nan, 0.0
    shown = n if n_holding is None else min(n, n_holding)
    if shown < 2:
        return math.nan, 0.0
    return float(shown / (shown - 1) * np.sum(terms**2)), float(shown - 1)


def slopes(influence: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Return λ for each labelled image, (k,); see `difference_estimate`."""
    k = len(influence)
    if k < MANY:
        return np.ones(k)
    # each image by a slope that has not seen it: one fitted on the same images follows their noise,
    # and the variance that it leaves is too small (cross-fitting: Chernozhukov et al. 2018)
    fold = np.arange(k) % FOLDS
    fitted = np.array([_slope(influence[fold != f], predicted[fold != f]) for f in range(FOLDS)])
    return fitted[fold]


def _slope(influence: np.ndarray, predicted: np.ndarray) -> float:
    (_, covariance), (_, variance) = np.cov(influence, predicted)
    return float(np.clip(covariance / variance, 0.0, 1.0)) if variance > 0 else 1.0
