"""The detector's training domain, as two scores need it: feature statistics and a threshold."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from autoeval.scores.feature_statistics import FeatureStatistics


@dataclass(frozen=True, eq=False)
class SourceDomain:
    """What the Fréchet distance and the original ATC know of the training domain.

    Parameters
    ----------
    name : str
        Of the seed set that stands for it.
    features : FeatureStatistics or None
        None where the detector's backbone gives no feature maps.
    threshold : float
        Confidence under which there are as many boxes as there are wrong ones.
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
