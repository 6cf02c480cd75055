"""From confidences to true-positive probabilities at each IoU, and to missed objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit
from typing_extensions import Self

LEAST = 1e-4  # distance that confidences keep from 0 and 1
MOST_BOXES = 20_000  # that a calibration is fitted on, drawn by a seed
MOST_MISSED = 100.0  # in an image
FOUND, LIKELY = 0.05, 0.3
"""Probabilities at IoU .5 over which a box shows its category, and is a likely object."""

Family = Callable[[np.ndarray, np.ndarray], tuple[float, np.ndarray, np.ndarray]]


@dataclass(frozen=True, eq=False)
class Usual:
    """How three coefficients vary over a panel of detectors.

    mean (3,); detectors, sites (3, 3): covariance from detector to detector, and from site to site
        of one.
    """

    mean: np.ndarray
    detectors: np.ndarray
    sites: np.ndarray

    def of_detector(self, of_sites: np.ndarray, n_pairs: int) -> np.ndarray:
        """Estimate a detector's coefficients from those that fit n pairs of site and category."""
        total = self.detectors + self.sites / n_pairs
        off = np.linalg.solve(total, of_sites - self.mean)
        return np.asarray(self.mean + self.detectors @ off)


@dataclass(frozen=True, eq=False)
class CalibrationPrior:
    """What is believed of a detector's calibration before a box of it is labelled.

    boxes: of each row of `ScoreCalibration.boxes`; missed: of `ScoreCalibration.missed`.
    """

    boxes: tuple[Usual, ...]
    missed: Usual

    @property
    def calibration(self) -> ScoreCalibration:
        """The mean over detectors."""
        boxes = np.array([of.mean for of in self.boxes])
        return ScoreCalibration(boxes, self.missed.mean, usual=True)


@dataclass(frozen=True, eq=False)
class ScoreCalibration:
    r"""True-positive probabilities of boxes, and expected false negatives of images.

    .. math:: \operatorname{logit} P_l(s) = a_l + b_l \log s - c_l \log (1 - s)

    for each IoU threshold l, the beta calibration of Kull et al. (2017, equation 3), of which
    b = c is Platt's. False negatives of an image at the lowest threshold are Poisson with

    .. math:: \log λ = m_0 + m_1 \log(1 + \sum_j p_j) + m_2 \log(1 + \sum_j p_j (1 - p_j))

    over the probabilities p of its boxes there.

    boxes (L, 3): a, b, c; missed (3,): m.
    usual: whether it is that of a panel of detectors, not learnt from labels of this one.
    """

    boxes: np.ndarray
    missed: np.ndarray
    usual: bool = False

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return the true-positive probability of N boxes at each threshold, (L, N), falling."""
        return np.minimum.accumulate(expit(self.boxes @ _terms(scores)), axis=0)

    def at_half(self, scores: np.ndarray) -> np.ndarray:
        """Return the true-positive probability of N boxes at the lowest threshold, (N,)."""
        return np.asarray(expit(self.boxes[0] @ _terms(scores)))

    def n_missed(self, probabilities: np.ndarray, image: np.ndarray, n_images: int) -> np.ndarray:
        """Return the expected false negatives of each image, (M,), of one category.

        probabilities, image (N,): of its boxes at the lowest threshold, and the image of each.
        """
        logs = self.missed @ image_terms(probabilities, image, n_images)
        return np.asarray(np.exp(np.minimum(logs, np.log(MOST_MISSED))))

    @classmethod
    def mean(cls, calibrations: Sequence[ScoreCalibration]) -> Self:
        """Average the coefficients; usual where one of them is."""
        boxes, missed = ([getattr(of, name) for of in calibrations] for name in ("boxes", "missed"))
        usual = any(of.usual for of in calibrations)
        return cls(np.mean(boxes, axis=0), np.mean(missed, axis=0), usual)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        values = {"boxes": self.boxes.tolist(), "missed": self.missed.tolist()}
        return values | ({"usual": True} if self.usual else {})

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote."""
        usual = bool(values.get("usual", False))  # not in files of earlier fits
        return cls(np.array(values["boxes"]), np.array(values["missed"]), usual)


def fit_boxes(
    scores: Sequence[np.ndarray],
    matched: Sequence[np.ndarray],
    prior: CalibrationPrior,
    n_pairs: Sequence[int],
) -> np.ndarray:
    """Estimate the coefficients of `ScoreCalibration.boxes` from one or more labelled sites.

    Each site has coefficients of its own, by penalised maximum likelihood, so that none counts for
    more because it holds more boxes. The fewer the sites, the closer is the detector to the mean
    over detectors.

    scores, matched: scores (N,) of the boxes of each site, and its true positives (L, N), bool.
    n_pairs: pairs of site and category that the boxes of each site are of, the weight of the site.
    """
    sites = []
    for own, hits in zip(scores, matched, strict=True):
        if len(own) > MOST_BOXES:
            chosen = np.random.default_rng(0).choice(len(own), MOST_BOXES, replace=False)
            own, hits = own[chosen], hits[:, chosen]
        sites.append((_terms(own), hits))
    return np.array(
        [
            _fit([(terms, hits[k]) for terms, hits in sites], usual, n_pairs, _logistic)
            for k, usual in enumerate(prior.boxes)
        ]
    )


def fit_missed(
    terms: Sequence[np.ndarray],
    missed: Sequence[np.ndarray],
    prior: CalibrationPrior,
    n_pairs: Sequence[int],
) -> np.ndarray:
    """Estimate the coefficients of `ScoreCalibration.missed`; see `fit_boxes`.

    terms, missed: of the images of each site `image_terms` (3, M) and false negatives (M,).
    """
    return _fit(list(zip(terms, missed, strict=True)), prior.missed, n_pairs, _poisson)


def image_terms(probabilities: np.ndarray, image: np.ndarray, n_images: int) -> np.ndarray:
    """Return what m is multiplied with, (3, M); parameters as in `ScoreCalibration.n_missed`."""
    sums = (probabilities, probabilities * (1 - probabilities))
    counts = [np.log1p(np.bincount(image, weights, minlength=n_images)) for weights in sums]
    return np.stack([np.ones(n_images), *counts])


def _terms(scores: np.ndarray) -> np.ndarray:
    inside = np.clip(scores.astype(np.float64), LEAST, 1 - LEAST)
    return np.stack([np.ones(len(inside)), np.log(inside), -np.log1p(-inside)])


def _fit(
    sites: Sequence[tuple[np.ndarray, np.ndarray]],
    usual: Usual,
    n_pairs: Sequence[int],
    family: Family,
) -> np.ndarray:
    """Estimate a detector's coefficients from the mean of those of its sites."""
    known = [(site, n) for site, n in zip(sites, n_pairs, strict=True) if len(site[1])]
    if not known:
        return usual.mean
    weights = [n for _, n in known]
    each = [_fit_site(*site, usual, n, family) for site, n in known]
    return usual.of_detector(np.average(each, axis=0, weights=weights), sum(weights))


def _fit_site(
    terms: np.ndarray, y: np.ndarray, usual: Usual, n_pairs: int, family: Family
) -> np.ndarray:
    """Fit a generalised linear model to one site."""
    from scipy.optimize import minimize  # a quarter of a second that estimates save

    precision = np.linalg.inv(usual.detectors + usual.sites / n_pairs)

    def loss(own: np.ndarray) -> tuple[float, np.ndarray]:
        value, expected, _ = family(own @ terms, y)
        pull = precision @ (own - usual.mean)
        return value + 0.5 * (own - usual.mean) @ pull, terms @ (expected - y) + pull

    def curvature(own: np.ndarray) -> np.ndarray:
        return (terms * family(own @ terms, y)[2]) @ terms.T + precision

    found = minimize(loss, usual.mean, jac=True, hess=curvature, method="trust-exact")
    return np.asarray(found.x)


def _logistic(odds: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the negative log-likelihood, the means and the variances."""
    p = expit(odds)
    return float(np.logaddexp(0, odds).sum() - odds @ y), p, p * (1 - p)


def _poisson(logs: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    expected = np.exp(np.minimum(logs, np.log(MOST_MISSED)))
    return float(expected.sum() - logs @ y), expected, expected
