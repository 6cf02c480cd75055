"""How two sets of boxes are compared, by every score that asks what stays put."""

from __future__ import annotations

from dataclasses import dataclass

from autoeval.boxes import OVERLAPS
from autoeval.detections import Detections
from autoeval.scores.matching import Matching, match_detections


@dataclass(frozen=True)
class BoxStabilitySettings:
    """How two sets of boxes become one number; the defaults are those of Yang et al. 2024.

    Parameters
    ----------
    cost : {"giou", "iou"}
        Overlap that the matching maximises and the score averages.
    class_aware : bool
        Match within a category only.
    empty : {"zero", "skip"}
        Policy for an image with no box on at least one side: counted as 0, as equation 4 does,
        whose mean is over all images; or left out of the mean.
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
    empty: str = "zero"
    normalise: str = "min"
    score_thr: float = 0.05

    def __post_init__(self) -> None:
        allowed = {"cost": OVERLAPS, "empty": ("zero", "skip"), "normalise": ("min", "max")}
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
