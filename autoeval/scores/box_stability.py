"""Bounding box stability (BoS): how well boxes stay put when features are perturbed."""

from __future__ import annotations

import math
from dataclasses import dataclass

from autoeval.boxes import OVERLAPS
from autoeval.detections import Detections, Evidence
from autoeval.scores.base import RatioScore, observed_sum
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
    >>> import numpy as np
    >>> boxes = np.array([[0, 0, 2, 2], [4, 4, 8, 8]])
    >>> found = Detections(boxes, np.array([.9, .8]), np.array([0, 0]))
    >>> box_stability(found, found), box_stability(found, Detections.empty())
    (1.0, nan)
    """
    settings = settings or BoxStabilitySettings()
    matching = settings.match(clean, perturbed)
    if not matching.n_first or not matching.n_second:
        return 0.0 if settings.empty == "zero" else math.nan
    pairs, larger = len(matching.overlaps), max(matching.n_first, matching.n_second)
    divisor = pairs if settings.normalise == "min" else larger
    return math.fsum(matching.overlaps) / divisor if divisor else 0.0


class BoxStability(RatioScore):
    r"""Mean box stability of a set of images.

    .. math:: BoS = \frac{1}{M} \sum_{i=1}^{M} \frac{1}{P_i} \sum_{p=1}^{P_i} overlap_{ip}

    over the P pairs of each of the M (image, repeat) that are not skipped; see `box_stability`.
    Needs perturbed passes.

    Parameters
    ----------
    settings : BoxStabilitySettings, optional
        The defaults are those of the paper.
    name : str
        Name of the feature.
    """

    needs = frozenset({"perturbed"})

    def __init__(self, settings: BoxStabilitySettings | None = None, *, name: str = "bos") -> None:
        super().__init__([name])
        self.settings = settings or BoxStabilitySettings()

    def measure(self, evidence: Evidence) -> tuple[float, int]:
        """Return the sum over the repeats that are not skipped, and their number."""
        passes = evidence.perturbed
        return observed_sum([box_stability(evidence.clean, p, self.settings) for p in passes])
