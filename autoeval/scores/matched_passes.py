"""Other passes over images, their boxes matched to confident ones that stand for the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from typing_extensions import Self

from autoeval.detections import Detections
from autoeval.scores.average_precision import IOU_THRESHOLDS
from autoeval.scores.greedy_matching import match_greedily

CONFIDENT = (0.2, 0.3, 0.4, 0.5)
MOST_BOXES = 100  # of a category in an image, as in COCO's evaluation
BITS = np.left_shift(1, np.arange(len(IOU_THRESHOLDS))).astype(np.uint16)


@dataclass(frozen=True, eq=False)
class MatchedPasses:
    """Boxes of P passes (N,), and the confident ones that stand for the truth (M,).

    Parameters
    ----------
    n_passes : int
    at, labels : ndarray of shape (N,), int
        Pass and category of each box; boxes come by pass, best first.
    scores : ndarray of shape (N,), float32
    matched : ndarray of shape (T, N), uint16
        Whether it is matched, for each of `CONFIDENT`; one of `BITS` for each IoU threshold.
    true_at, true_labels : ndarray of shape (M,), int
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
        """Match what each pass found (at least one) to the boxes that may stand for the truth."""
        at, boxes, scores, labels = _ranked([found for found, _ in pairs])
        true_at, true_boxes, true_scores, true_labels = _every([truth for _, truth in pairs])
        counted = true_scores > np.array(CONFIDENT, true_scores.dtype)[:, None]
        sure = counted[0]
        true_at, true_labels, counted = true_at[sure], true_labels[sure], counted[:, sure]
        several = 1 + max(labels.max(initial=0), true_labels.max(initial=0))
        group, true_group = at * several + labels, true_at * several + true_labels
        matched = match_greedily(boxes, group, true_boxes[sure], true_group, counted)
        bits = (matched.swapaxes(1, 2) @ BITS.astype(np.int64)).astype(np.uint16)
        return cls(len(pairs), at, labels, scores, bits, true_at, true_labels, counted)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Join at least one, in their order."""
        ends = np.cumsum([part.n_passes for part in parts])
        shifts = ends - [part.n_passes for part in parts]
        together = {
            name: np.concatenate([getattr(part, name) for part in parts], axis=-1)
            for name in ("labels", "scores", "matched", "true_labels", "counted")
        }
        at, true_at = (
            np.concatenate([getattr(p, name) + s for p, s in zip(parts, shifts, strict=True)])
            for name in ("at", "true_at")
        )
        return cls(int(ends[-1]), at=at, true_at=true_at, **together)


def _every(found: Sequence[Detections]) -> tuple[np.ndarray, ...]:
    """Return number of the pass, boxes, scores and labels of all boxes."""
    at = np.repeat(np.arange(len(found)), [len(boxes) for boxes in found])
    fields = ("boxes", "scores", "labels")
    return at, *(np.concatenate([getattr(boxes, name) for boxes in found]) for name in fields)


def _ranked(found: Sequence[Detections]) -> tuple[np.ndarray, ...]:
    """Do the same for the most confident boxes of each category and pass, best first in a pass."""
    at, boxes, scores, labels = _every(found)
    order = np.lexsort((-scores, at))
    group = (at * (1 + labels.max(initial=0)) + labels)[order]
    by_group = np.argsort(group, kind="stable")
    ends = np.searchsorted(group[by_group], group[by_group])
    kept = np.sort(by_group[np.arange(len(group)) - ends < MOST_BOXES])
    return tuple(values[order[kept]] for values in (at, boxes, scores, labels))
