"""Agreement of two passes, measured as accuracy is: by average precision."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from typing_extensions import Self

from autoeval.accuracy.coco_evaluation import IOU_THRESHOLDS, match_detections, top_detections
from autoeval.accuracy.measures import average_precision
from autoeval.detections import Detections, Evidence
from autoeval.stability.scores.base import Score, register, rising

CONFIDENT = (0.2, 0.3, 0.4, 0.5)
BITS = np.left_shift(1, np.arange(len(IOU_THRESHOLDS))).astype(np.uint16)
TOGETHER = 64  # passes that are matched at once


@dataclass(frozen=True, eq=False)
class MatchedPasses:
    """Boxes of P passes (N of them), and the confident ones that stand for the truth (M).

    Parameters
    ----------
    n_passes : int
        P.
    at, labels : ndarray of shape (N,), int
        Pass and category of each box; boxes come by both, best first.
    scores : ndarray of shape (N,), float32
        Of each box.
    matched : ndarray of shape (T, N), uint16
        Whether it is matched, for each of `CONFIDENT`; one of `BITS` for each IoU threshold.
    true_at, true_labels : ndarray of shape (M,), int
        Pass and category of each box that stands for the truth.
    counted : ndarray of shape (T, M), bool
        Whether it is as confident as each of `CONFIDENT`.
    """

    n_passes: int
    at: np.ndarray
    labels: np.ndarray
    scores: np.ndarray
    matched: np.ndarray
    true_at: np.ndarray
    true_labels: np.ndarray
    counted: np.ndarray

    @classmethod
    def of(cls, pairs: Sequence[tuple[Detections, Detections]]) -> Self:
        """Match what each pass found to the boxes that may stand for the truth.

        Parameters
        ----------
        pairs : sequence of (Detections, Detections)
            What was found and what stands for the truth, of at least one pass.
        """
        at, labels, scores, boxes = _every([clean for clean, _ in pairs])
        top = top_detections(at, labels, scores)
        at, labels, scores, boxes = at[top], labels[top], scores[top], boxes[top]
        true_at, true_labels, true_scores, true_boxes = _every([truth for _, truth in pairs])
        counted = true_scores > np.array(CONFIDENT, true_scores.dtype)[:, None]
        sure = counted[0]
        true_at, true_labels, counted = true_at[sure], true_labels[sure], counted[:, sure]
        several = 1 + max(labels.max(initial=0), true_labels.max(initial=0))
        group, true_group = at * several + labels, true_at * several + true_labels
        matched, _ = match_detections(boxes, group, true_boxes[sure], true_group, present=counted)
        bits = (matched.swapaxes(1, 2) @ BITS.astype(np.int64)).astype(np.uint16)
        return cls(len(pairs), at, labels, scores, bits, true_at, true_labels, counted)

    def split(self, sizes: Sequence[int]) -> list[Self]:
        """Split them into parts, in their order.

        Parameters
        ----------
        sizes : sequence of int
            Number of passes of each part; together all.
        """
        ends = np.append(0, np.cumsum(sizes))
        first = np.searchsorted(self.at, ends)
        first_true = np.searchsorted(self.true_at, ends)
        parts: list[Self] = []
        for k, size in enumerate(sizes):
            boxes = slice(first[k], first[k + 1])
            true = slice(first_true[k], first_true[k + 1])
            parts.append(
                type(self)(
                    size,
                    at=self.at[boxes] - ends[k],
                    labels=self.labels[boxes],
                    scores=self.scores[boxes],
                    matched=self.matched[:, boxes],
                    true_at=self.true_at[true] - ends[k],
                    true_labels=self.true_labels[true],
                    counted=self.counted[:, true],
                )
            )
        return parts

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Join parts, in their order.

        Parameters
        ----------
        parts : sequence of MatchedPasses
            At least one.
        """
        ends = np.cumsum([part.n_passes for part in parts])
        shifts = ends - [part.n_passes for part in parts]
        together = {
            name: np.concatenate([getattr(part, name) for part in parts], axis=-1)
            for name in ("labels", "scores", "matched", "true_labels", "counted")
        }
        at = [part.at + shift for part, shift in zip(parts, shifts, strict=True)]
        true_at = [part.true_at + shift for part, shift in zip(parts, shifts, strict=True)]
        together |= {"at": np.concatenate(at), "true_at": np.concatenate(true_at)}
        return cls(int(ends[-1]), **together)


def _every(detections: Sequence[Detections]) -> tuple[np.ndarray, ...]:
    """Return number of the pass, labels, scores and boxes of all boxes."""
    at = np.repeat(np.arange(len(detections)), [len(boxes) for boxes in detections])
    fields = ("labels", "scores", "boxes")
    return at, *(np.concatenate([getattr(boxes, name) for boxes in detections]) for name in fields)


def at_confidences(name: str) -> tuple[str, ...]:
    """Name the feature of each confidence.

    Parameters
    ----------
    name : str
        Of a score.
    """
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
        """Yield what the other passes have found.

        Parameters
        ----------
        evidence : Evidence
            Of one image.
        """

    def truth(self, evidence: Evidence) -> Detections:
        """Return the boxes of which the confident ones stand for the truth.

        Parameters
        ----------
        evidence : Evidence
            Of one image.
        """
        return evidence.clean

    def update(self, evidence: Evidence) -> None:
        """Take in one image; each of several other passes counts as an image.

        Parameters
        ----------
        evidence : Evidence
            With all that the score needs.
        """
        self.update_groups([self], [[evidence]])

    @classmethod
    def update_groups(cls, scores: Sequence[Self], groups: Sequence[Sequence[Evidence]]) -> None:
        """Take in several groups of images; as soon as they are many, all are matched at once.

        Parameters
        ----------
        scores, groups
            See `Score.update_groups`.
        """
        for score, images in zip(scores, groups, strict=True):
            for evidence in images:
                truth = score.truth(evidence)
                score._waiting += [(boxes, truth) for boxes in score.again(evidence)]
        sizes = [len(score._waiting) for score in scores]
        if sum(sizes) >= TOGETHER:
            every = MatchedPasses.of([pair for score in scores for pair in score._waiting])
            for score, part in zip(scores, every.split(sizes), strict=True):
                score._matched.append(part)
                score._waiting = []

    def merge(self, other: Self) -> None:
        self._matched = [*self._match(), *other._match()]

    def compute(self) -> dict[str, float]:
        passes = sum(part.n_passes for part in self._match())
        values = self._values(np.ones((1, passes)))
        return {name: float(value[0]) for name, value in zip(self.features, values, strict=True)}

    def resample(self, counts: np.ndarray) -> dict[str, np.ndarray]:
        """Return the agreement on images that count as often as they were drawn, (B,).

        Parameters
        ----------
        counts : ndarray of shape (B, N)
            How often each of N images was drawn into each of B sets.
        """
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
    """Average (categories, B, T) over categories that are not NaN, to (T, B); NaN without any."""
    defined = np.isfinite(values)
    n_known = defined.sum(axis=0)
    total = np.where(defined, values, 0).sum(axis=0)
    return np.divide(total, n_known, out=np.full(total.shape, np.nan), where=n_known > 0).T


@register
class StabilityAP(Agreement):
    """Agreement of the passes under feature dropout; see `Agreement`."""

    name = "stability_ap"
    meaning = "average precision of the pass under dropout, confident clean boxes being true"
    features = rising(*at_confidences("stability_ap"))
    needs = frozenset({"perturbed"})
    source = "this project"

    def again(self, evidence: Evidence) -> Iterator[Detections]:
        yield from evidence.perturbed


@register
class HardReferenceAP(Agreement):
    """Average precision of the clean boxes, the confident boxes of a reference detector as truth.

    A small detector that is deployed can so be evaluated offline by a large one. See `Agreement`;
    here the confidences are those of the reference.
    """

    name = "hard_reference_ap"
    meaning = "average precision, the confident boxes of the reference detector as the truth"
    features = rising(*at_confidences("hard_reference_ap"))
    needs = frozenset({"reference"})
    source = "this project"

    def truth(self, evidence: Evidence) -> Detections:
        return evidence.require("reference")

    def again(self, evidence: Evidence) -> Iterator[Detections]:
        yield evidence.clean
