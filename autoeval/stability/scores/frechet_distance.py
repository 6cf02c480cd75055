"""Fréchet distance (FD) between the features of a set and those of the training domain."""

from __future__ import annotations

import math

import numpy as np
from typing_extensions import Self

from autoeval.detections import Evidence
from autoeval.errors import InputError
from autoeval.stability.scores.base import Score, falling, register
from autoeval.stability.scores.feature_statistics import FeatureStatistics

CHUNK = 256


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
