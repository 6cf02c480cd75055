"""What scores are made with."""

from __future__ import annotations

from dataclasses import dataclass

from autoeval.calibration import ScoreCalibration
from autoeval.scores.box_stability_settings import BoxStabilitySettings
from autoeval.scores.feature_statistics import FeatureStatistics


@dataclass(frozen=True)
class ScoreContext:
    """What a pass knows that scores may ask for.

    Parameters
    ----------
    stability : BoxStabilitySettings
        How boxes are compared; its ``score_thr`` holds for every score.
    reference : FeatureStatistics, optional
        Features of the detector's training domain.
    source_threshold : float, optional
        Confidence threshold fitted on labelled source data.
    calibration : ScoreCalibration, optional
        From confidences to true-positive probabilities, fitted on labelled source data.
    """

    stability: BoxStabilitySettings
    reference: FeatureStatistics | None = None
    source_threshold: float | None = None
    calibration: ScoreCalibration | None = None

    @property
    def score_thr(self) -> float:
        """Only boxes with a score above it count."""
        return self.stability.score_thr
