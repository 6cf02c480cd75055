"""How many boxes there are, and how many survive the perturbation."""

from __future__ import annotations

import math

from typing_extensions import Self

from autoeval.detections import Evidence


class DetectionRatio:
    """Counts of boxes, which box stability alone does not see.

    Features (specification: section 1, last paragraph but one, and section 2):

    ``boxes_per_image``
        Mean number N of clean boxes.
    ``no_box_share``
        Share of images with no clean box.
    ``skipped_share``
        Share of (image, repeat) with no box on at least one side, which box stability skips.
    ``detection_ratio``
        Mean of N' / N over images that have clean boxes, N' counted under perturbation.

    Parameters
    ----------
    score_thr : float
        Only boxes with a score above it count.
    """

    def __init__(self, *, score_thr: float = 0.05) -> None:
        self.score_thr = score_thr
        self._clean: list[int] = []
        self._pairs: list[tuple[int, int]] = []

    def update(self, evidence: Evidence) -> None:
        """Take in one image."""
        n = len(evidence.clean.above(self.score_thr))
        self._clean.append(n)
        self._pairs += [(n, len(boxes.above(self.score_thr))) for boxes in evidence.perturbed]

    def merge(self, other: Self) -> None:
        """Take in all that ``other`` has seen."""
        self._clean += other._clean
        self._pairs += other._pairs

    def compute(self) -> dict[str, float]:
        """Return the features listed above, NaN where no image allows them."""
        return {
            "boxes_per_image": _mean(self._clean),
            "no_box_share": _mean([n == 0 for n in self._clean]),
            "skipped_share": _mean([not n or not m for n, m in self._pairs]),
            "detection_ratio": _mean([m / n for n, m in self._pairs if n]),
        }


def _mean(values: list) -> float:
    return math.fsum(values) / len(values) if values else math.nan
