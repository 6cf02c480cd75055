"""The scores that a pass computes, by name."""

from __future__ import annotations

from collections.abc import Callable

from autoeval.detections import Evidence
from autoeval.scores.base import Score
from autoeval.scores.box_stability import BoxStability, BoxStabilitySettings
from autoeval.scores.detection_ratio import DetectionRatio

STRICT = BoxStabilitySettings(empty="zero", normalise="max")

SCORES: dict[str, Callable[[BoxStabilitySettings], Score]] = {
    "bos": lambda settings: BoxStability(settings, name="bos"),
    "bos_strict": lambda settings: BoxStability(STRICT, name="bos_strict"),
    "detection_ratio": lambda settings: DetectionRatio(score_thr=settings.score_thr),
}


class ScoreSet:
    """Every registered score, fed together.

    Parameters
    ----------
    settings : BoxStabilitySettings
        Those of the preset; ``bos_strict`` keeps its own, under which lost boxes and empty images
        count against stability.
    """

    def __init__(self, settings: BoxStabilitySettings) -> None:
        self._scores = [make(settings) for make in SCORES.values()]

    def update(self, evidence: Evidence) -> None:
        """Take in one image."""
        for score in self._scores:
            score.update(evidence)

    def compute(self) -> dict[str, float]:
        """Return all features of all scores."""
        return {name: value for s in self._scores for name, value in s.compute().items()}
