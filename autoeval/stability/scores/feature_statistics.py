"""Mean and covariance of features, from parts and to file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from autoeval.errors import InputError
from autoeval.runtime.files import atomic_path

UNREADABLE = (OSError, EOFError, BadZipFile, ValueError, KeyError, TypeError)


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

    def arrays(self) -> dict[str, Any]:
        """Return what a file keeps of it: ``n``, ``mean``, ``covariance``, ``prototypes``."""
        moments = {"n": self.n, "mean": self.mean, "covariance": self.covariance}
        return moments if self.prototypes is None else moments | {"prototypes": self.prototypes}

    def save(self, path: Path) -> None:
        """Write an npz file.

        Parameters
        ----------
        path : Path
            The file.
        """
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            np.savez(file, **self.arrays())

    @classmethod
    def load(cls, path: Path) -> FeatureStatistics:
        """Read what `save` wrote.

        Parameters
        ----------
        path : Path
            The file.

        Raises
        ------
        InputError
            If it cannot be read or has other shapes.
        """
        try:
            with np.load(path) as stored:
                n, mean, covariance = int(stored["n"]), stored["mean"], stored["covariance"]
                prototypes = stored.get("prototypes")
        except UNREADABLE as error:
            raise InputError(
                f"Expected feature statistics (n, mean, covariance) in '{path}' "
                f"but could not read them: {error}"
            ) from error
        if mean.ndim != 1 or covariance.shape != mean.shape * 2:
            raise InputError(
                f"Expected a mean (C,) and a covariance (C, C) in '{path}' "
                f"but got {mean.shape} and {covariance.shape}."
            )
        return cls(n, mean, covariance, prototypes)
