"""The detector's training domain, as two scores need it: feature statistics and a threshold."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from autoeval.errors import InputError
from autoeval.runtime.files import atomic_path
from autoeval.scores.feature_statistics import UNREADABLE, FeatureStatistics


@dataclass(frozen=True, eq=False)
class SourceDomain:
    """What the Fréchet distance and the original ATC know of the training domain.

    features: None where the detector's backbone gives no feature maps.
    threshold: confidence under which there are as many boxes as there are wrong ones.
    """

    name: str
    features: FeatureStatistics | None
    threshold: float

    @property
    def digest(self) -> str:
        """A short name of all its numbers."""
        digest = hashlib.sha256(repr((self.name, self.threshold)).encode())
        if self.features is not None:
            digest.update(self.features.mean.tobytes() + self.features.covariance.tobytes())
        return digest.hexdigest()[:16]

    def save(self, path: Path) -> None:
        """Write an npz file."""
        features = {} if self.features is None else self.features.arrays()
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            np.savez(file, threshold=self.threshold, **features)

    @classmethod
    def load(cls, path: Path, name: str) -> SourceDomain:
        """Read what `save` wrote of the seed set of this name."""
        try:
            with np.load(path) as stored:
                threshold, has_features = float(stored["threshold"]), "mean" in stored
        except UNREADABLE as error:
            raise InputError(
                f"Expected a training domain in '{path}' but could not read it: {error}"
            ) from error
        return cls(name, FeatureStatistics.load(path) if has_features else None, threshold)
