"""All scores of a pass, fed together.

`autoeval.stability.passes.tally` feeds a `ScoreSet` with the evidence of images, batch by batch,
and takes the features as rows of a score table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from typing_extensions import Self

from autoeval.accuracy.measures import resampled_counts
from autoeval.detections import ARRAYS, BOXES, SEVERAL, Detections, Evidence
from autoeval.errors import InputError
from autoeval.stability.scores.base import Score, scores
from autoeval.stability.scores.box_stability import BoxStabilitySettings
from autoeval.stability.scores.frechet_distance import FeatureStatistics

T = TypeVar("T")


def check_finite(evidence: Evidence) -> None:
    """Make sure that every number of an image's evidence is finite.

    Parameters
    ----------
    evidence : Evidence
        Of one image.

    Raises
    ------
    InputError
        Naming the image and the field, if one is not.
    """
    for name, values in _fields(evidence):
        finite = np.isfinite(values)
        if not finite.all():
            raise InputError(
                f"Expected finite numbers but {name} of image '{evidence.image_id}' holds "
                f"{int(np.isnan(values).sum())} NaN and {int(np.isinf(values).sum())} infinite "
                "values: look at this image and at the weights of the detector, and leave out "
                "half precision."
            )


def _fields(evidence: Evidence) -> Iterator[tuple[str, np.ndarray]]:
    groups: dict[str, Detections | None] = {}
    for name in BOXES:
        passes = getattr(evidence, name)
        groups |= (
            {f"{name}[{k}]": d for k, d in enumerate(passes)} if name in SEVERAL else {name: passes}
        )
    for name, detections in groups.items():
        if detections is not None:
            yield f"{name}.boxes", detections.boxes
            yield f"{name}.scores", detections.scores
    for name in ARRAYS:
        if getattr(evidence, name) is not None:
            yield name, getattr(evidence, name)


class ScoreSet:
    """Every registered score, fed together.

    Scores of perturbed passes are kept apart for each repeat, all others are computed once.

    Parameters
    ----------
    settings : BoxStabilitySettings
        Those of the preset; ``bos_strict`` keeps its own.
    repeats : int
        Perturbed passes of each image; with 0, scores that need one are absent.
    reference : FeatureStatistics, optional
        Features of the detector's training domain, for the Fréchet distance.
    source_threshold : float, optional
        Confidence threshold fitted on labelled source data, for the original ATC.
    names : collection of str, optional
        Scores to compute; by default all.

    Attributes
    ----------
    absent : dict of str to str
        Why a score is left out, by its name. A score that one image cannot give is left out for the
        whole set.
    """

    def __init__(
        self,
        settings: BoxStabilitySettings,
        *,
        repeats: int = 1,
        reference: FeatureStatistics | None = None,
        source_threshold: float | None = None,
        names: Collection[str] | None = None,
    ) -> None:
        given = {
            "settings": settings,
            "score_thr": settings.score_thr,
            "reference": reference,
            "source_threshold": source_threshold,
        }
        chosen = {n: s for n, s in scores().items() if names is None or n in names}
        perturbed = {n: s for n, s in chosen.items() if "perturbed" in s.needs}
        clean = {n: s for n, s in chosen.items() if n not in perturbed}
        self._clean = {name: score.make(given) for name, score in clean.items()}
        self._repeats = [
            {name: score.make(given) for name, score in perturbed.items()} for _ in range(repeats)
        ]
        self.absent = {} if repeats else dict.fromkeys(perturbed, "the pass has no repeats")
        self._n_images = 0

    def update(self, evidence: Evidence) -> None:
        """Take in one image.

        Parameters
        ----------
        evidence : Evidence
            See `update_batch`.
        """
        self.update_batch([evidence])

    def update_batch(self, images: Sequence[Evidence]) -> None:
        """Take in several images, which costs less than one after another; numbers are the same.

        Parameters
        ----------
        images : sequence of Evidence
            Each with as many perturbed passes as the set has repeats.

        Raises
        ------
        InputError
            If a number of an image's evidence is not finite.
        """
        for evidence in images:
            check_finite(evidence)
        self.update_groups([self], [images])

    @staticmethod
    def update_groups(sets: Sequence[ScoreSet], groups: Sequence[Sequence[Evidence]]) -> None:
        """Take in several groups of images, each by its own set; all sets are of the same scores.

        It costs less than one set after another, above all where groups share images.

        Parameters
        ----------
        sets : sequence of ScoreSet
            One a group.
        groups : sequence of sequences of Evidence
            Finite boxes, see `update_batch`; an image may be in several groups.
        """
        images = {id(evidence): evidence for group in groups for evidence in group}
        _feed([of_set._clean for of_set in sets], groups, sets)
        scores: list[dict[str, Score]] = []
        repeated: list[list[Evidence]] = []
        for k in range(len(sets[0]._repeats)):
            of_repeat = {
                key: replace(evidence, perturbed=(evidence.perturbed[k],))
                for key, evidence in images.items()
            }
            scores += [of_set._repeats[k] for of_set in sets]
            repeated += [[of_repeat[id(evidence)] for evidence in group] for group in groups]
        if scores:
            _feed(scores, repeated, sets)
        for of_set, group in zip(sets, groups, strict=True):
            of_set._n_images += len(group)

    def merge(self, other: Self) -> None:
        """Take in all that ``other`` has seen.

        Parameters
        ----------
        other : ScoreSet
            Of the same scores and as many repeats.
        """
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

    def resample(
        self, *, resamples: int = 200, seed: int = 0, blocks: np.ndarray | None = None
    ) -> list[dict[str, np.ndarray]]:
        """Return the features of sets of images, drawn with replacement from those seen.

        All scores and repeats are given the same draws, so that what varies together in the images
        varies together here. Costs no pass over images. Scores without a bootstrap, see
        `Score.resample`, are left out.

        Parameters
        ----------
        resamples : int
            Sets to draw, B.
        seed : int
            Of the draws, which depend on nothing else but the number of images and their blocks.
        blocks : ndarray, int, optional
            Images of equal number are drawn together; see `resampled_counts`.

        Returns
        -------
        list of dict of str to ndarray of shape (B,)
            One dictionary a repeat, as in `rows`.
        """
        counts = resampled_counts(self._n_images, resamples=resamples, seed=seed, blocks=blocks)
        clean = self._resampled(self._clean, counts)
        return [clean | self._resampled(scores, counts) for scores in self._repeats] or [clean]

    def _features(self, scores: dict[str, Score]) -> dict[str, float]:
        return _joined(score.compute() for score in self._present(scores))

    def _resampled(self, scores: dict[str, Score], counts: np.ndarray) -> dict[str, np.ndarray]:
        return _joined(score.resample(counts) for score in self._present(scores))

    def _present(self, scores: dict[str, Score]) -> list[Score]:
        return [score for name, score in scores.items() if name not in self.absent]


def _feed(
    scores: Sequence[dict[str, Score]],
    groups: Sequence[Sequence[Evidence]],
    sets: Sequence[ScoreSet],
) -> None:
    """Feed the same scores of several sets, each its group; one that cannot be given is absent."""
    images = list({id(evidence): evidence for group in groups for evidence in group}.values())
    for name, score in scores[0].items():
        if name in sets[0].absent:
            continue
        reason = next((r for evidence in images if (r := score.absence(evidence))), None)
        if reason is None:
            score.update_groups([of_set[name] for of_set in scores], groups)
        else:
            for of_set in sets:
                of_set.absent[name] = reason


def _joined(parts: Iterable[dict[str, T]]) -> dict[str, T]:
    return {name: value for part in parts for name, value in part.items()}
