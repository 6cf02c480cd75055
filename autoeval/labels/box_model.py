"""True-positive probability of each box at each IoU, and expected false negatives of each image."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit
from typing_extensions import Self

from autoeval.accuracy.coco_evaluation import AT_HALF
from autoeval.accuracy.measures import RankedDetections
from autoeval.boxes import Boxes
from autoeval.detections import CONFIDENT, SCORE_THR
from autoeval.sites.site import Pool

INVERSE_PENALTY = 0.03  # on slopes, for standardised features
MOST_STANDARD = 4.0  # standard deviations, beyond which squares grow no more
PENALTY_OF_FALSE_NEGATIVES = 0.1
MOST_FALSE_NEGATIVES = 100.0
TOLERANCE = 1e-4  # of the gradient of a mean loss, and of what a Newton step would lower it by
MOST_STEPS = 100
SUFFICIENT = 2.0**-11  # least share of the decrease that a Newton step promises
LEAST_STEP = 2.0**-20


@dataclass(frozen=True, eq=False)
class LinearPredictors:
    """L predictors that are linear in F standardised features and their squares (the bends)."""

    centre: np.ndarray  # (F,), as scale
    scale: np.ndarray
    slopes: np.ndarray  # (L, F), as bends
    bends: np.ndarray
    intercepts: np.ndarray  # (L,)

    def __call__(self, features: np.ndarray) -> np.ndarray:
        """Return L values for each of N rows of features (N, F), shape (L, N)."""
        standard = np.nan_to_num((features - self.centre) / self.scale)  # unknown: as the mean
        straight = self.slopes @ standard.T + self.intercepts[:, None]
        return straight + self.bends @ _squares(standard).T

    def to_dict(self) -> dict[str, Any]:
        """Return lists, fit for JSON."""
        return {name: value.tolist() for name, value in vars(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote."""
        return cls(**{name: np.array(value, np.float64) for name, value in values.items()})


@dataclass(frozen=True, eq=False)
class BoxModel:
    """Estimates from features what labels would say of boxes and images."""

    names: tuple[str, ...]  # features of a box that it reads; see `box_features`
    true_positive: LinearPredictors  # see `fit_true_positive`
    false_negatives: LinearPredictors  # see `fit_false_negatives`

    def probabilities(self, pool: Pool) -> np.ndarray:
        """Return the true-positive probability of each box, (10, N); see `probability`."""
        return probability(self.true_positive, pool.columns(self.names))

    def n_missed(self, boxes: Boxes, probabilities: np.ndarray) -> np.ndarray:
        """Return the expected false negatives of each category and image, (K, M).

        `probabilities` are (10, N), of the N `boxes`.
        """
        missed = []
        for k in range(len(boxes.categories)):
            mine = boxes.label == k
            columns = probabilities[AT_HALF, mine], boxes.scores[mine], boxes.image[mine]
            features = image_features(*columns, len(boxes.images))
            missed.append(expected_count(self.false_negatives, features))
        return np.array(missed)

    def rankings(
        self, pool: Pool, probabilities: np.ndarray | None = None
    ) -> list[RankedDetections]:
        """Rank the boxes of each category, with probabilities (10, N) in place of labels."""
        probabilities = self.probabilities(pool) if probabilities is None else probabilities
        return expected_rankings(
            pool.found, probabilities, self.n_missed(pool.found, probabilities)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        return {
            "names": list(self.names),
            "true_positive": self.true_positive.to_dict(),
            "false_negatives": self.false_negatives.to_dict(),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote."""
        parts = (values["true_positive"], values["false_negatives"])
        return cls(tuple(values["names"]), *map(LinearPredictors.from_dict, parts))


def expected_rankings(
    boxes: Boxes, probabilities: np.ndarray, n_missed: np.ndarray
) -> list[RankedDetections]:
    """Rank the boxes of each category, with probabilities in place of labels.

    `probabilities` (10, N) are those of being a true positive at each IoU threshold, `n_missed` (K,
    M) the expected false negatives.
    """
    rankings = []
    for k, missed in enumerate(n_missed):
        mine = boxes.label == k
        image, right = boxes.image[mine], probabilities[:, mine]
        n_true = np.bincount(image, right[AT_HALF], minlength=len(missed)) + missed
        rankings.append(RankedDetections.of(boxes.scores[mine], image, right, n_true))
    return rankings


def fit_true_positive(
    features: np.ndarray, matched: np.ndarray, weights: np.ndarray
) -> LinearPredictors:
    """Fit a logistic regression for each of L IoU thresholds.

    `features` are (N, F), `matched` says which are true positives, (L, N), and `weights` are (N,).
    """
    x, centre, scale = _standardised(features)
    terms = np.concatenate([x, _squares(x)], axis=1)
    fits = [_logistic(terms, level, weights) for level in matched]
    coefficients, intercepts = (np.array(part) for part in zip(*fits, strict=True))
    slopes, bends = np.split(coefficients, 2, axis=1)
    return LinearPredictors(centre, scale, slopes, bends, intercepts)


def probability(model: LinearPredictors, features: np.ndarray) -> np.ndarray:
    """Return the true-positive probability of each box, (L, N); it falls with the threshold."""
    odds = np.clip(model(features), -30, 30)
    return np.minimum.accumulate(1 / (1 + np.exp(-odds)), axis=0)


def fit_false_negatives(
    features: np.ndarray, missed: np.ndarray, weights: np.ndarray
) -> LinearPredictors:
    """Fit a Poisson regression of the false negatives of M images at the lowest IoU threshold.

    `features` are those of `image_features`; `missed` and `weights` are (M,). Where nothing is
    missed, half an object in one image more is: the logarithm of zero would say never.
    """
    from scipy.optimize import minimize  # a quarter of a second that estimates save

    x, centre, scale = _standardised(features)
    if not missed.any():
        none = np.zeros((1, len(centre)))
        return LinearPredictors(centre, scale, none, none, np.log([0.5 / (len(missed) + 1)]))
    shares, n_terms = weights / weights.sum(), x.shape[1]

    # the mean loss of a Poisson regression, up to a constant, with a penalty on the slopes
    # (McCullagh & Nelder 1989, section 6.2); the last coefficient is the intercept
    def loss(coefficients: np.ndarray) -> tuple[float, np.ndarray]:
        slopes, logs = coefficients[:-1], x @ coefficients[:-1] + coefficients[-1]
        expected = np.exp(logs)
        residual = shares * (expected - missed)
        gradient = np.append(x.T @ residual + PENALTY_OF_FALSE_NEGATIVES * slopes, residual.sum())
        penalty = 0.5 * PENALTY_OF_FALSE_NEGATIVES * (slopes @ slopes)
        return float(shares @ (expected - missed * logs)) + penalty, gradient

    start = np.append(np.zeros(n_terms), np.log(shares @ missed))
    stop = {"maxiter": 500, "maxls": 50, "gtol": TOLERANCE, "ftol": 64 * np.finfo(np.float64).eps}
    fit = minimize(loss, start, jac=True, method="L-BFGS-B", options=stop).x
    straight = np.zeros((1, len(centre)))
    return LinearPredictors(centre, scale, fit[None, :-1], straight, fit[-1:])


def expected_count(model: LinearPredictors, features: np.ndarray) -> np.ndarray:
    """Return the expected number of false negatives of each image, (M,)."""
    return np.exp(np.minimum(model(features)[0], np.log(MOST_FALSE_NEGATIVES)))


def image_features(
    probabilities: np.ndarray, scores: np.ndarray, image: np.ndarray, n_images: int
) -> np.ndarray:
    """Describe images by their N boxes of one category, for the number of false negatives.

    `probabilities` (N,) are those at the lowest IoU threshold. Columns of the result, (M, 6), are
    the logarithms of one plus: the expected true positives, the boxes over .3, over .05 and all,
    the variance of the number of true positives; and the best score.
    """
    best = np.zeros(n_images)
    np.maximum.at(best, image, scores)
    variance = probabilities * (1 - probabilities)
    sums = [probabilities, scores > CONFIDENT, scores > SCORE_THR, np.ones(len(scores)), variance]
    counts = [np.log1p(np.bincount(image, part, minlength=n_images)) for part in sums]
    return np.stack([*counts, best], axis=1)


def _standardised(features: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    known = np.isfinite(features)
    n = np.maximum(known.sum(axis=0), 1)
    centre = np.where(known, features, 0).sum(axis=0) / n
    scale = np.sqrt(np.where(known, (features - centre) ** 2, 0).sum(axis=0) / n)
    scale = np.where(scale > 1e-9, scale, 1.0)
    return np.where(known, (features - centre) / scale, 0.0), centre, scale


def _squares(standard: np.ndarray) -> np.ndarray:
    return np.clip(standard, -MOST_STANDARD, MOST_STANDARD) ** 2


def _logistic(x: np.ndarray, matched: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, float]:
    if matched.all() or not matched.any():
        share = (matched.sum() + 0.5) / (len(matched) + 1)
        return np.zeros(x.shape[1]), float(np.log(share / (1 - share)))
    # Newton's method for the mean loss with a penalty on the slopes, so that it is strictly convex;
    # a step that does not lower the loss is halved (Boyd & Vandenberghe 2004, section 9.5)
    shares, terms = weights / weights.sum(), np.column_stack([x, np.ones(len(x))])
    penalty = np.append(np.full(x.shape[1], 1 / (INVERSE_PENALTY * weights.sum())), 0.0)

    def loss(coefficients: np.ndarray) -> float:
        odds = terms @ coefficients
        of_boxes = np.logaddexp(0, odds) - odds * matched
        return float(shares @ of_boxes + 0.5 * penalty @ coefficients**2)

    coefficients, decrease = np.zeros(terms.shape[1]), -math.inf
    for _ in range(MOST_STEPS):
        p = expit(terms @ coefficients)
        gradient = terms.T @ (shares * (p - matched)) + penalty * coefficients
        if np.abs(gradient).max() <= TOLERANCE and -0.5 * decrease <= TOLERANCE:
            break
        curvature = (terms.T * (shares * p * (1 - p))) @ terms + np.diag(penalty)
        step = -np.linalg.solve(curvature, gradient)
        decrease, before, share = float(gradient @ step), loss(coefficients), 1.0
        while (
            loss(coefficients + share * step) > before + SUFFICIENT * share * decrease
            and share > LEAST_STEP
        ):
            share /= 2
        coefficients = coefficients + share * step
    return coefficients[:-1], float(coefficients[-1])
