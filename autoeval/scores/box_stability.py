"""Bounding box stability (BoS): how well boxes stay put when features are perturbed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from typing_extensions import Self

from autoeval.boxes import OVERLAPS, match_boxes
from autoeval.detections import Detections, Evidence


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


def box_stability(
    clean: Detections, perturbed: Detections, settings: BoxStabilitySettings | None = None
) -> float:
    """Stability of the boxes of one image.

    Source: Yang et al. 2024, section 3, equations 2 to 4, in the direction "larger is more stable".

    Parameters
    ----------
    clean, perturbed : Detections
        Boxes of the unperturbed and of the perturbed network.
    settings : BoxStabilitySettings, optional
        The defaults are those of the paper.

    Returns
    -------
    float
        Mean overlap of the matched pairs; NaN for an image that is skipped.

    Examples
    --------
    >>> boxes = np.array([[0, 0, 2, 2], [4, 4, 8, 8]])
    >>> found = Detections(boxes, np.array([.9, .8]), np.array([0, 0]))
    >>> box_stability(found, found), box_stability(found, Detections.empty())
    (1.0, nan)
    """
    settings = settings or BoxStabilitySettings()
    clean, perturbed = clean.above(settings.score_thr), perturbed.above(settings.score_thr)
    if not len(clean) or not len(perturbed):
        return 0.0 if settings.empty == "zero" else math.nan
    if not settings.class_aware:
        total, pairs = _matched_overlap(clean, perturbed, settings.cost)
    else:
        total, pairs = _within_categories(clean, perturbed, settings.cost)
    divisor = pairs if settings.normalise == "min" else max(len(clean), len(perturbed))
    return total / divisor if divisor else 0.0


class BoxStability:
    """Mean box stability of a set of images.

    Parameters
    ----------
    settings : BoxStabilitySettings, optional
        The defaults are those of the paper.
    name : str
        Name of the feature.

    Notes
    -----
    Needs evidence with perturbed passes; several repeats of an image count as one observation each.
    """

    def __init__(self, settings: BoxStabilitySettings | None = None, *, name: str = "bos") -> None:
        self.settings = settings or BoxStabilitySettings()
        self.name = name
        self._values: list[float] = []

    def update(self, evidence: Evidence) -> None:
        """Take in one image."""
        for perturbed in evidence.perturbed:
            self._values.append(box_stability(evidence.clean, perturbed, self.settings))

    def merge(self, other: Self) -> None:
        """Take in all that ``other`` has seen."""
        self._values.extend(other._values)

    def compute(self) -> dict[str, float]:
        """Return ``{name: mean over the images that were not skipped}``, NaN if there is none."""
        used = [value for value in self._values if not math.isnan(value)]
        return {self.name: math.fsum(used) / len(used) if used else math.nan}


def _matched_overlap(clean: Detections, perturbed: Detections, cost: str) -> tuple[float, int]:
    overlaps = match_boxes(clean.boxes, perturbed.boxes, cost=cost)[2]
    return math.fsum(overlaps), len(overlaps)


def _within_categories(clean: Detections, perturbed: Detections, cost: str) -> tuple[float, int]:
    shared = np.intersect1d(clean.labels, perturbed.labels)
    parts = [
        _matched_overlap(clean[clean.labels == c], perturbed[perturbed.labels == c], cost)
        for c in shared
    ]
    return math.fsum(total for total, _ in parts), sum(pairs for _, pairs in parts)
