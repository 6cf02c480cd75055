"""How two sets of boxes are compared, by every score that asks what stays put."""

from __future__ import annotations

from dataclasses import dataclass

from autoeval.boxes import OVERLAPS
from autoeval.detections import Detections
from autoeval.scores.matching import Matching, match_detections


@dataclass(frozen=True)
class BoxStabilitySettings:
    """How two sets of boxes become one number.

    Parameters
    ----------
    cost : {"giou", "iou"}
        Overlap that the matching maximises and the score averages.
    class_aware : bool
        Match within a category only.
    empty : {"skip", "zero"}
        Policy for an image with no box on at least one side: left out of the mean, or counted as 0.
    normalise : {"min", "max"}
        Divide the sum of overlaps by the smaller or the larger number of boxes.
    score_thr : float
        Only boxes with a score above it are matched.

    Raises
    ------
    ValueError
        If an option is not among its values.
    """

    cost: str = "giou"
    class_aware: bool = False
    empty: str = "skip"
    normalise: str = "min"
    score_thr: float = 0.05

    def __post_init__(self) -> None:
        allowed = {"cost": OVERLAPS, "empty": ("skip", "zero"), "normalise": ("min", "max")}
        for name, values in allowed.items():
            if getattr(self, name) not in values:
                raise ValueError(
                    f"Expected `{name}` to be one of {sorted(values)} but got "
                    f"{getattr(self, name)!r}."
                )

    def match(self, clean: Detections, other: Detections) -> Matching:
        """Match the boxes of two passes."""
        return match_detections(
            clean,
            other,
            cost=self.cost,
            class_aware=self.class_aware,
            score_thr=self.score_thr,
        )
