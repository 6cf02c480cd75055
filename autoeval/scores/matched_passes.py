"""Other passes over images, their boxes matched to confident ones that stand for the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from typing_extensions import Self

from autoeval.detections import Detections
from autoeval.metrics.coco_matching import IOU_THRESHOLDS, match_detections, top_detections

CONFIDENT = (0.2, 0.3, 0.4, 0.5)
BITS = np.left_shift(1, np.arange(len(IOU_THRESHOLDS))).astype(np.uint16)


@dataclass(frozen=True, eq=False)
class MatchedPasses:
    """Boxes of P passes (N,), and the confident ones that stand for the truth (M,).

    Parameters
    ----------
    n_passes : int
    at, labels : ndarray of shape (N,), int
        Pass and category of each box; boxes come by both, best first.
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
        every = _every([found for found, _ in pairs])
        at, labels, scores, _ = every
        top = top_detections(at, labels, scores)
        at, labels, scores, boxes = (column[top] for column in every)
        true_at, true_labels, true_scores, true_boxes = _every([truth for _, truth in pairs])
        counted = true_scores > np.array(CONFIDENT, true_scores.dtype)[:, None]
        sure = counted[0]
        true_at, true_labels, counted = true_at[sure], true_labels[sure], counted[:, sure]
        several = 1 + max(labels.max(initial=0), true_labels.max(initial=0))
        group, true_group = at * several + labels, true_at * several + true_labels
        matched, _ = match_detections(boxes, group, true_boxes[sure], true_group, present=counted)
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
    """Return number of the pass, labels, scores and boxes of all boxes."""
    at = np.repeat(np.arange(len(found)), [len(boxes) for boxes in found])
    fields = ("labels", "scores", "boxes")
    return at, *(np.concatenate([getattr(boxes, name) for boxes in found]) for name in fields)
