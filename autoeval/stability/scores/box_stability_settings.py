"""How two sets of boxes are compared, by every score that asks what stays put."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from autoeval.boxes import OVERLAPS, match_boxes
from autoeval.detections import SCORE_THR, Detections

REMEMBERED = 1024  # pairs of passes: several scores read those of a batch, with all its repeats


@dataclass(frozen=True, eq=False)
class Matching:
    """Pairs of the boxes of two passes over one image.

    Parameters
    ----------
    overlaps : ndarray of shape (P,)
        IoU or GIoU of each pair.
    score_changes : ndarray of shape (P,)
        Absolute difference of the scores of each pair.
    n_first, n_second : int
        Boxes on either side, matched or not.
    """

    overlaps: np.ndarray
    score_changes: np.ndarray
    n_first: int
    n_second: int


@lru_cache(maxsize=REMEMBERED)
def match_detections(
    first: Detections, second: Detections, *, cost: str, class_aware: bool, score_thr: float
) -> Matching:
    """Match the boxes of two passes so that the sum of their overlaps is the largest.

    The last results are remembered, by the identity of the arguments.

    Parameters
    ----------
    first, second : Detections
        Of the two passes.
    cost : str
        ``giou`` or ``iou``.
    class_aware : bool
        Whether only boxes of one category are matched.
    score_thr : float
        Only boxes with a score above it are matched.
    """
    first, second = first.above(score_thr), second.above(score_thr)
    groups = np.intersect1d(first.labels, second.labels) if class_aware else [None]
    overlaps, changes = [np.zeros(0)], [np.zeros(0)]
    for label in groups:
        a, b = first, second
        if label is not None:
            a, b = first[first.labels == label], second[second.labels == label]
        rows, columns, values = match_boxes(a.boxes, b.boxes, cost=cost)
        overlaps.append(values)
        changes.append(np.abs(a.scores[rows].astype(np.float64) - b.scores[columns]))
    return Matching(np.concatenate(overlaps), np.concatenate(changes), len(first), len(second))


@dataclass(frozen=True)
class BoxStabilitySettings:
    """How two sets of boxes become one number; the defaults are those of Yang et al. 2024.

    Parameters
    ----------
    cost : {"giou", "iou"}
        Overlap that the matching maximises and the score averages.
    class_aware : bool
        Whether only boxes of one category are matched.
    empty : {"zero", "skip"}
        Policy for an image with no box on at least one side: counted as 0, as equation 4 does,
        whose mean is over all images; or left out of the mean.
    normalise : {"min", "max"}
        Divide the sum of overlaps by the smaller or the larger number of boxes.
    score_thr : float
        Only boxes with a score above it count.

    Raises
    ------
    ValueError
        If a setting is none of these.
    """

    cost: str = "giou"
    class_aware: bool = False
    empty: str = "zero"
    normalise: str = "min"
    score_thr: float = SCORE_THR

    def __post_init__(self) -> None:
        allowed = {"cost": OVERLAPS, "empty": ("zero", "skip"), "normalise": ("min", "max")}
        for name, values in allowed.items():
            if getattr(self, name) not in values:
                raise ValueError(
                    f"Expected `{name}` to be one of {sorted(values)} but got "
                    f"{getattr(self, name)!r}."
                )

    def match(self, clean: Detections, other: Detections) -> Matching:
        """Match the boxes of two passes over one image.

        Parameters
        ----------
        clean, other : Detections
            Of both passes.
        """
        return match_detections(
            clean,
            other,
            cost=self.cost,
            class_aware=self.class_aware,
            score_thr=self.score_thr,
        )
