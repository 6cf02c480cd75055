"""Fréchet distance (FD) of features to those of the training domain, by mean and covariance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from typing_extensions import Self

from autoeval.detections import Evidence
from autoeval.errors import InputError
from autoeval.stability.scores.base import Score, falling, register

CHUNK = 256


@dataclass(frozen=True, eq=False)
class FeatureStatistics:
    """Number, mean and covariance of feature vectors.

    Parameters
    ----------
    n : int
        Vectors.
    mean : ndarray of shape (C,), float64
        Their mean.
    covariance : ndarray of shape (C, C), float64
        Divided by n - 1; 0 for a single vector.
    prototypes : ndarray of shape (K + 1, C + 1), float64, optional
        Sums of those of `autoeval.detections.Evidence` over the images, where these had them.
        `merge` leaves them out.

    Examples
    --------
    >>> whole = FeatureStatistics.of(np.array([[0., 0.], [2., 0.], [4., 3.]]))
    >>> whole.mean, float(whole.covariance[0, 0])
    (array([2., 1.]), 4.0)
    """

    n: int
    mean: np.ndarray
    covariance: np.ndarray
    prototypes: np.ndarray | None = None

    @classmethod
    def of(cls, features: np.ndarray) -> FeatureStatistics:
        """Summarise feature vectors.

        Parameters
        ----------
        features : array-like of shape (n, C)
            n of at least 1.
        """
        features = np.asarray(features, np.float64)
        mean = features.mean(axis=0)
        centred = features - mean
        return cls(len(features), mean, centred.T @ centred / max(len(features) - 1, 1))

    def merge(self, other: FeatureStatistics) -> FeatureStatistics:
        """Return the statistics of both sets of vectors together (Chan et al. 1983).

        Parameters
        ----------
        other : FeatureStatistics
            Of vectors of the same length.
        """
        n = self.n + other.n
        # The scatter about the common mean is that about both means, and n m / (n + m) times that
        # of the means about each other.
        apart = other.mean - self.mean
        scatter = (self.n - 1) * self.covariance + (other.n - 1) * other.covariance
        scatter += np.outer(apart, apart) * (self.n * other.n / n)
        return FeatureStatistics(n, self.mean + apart * (other.n / n), scatter / (n - 1))

    @cached_property
    def root(self) -> np.ndarray:
        """Symmetric square root of the covariance, (C, C)."""
        values, vectors = np.linalg.eigh(self.covariance)
        return (vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.T


def frechet_distance(first: FeatureStatistics, second: FeatureStatistics) -> float:
    """Squared Fréchet (2-Wasserstein) distance of two normal distributions.

    .. math:: ‖μ_1 - μ_2‖² + Tr(Σ_1 + Σ_2 - 2 (Σ_1 Σ_2)^{½})

    The last trace is the sum of the square roots of the eigenvalues of
    :math:`Σ_1^{½} Σ_2 Σ_1^{½}`, which is symmetric; the root of ``first`` is kept with it.

    Parameters
    ----------
    first, second : FeatureStatistics
        Of features of one length C.

    Returns
    -------
    float
        At least 0.

    Raises
    ------
    InputError
        If the lengths differ.

    Examples
    --------
    >>> ones = np.eye(2)
    >>> near, far = (FeatureStatistics(9, np.array([0., d]), ones) for d in (0, 3))
    >>> frechet_distance(near, far)
    9.0
    """
    if first.mean.shape != second.mean.shape:
        raise InputError(
            f"Expected features of length {len(first.mean)} as in the reference set but got "
            f"{len(second.mean)}: make the reference statistics with this detector."
        )
    apart = first.mean - second.mean
    eigenvalues = np.linalg.eigvalsh(first.root @ second.covariance @ first.root)
    cross = 2 * np.sqrt(np.clip(eigenvalues, 0, None)).sum()
    traces = np.trace(first.covariance) + np.trace(second.covariance)
    return max(float(apart @ apart + traces - cross), 0.0)


@register
class FrechetDistance(Score):
    """Fréchet distance of a set's features to those of the detector's training domain.

    Features are the last backbone stage, averaged over the image, (C,) each; formula in
    `frechet_distance`; NaN with fewer than two images. Merged shards equal the whole up to
    rounding.

    Parameters
    ----------
    reference : FeatureStatistics, optional
        Of the detector's training domain; without it there is no score.
    """

    name = "fd"
    meaning = "Fréchet distance of backbone features to those of the training domain"
    features = falling("fd")
    needs = frozenset({"features"})
    given = ("reference",)
    ungiven = "no feature statistics of the detector's training domain were given"
    needs_domain = True
    per_image = True
    source = "Deng & Zheng 2021, adapted to detectors by Yang et al. 2024, section 5.1"

    def __init__(self, reference: FeatureStatistics | None = None) -> None:
        self.reference = reference
        self._seen: FeatureStatistics | None = None
        self._waiting: list[np.ndarray] = []

    def update(self, evidence: Evidence) -> None:
        self._waiting.append(evidence.require("features"))
        if len(self._waiting) == CHUNK:
            self.statistics()

    def merge(self, other: Self) -> None:
        self._add(other.statistics())

    def compute(self) -> dict[str, float]:
        """Return the distance, NaN without a reference or with fewer than two images."""
        seen = self.statistics()
        if self.reference is None or seen is None or seen.n < 2:
            return {"fd": math.nan}
        return {"fd": frechet_distance(self.reference, seen)}

    def statistics(self) -> FeatureStatistics | None:
        """Return the statistics of all images seen, None if there was none.

        This is how the reference itself is made: run the detector over its training domain.
        """
        if self._waiting:
            part = FeatureStatistics.of(np.array(self._waiting))
            self._waiting = []
            self._add(part)
        return self._seen

    def _add(self, part: FeatureStatistics | None) -> None:
        if part is not None:
            self._seen = part if self._seen is None else self._seen.merge(part)
