"""The scores that a pass computes, by name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from typing_extensions import Self

from autoeval.detections import Evidence
from autoeval.scores.agreement import ScaleAP, StabilityAP
from autoeval.scores.atc import AverageThresholdedConfidence
from autoeval.scores.atc_source import SourceThreshold
from autoeval.scores.average_confidence import AverageConfidence
from autoeval.scores.base import Score
from autoeval.scores.box_count import BoxCount
from autoeval.scores.box_share import BoxShare
from autoeval.scores.box_stability import BoxStability, BoxStabilitySettings
from autoeval.scores.confidence_stability import ConfidenceStability
from autoeval.scores.contrastive_confidence import ContrastiveConfidence
from autoeval.scores.count_stability import CountStability
from autoeval.scores.detection_ratio import DetectionRatio
from autoeval.scores.energy import Energy
from autoeval.scores.entropy_score import EntropyScore
from autoeval.scores.feature_statistics import FeatureStatistics
from autoeval.scores.finite import check_finite
from autoeval.scores.frechet_distance import FrechetDistance
from autoeval.scores.pcr import PredictionConsistencyReliability
from autoeval.scores.prediction_score import PredictionScore
from autoeval.scores.resampling import resampled_counts
from autoeval.scores.view_consistency import ViewConsistency

T = TypeVar("T")
STRICT = BoxStabilitySettings(empty="zero", normalise="max")


@dataclass(frozen=True)
class ScoreContext:
    """What scores are made with.

    Parameters
    ----------
    stability : BoxStabilitySettings
        How boxes are compared; its ``score_thr`` holds for every score.
    reference : FeatureStatistics, optional
        Features of the detector's training domain.
    source_threshold : float, optional
        Confidence threshold fitted on labelled source data.
    """

    stability: BoxStabilitySettings
    reference: FeatureStatistics | None = None
    source_threshold: float | None = None

    @property
    def score_thr(self) -> float:
        """Only boxes with a score above it count."""
        return self.stability.score_thr


# Scores of the image as a whole, which are the same for every category.
OF_IMAGES = ("frechet_distance",)

SCORES: dict[str, Callable[[ScoreContext], Score]] = {
    "bos": lambda c: BoxStability(c.stability, name="bos"),
    "bos_strict": lambda c: BoxStability(STRICT, name="bos_strict"),
    "stability_ap": lambda c: StabilityAP(),
    "confidence_stability": lambda c: ConfidenceStability(c.stability),
    "detection_ratio": lambda c: DetectionRatio(score_thr=c.score_thr),
    "count_stability": lambda c: CountStability(score_thr=c.score_thr),
    "box_count": lambda c: BoxCount(score_thr=c.score_thr),
    "prediction_score": lambda c: PredictionScore(score_thr=c.score_thr),
    "box_share": lambda c: BoxShare(score_thr=c.score_thr),
    "entropy_score": lambda c: EntropyScore(score_thr=c.score_thr),
    "average_confidence": lambda c: AverageConfidence(score_thr=c.score_thr),
    "atc": lambda c: AverageThresholdedConfidence(score_thr=c.score_thr),
    "atc_source": lambda c: SourceThreshold(c.source_threshold, score_thr=c.score_thr),
    "contrastive_confidence": lambda c: ContrastiveConfidence(),
    "pcr": lambda c: PredictionConsistencyReliability(score_thr=c.score_thr),
    "energy": lambda c: Energy(score_thr=c.score_thr),
    "frechet_distance": lambda c: FrechetDistance(c.reference),
    "view_consistency": lambda c: ViewConsistency(c.stability),
    "scale_ap": lambda c: ScaleAP(),
}


class ScoreSet:
    """Every registered score, fed together.

    Scores of perturbed passes are kept apart for each repeat, all others are computed once.

    Parameters
    ----------
    settings : BoxStabilitySettings
        Those of the preset; ``bos_strict`` keeps its own, under which lost boxes and empty images
        count against stability.
    repeats : int
        Perturbed passes of each image.
    reference : FeatureStatistics, optional
        Features of the detector's training domain, for the Fréchet distance.
    source_threshold : float, optional
        Confidence threshold fitted on labelled source data, for the original ATC.
    names : collection of str
        Scores to compute, by their names in `SCORES`; all by default.

    Attributes
    ----------
    absent : dict of str to str
        Why a score is left out, by its name in `SCORES`. A score that one image cannot give is left
        out for the whole set.
    """

    def __init__(
        self,
        settings: BoxStabilitySettings,
        *,
        repeats: int = 1,
        reference: FeatureStatistics | None = None,
        source_threshold: float | None = None,
        names: Collection[str] = SCORES.keys(),
    ) -> None:
        context = ScoreContext(settings, reference, source_threshold)
        made = {name: make(context) for name, make in SCORES.items() if name in names}
        perturbed = [name for name, score in made.items() if "perturbed" in score.needs]
        self._clean = {name: score for name, score in made.items() if name not in perturbed}
        self._repeats = [{n: SCORES[n](context) for n in perturbed} for _ in range(repeats)]
        self.absent = {} if repeats else dict.fromkeys(perturbed, "the pass has no repeats")
        self._n_images = 0

    def update(self, evidence: Evidence) -> None:
        """Take in one image.

        Raises
        ------
        InputError
            If a number is NaN or infinite.
        """
        check_finite(evidence)
        self._n_images += 1
        self._feed(self._clean, evidence)
        for scores, boxes in zip(self._repeats, evidence.perturbed, strict=True):
            self._feed(scores, replace(evidence, perturbed=(boxes,)))

    def merge(self, other: Self) -> None:
        """Take in all that ``other`` has seen."""
        self._n_images += other._n_images
        self.absent = {**other.absent, **self.absent}
        groups = zip([self._clean, *self._repeats], [other._clean, *other._repeats], strict=True)
        for mine, theirs in groups:
            for name in mine.keys() - self.absent.keys():
                mine[name].merge(theirs[name])

    def rows(self) -> list[dict[str, float]]:
        """Return all features, one dictionary a repeat; a single one when there are no repeats."""
        clean = self._features(self._clean)
        return [clean | self._features(scores) for scores in self._repeats] or [clean]

    def resample(self, *, resamples: int = 200, seed: int = 0) -> list[dict[str, np.ndarray]]:
        """Return the features of as many sets of images, drawn with replacement from those seen.

        All scores and repeats are given the same draws, so that what varies together in the images
        varies together here. Costs no pass over images. Scores without a bootstrap, see
        `Score.resample`, are left out.

        Parameters
        ----------
        resamples : int
            Number B of sets drawn.
        seed : int
            Of the draws, which depend on nothing else but the number of images.

        Returns
        -------
        list of dict of str to ndarray of shape (B,)
            One dictionary a repeat, as in `rows`.
        """
        counts = resampled_counts(self._n_images, resamples=resamples, seed=seed)
        clean = self._resampled(self._clean, counts)
        return [clean | self._resampled(scores, counts) for scores in self._repeats] or [clean]

    def _feed(self, scores: dict[str, Score], evidence: Evidence) -> None:
        for name, score in scores.items():
            reason = score.absence(evidence)
            if reason is not None:
                self.absent.setdefault(name, reason)
            if name not in self.absent:
                score.update(evidence)

    def _features(self, scores: dict[str, Score]) -> dict[str, float]:
        return _joined(score.compute() for score in self._present(scores))

    def _resampled(self, scores: dict[str, Score], counts: np.ndarray) -> dict[str, np.ndarray]:
        return _joined(score.resample(counts) for score in self._present(scores))

    def _present(self, scores: dict[str, Score]) -> list[Score]:
        return [score for name, score in scores.items() if name not in self.absent]


def _joined(parts: Iterable[dict[str, T]]) -> dict[str, T]:
    return {name: value for part in parts for name, value in part.items()}
