"""Agreement of two passes, measured as accuracy is: by average precision."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from typing_extensions import Self

from autoeval.detections import Detections, Evidence
from autoeval.scores.average_precision import IOU_THRESHOLDS, average_precision, match_greedily
from autoeval.scores.base import Score

CONFIDENT = (0.2, 0.3, 0.4, 0.5)
MOST_BOXES = 100  # of a category in an image, as in COCO's evaluation


def at_confidences(name: str) -> tuple[str, ...]:
    """Name the feature of each confidence."""
    return tuple(f"{name}@{confidence:.2f}" for confidence in CONFIDENT)


@dataclass(frozen=True)
class _Image:
    """Boxes of one image (N,), and the clean ones that stand for the truth (M,)."""

    scores: np.ndarray
    labels: np.ndarray
    matched: np.ndarray  # (T, N) uint16, one bit for each IoU threshold
    true_labels: np.ndarray
    counted: np.ndarray  # (T, M) bool


class Agreement(Score):
    """Average precision of another pass, the confident boxes of the clean pass being the truth.

    A detector that is right finds the same boxes again when it is disturbed; one that guesses
    finds others. Box stability asks for the overlap of boxes that were matched in any case. This
    asks what mAP asks: are all of them found, nothing else with confidence, and how exactly? It is
    the mean over `IOU_THRESHOLDS` and over the categories with a confident box; one feature for
    each confidence that makes a box stand for the truth, ``NAME@0.20`` to ``NAME@0.50``, NaN where
    nothing is that confident. Boxes of the other pass count with any score. Source: this project
    (docs/agreement.md), after COCO's evaluation.

    Subclasses say which pass, and may say that other boxes stand for the truth.
    """

    def __init__(self) -> None:
        self._images: list[_Image] = []

    @abstractmethod
    def again(self, evidence: Evidence) -> Iterator[Detections]:
        """Yield what the other passes have found."""

    def truth(self, evidence: Evidence) -> Detections:
        """Return the boxes of which the confident ones stand for the truth."""
        return evidence.clean

    def update(self, evidence: Evidence) -> None:
        """Take in one image; each of several other passes counts as an image."""
        sure = self.truth(evidence).above(CONFIDENT[0])
        least = np.array(CONFIDENT, sure.scores.dtype)[:, None]
        counted = sure.scores > least
        for boxes in self.again(evidence):
            found = _best(boxes)
            bits = match_greedily(found, sure, counted).swapaxes(1, 2) @ _POWERS
            self._images.append(
                _Image(found.scores, found.labels, bits.astype(np.uint16), sure.labels, counted)
            )

    def merge(self, other: Self) -> None:
        """Take in all that ``other`` has seen."""
        self._images.extend(other._images)

    def compute(self) -> dict[str, float]:
        """Return the agreement at each confidence."""
        values = self._values(np.ones((1, len(self._images))))
        return {name: float(value[0]) for name, value in zip(self.features, values, strict=True)}

    def resample(self, counts: np.ndarray) -> dict[str, np.ndarray]:
        """Return the agreement on images that count as often as they were drawn, (B,)."""
        passes = len(self._images) // counts.shape[1]
        return dict(zip(self.features, self._values(counts.repeat(passes, axis=1)), strict=True))

    def _values(self, counts: np.ndarray) -> np.ndarray:
        """Return the features (T, B) for B sets in which images count so often (B, images)."""
        images = self._images
        if not images:
            return np.full((len(CONFIDENT), len(counts)), np.nan)
        scores, labels, matched, at = _joined(images)
        true_labels = np.concatenate([i.true_labels for i in images])
        counted = np.concatenate([i.counted for i in images], axis=1)
        true_at = np.repeat(np.arange(len(images)), [len(i.true_labels) for i in images])
        by_category = []
        for category in np.unique(true_labels):
            mine, true = np.flatnonzero(labels == category), true_labels == category
            ranked = mine[np.lexsort((*matched[:, mine], -scores[mine]))]
            hits = (matched[:, ranked, None] & _BITS > 0).swapaxes(1, 2)
            by_category.append(
                [
                    average_precision(
                        hits, counted[:, true] @ weights[true_at[true]], weights[at[ranked]]
                    ).mean(axis=1)
                    for weights in counts
                ]
            )
        return _mean_known(np.array(by_category).reshape(-1, len(counts), len(CONFIDENT)))


_BITS = np.left_shift(1, np.arange(len(IOU_THRESHOLDS))).astype(np.uint16)
_POWERS = _BITS.astype(np.int64)


def _best(boxes: Detections) -> Detections:
    """Keep the most confident boxes of each category, best first."""
    ranked = boxes[np.argsort(-boxes.scores, kind="stable")]
    kept = np.zeros(len(ranked), bool)
    for category in np.unique(ranked.labels):
        kept[np.flatnonzero(ranked.labels == category)[:MOST_BOXES]] = True
    return ranked[kept]


def _joined(images: list[_Image]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return scores, labels, matches of all boxes, and the number of the image of each."""
    at = np.repeat(np.arange(len(images)), [len(i.scores) for i in images])
    scores, labels = (np.concatenate([getattr(i, n) for i in images]) for n in ("scores", "labels"))
    return scores, labels, np.concatenate([i.matched for i in images], axis=1), at


def _mean_known(values: np.ndarray) -> np.ndarray:
    """Average (categories, B, T) over the categories that are known, to (T, B)."""
    known = np.isfinite(values)
    n_known = known.sum(axis=0)
    total = np.where(known, values, 0).sum(axis=0)
    return np.divide(total, n_known, out=np.full(total.shape, np.nan), where=n_known > 0).T
