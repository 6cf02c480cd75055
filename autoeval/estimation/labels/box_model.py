"""How probably a box is right at each IoU, and how many objects no box has found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from typing_extensions import Self

STRENGTH = 0.03  # inverse of the penalty on slopes, for standardised features
FAR = 4.0  # standard deviations, beyond which nothing bends
MISSED_PENALTY = 0.1
MOST_MISSED = 100.0


@dataclass(frozen=True, eq=False)
class LinearPredictors:
    """Predictors that are linear in standardised features and their squares.

    Parameters
    ----------
    centre, scale : ndarray of shape (F,)
    slopes, bends : ndarray of shape (L, F)
        Of the features, and of their squares (up to `FAR`).
    intercepts : ndarray of shape (L,)
    """

    centre: np.ndarray
    scale: np.ndarray
    slopes: np.ndarray
    bends: np.ndarray
    intercepts: np.ndarray

    def __call__(self, features: np.ndarray) -> np.ndarray:
        """Return L values for each of N rows of features (N, F), shape (L, N)."""
        standard = (features - self.centre) / self.scale
        straight = self.slopes @ standard.T + self.intercepts[:, None]
        return straight + self.bends @ _squares(standard).T

    def to_dict(self) -> dict[str, Any]:
        """Return lists, fit for JSON."""
        return {name: value.tolist() for name, value in vars(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote."""
        unbent = {"bends": np.zeros_like(np.array(values["slopes"])), **values}
        return cls(**{name: np.array(value, np.float64) for name, value in unbent.items()})


def standardised(features: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features (N, F) in units of their spread, with the centre and the scale (F,)."""
    centre, scale = features.mean(axis=0), features.std(axis=0)
    scale = np.where(scale > 1e-9, scale, 1.0)
    return (features - centre) / scale, centre, scale


def fit_right(features: np.ndarray, right: np.ndarray, weights: np.ndarray) -> LinearPredictors:
    """Fit one logistic regression for each IoU threshold.

    Parameters
    ----------
    features : ndarray of shape (N, F)
    right : ndarray of shape (L, N), bool
    weights : ndarray of shape (N,)
    """
    x, centre, scale = standardised(features)
    terms = np.concatenate([x, _squares(x)], axis=1)
    fits = [_logistic(terms, level, weights) for level in right]
    found, intercepts = (np.array(part) for part in zip(*fits, strict=True))
    slopes, bends = np.split(found, 2, axis=1)
    return LinearPredictors(centre, scale, slopes, bends, intercepts)


def probability_right(model: LinearPredictors, features: np.ndarray) -> np.ndarray:
    """Return the probability of each box to be right at each threshold, (L, N), falling with it."""
    odds = np.clip(model(features), -30, 30)
    return np.minimum.accumulate(1 / (1 + np.exp(-odds)), axis=0)


def fit_missed(features: np.ndarray, missed: np.ndarray, weights: np.ndarray) -> LinearPredictors:
    """Fit a Poisson regression of the number of objects that no box has found in an image.

    Parameters
    ----------
    features : ndarray of shape (M, F)
        See `image_features`.
    missed : ndarray of shape (M,)
    weights : ndarray of shape (M,)
    """
    x, centre, scale = standardised(features)
    fit = PoissonRegressor(alpha=MISSED_PENALTY, max_iter=500).fit(x, missed, weights)
    slopes, straight = fit.coef_[None], np.zeros((1, len(centre)))
    return LinearPredictors(centre, scale, slopes, straight, np.array([fit.intercept_]))


def expected_missed(model: LinearPredictors, features: np.ndarray) -> np.ndarray:
    """Return the expected number of missed objects of each image, (M,)."""
    return np.exp(np.minimum(model(features)[0], np.log(MOST_MISSED)))


def image_features(
    right: np.ndarray, scores: np.ndarray, image: np.ndarray, n_images: int
) -> np.ndarray:
    """Describe images by their boxes of one category, for the number of missed objects.

    Parameters
    ----------
    right : ndarray of shape (N,)
        Probability of each box to be right at the lowest IoU threshold.
    scores, image : ndarray of shape (N,)
    n_images : int

    Returns
    -------
    ndarray of shape (M, 6)
        Logarithms of the expected number of right boxes, of boxes over .3, over .05 and of all, and
        of how uncertain they are; the best score.
    """
    best = np.zeros(n_images)
    np.maximum.at(best, image, scores)
    sums = [right, scores > 0.3, scores > 0.05, np.ones(len(scores)), right * (1 - right)]
    counts = [np.log1p(np.bincount(image, part, minlength=n_images)) for part in sums]
    return np.stack([*counts, best], axis=1)


def _squares(standard: np.ndarray) -> np.ndarray:
    return np.clip(standard, -FAR, FAR) ** 2


def _logistic(x: np.ndarray, right: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, float]:
    if right.all() or not right.any():
        share = (right.sum() + 0.5) / (len(right) + 1)
        return np.zeros(x.shape[1]), float(np.log(share / (1 - share)))
    fit = LogisticRegression(C=STRENGTH, solver="newton-cholesky").fit(x, right, weights)
    return fit.coef_[0], float(fit.intercept_[0])
