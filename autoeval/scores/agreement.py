"""Agreement of two passes, measured as accuracy is: by average precision."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np
from typing_extensions import Self

from autoeval.detections import Detections, Evidence
from autoeval.metrics.average_precision import average_precision
from autoeval.scores.base import Score
from autoeval.scores.matched_passes import BITS, CONFIDENT, MatchedPasses

TOGETHER = 64  # passes that are matched at once


def at_confidences(name: str) -> tuple[str, ...]:
    """Name the feature of each confidence."""
    return tuple(f"{name}@{confidence:.2f}" for confidence in CONFIDENT)


class Agreement(Score):
    """Average precision of another pass, the confident boxes of the clean pass being the truth.

    A detector that is right finds the same boxes again when it is disturbed; one that guesses
    finds others. Box stability asks for the overlap of boxes that were matched in any case. This
    asks what mAP asks: are all of them found, nothing else with confidence, and how exactly? It is
    the mean over `IOU_THRESHOLDS` and over the categories with a confident box; one feature for
    each confidence that makes a box stand for the truth, ``NAME@0.20`` to ``NAME@0.50``, NaN where
    nothing is that confident. Boxes of the other pass count with any score. Source: this project
    (docs/explanation/agreement.md), after COCO's evaluation.

    Subclasses say which pass, and may say that other boxes stand for the truth.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[Detections, Detections]] = []
        self._matched: list[MatchedPasses] = []

    @abstractmethod
    def again(self, evidence: Evidence) -> Iterator[Detections]:
        """Yield what the other passes have found."""

    def truth(self, evidence: Evidence) -> Detections:
        """Return the boxes of which the confident ones stand for the truth."""
        return evidence.clean

    def update(self, evidence: Evidence) -> None:
        """Take in one image; each of several other passes counts as an image."""
        truth = self.truth(evidence)
        self._waiting += [(boxes, truth) for boxes in self.again(evidence)]
        if len(self._waiting) >= TOGETHER:
            self._match()

    def merge(self, other: Self) -> None:
        """Take in all that ``other`` has seen."""
        self._matched = [*self._match(), *other._match()]

    def compute(self) -> dict[str, float]:
        """Return the agreement at each confidence."""
        passes = sum(part.n_passes for part in self._match())
        values = self._values(np.ones((1, passes)))
        return {name: float(value[0]) for name, value in zip(self.features, values, strict=True)}

    def resample(self, counts: np.ndarray) -> dict[str, np.ndarray]:
        """Return the agreement on images that count as often as they were drawn, (B,)."""
        passes = sum(part.n_passes for part in self._match()) // counts.shape[1]
        return dict(zip(self.features, self._values(counts.repeat(passes, axis=1)), strict=True))

    def _match(self) -> list[MatchedPasses]:
        """Match what waits; return all parts."""
        if self._waiting:
            self._matched.append(MatchedPasses.of(self._waiting))
            self._waiting = []
        return self._matched

    def _values(self, counts: np.ndarray) -> np.ndarray:
        """Return the features (T, B) for B sets in which passes count so often (B, passes)."""
        if not self._matched:
            return np.full((len(CONFIDENT), len(counts)), np.nan)
        every = MatchedPasses.joined(self._matched)
        by_category = []
        for category in np.unique(every.true_labels):
            mine, true = np.flatnonzero(every.labels == category), every.true_labels == category
            ranked = mine[np.lexsort((*every.matched[:, mine], -every.scores[mine]))]
            hits = (every.matched[:, ranked, None] & BITS > 0).swapaxes(1, 2)
            counted, at, true_at = every.counted[:, true], every.at[ranked], every.true_at[true]
            by_category.append(
                [
                    average_precision(
                        hits * weights[at],
                        weights[at],
                        (counted @ weights[true_at])[:, None],
                        interpolation="all-point",
                    ).mean(axis=1)
                    for weights in counts
                ]
            )
        return _mean_known(np.array(by_category).reshape(-1, len(counts), len(CONFIDENT)))


def _mean_known(values: np.ndarray) -> np.ndarray:
    """Average (categories, B, T) over the categories that are known, to (T, B)."""
    known = np.isfinite(values)
    n_known = known.sum(axis=0)
    total = np.where(known, values, 0).sum(axis=0)
    return np.divide(total, n_known, out=np.full(total.shape, np.nan), where=n_known > 0).T
