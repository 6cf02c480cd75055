"""What is wanted of a plan, and what is known of the site that it is made for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from autoeval.boxes import Boxes
from autoeval.labels.control_variates import ProbableLabels
from autoeval.labels.value_with_error import ValueWithError
from autoeval.targets import IOUS, OperatingPoint


@dataclass(frozen=True)
class PlanRequest:
    """How many images are to be labelled, what their labels are to measure, and how they are drawn.

    Parameters
    ----------
    n : int
        Number of images to label.
    target : str
        A target at a threshold has its own threshold and IoU.
    level : float
        Nominal coverage of the intervals.
    seed : int
        Seed of the draw.
    score_thr, iou : float, optional
        At which precision, recall and F1 are wanted, too.
    equal : bool
        Whether each image has the same probability, also where a reference detector disagrees.
    """

    n: int
    target: str = "mAP"
    level: float = 0.9
    seed: int = 0
    score_thr: float | None = None
    iou: float = IOUS[0]
    equal: bool = False

    @property
    def point(self) -> OperatingPoint | None:
        """The target, where it is one at a threshold."""
        return OperatingPoint.of(self.target)


@dataclass(frozen=True, eq=False)
class PlannedSite:
    """What is known of a site beside the boxes of its pool of M images.

    Parameters
    ----------
    priors : mapping of str to ValueWithError
        Label-free estimates of targets, such as ``mAP``, and categories, ``mAP/<category>``.
    detector : str
        Fingerprint.
    blocks : ndarray of shape (M,), optional
        Blocks of time, in the order of the pool; by default each image is its own.
    others : ProbableLabels, optional
        Boxes of another detector on the same images.
    named, rest, nothing_found, known, group
        As in `LabelPlan`.
    warnings : tuple of str
        What is to be said of the site with the plan.
    """

    priors: Mapping[str, ValueWithError] = field(default_factory=dict)
    detector: str = ""
    blocks: np.ndarray | None = None
    others: ProbableLabels | None = None
    named: bool = False
    rest: Boxes | None = None
    nothing_found: bool = False
    known: str = ""
    group: str = ""
    warnings: tuple[str, ...] = ()
