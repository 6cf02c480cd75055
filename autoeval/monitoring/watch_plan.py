"""What is requested of the sites that are watched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from autoeval.errors import InputError
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.monitoring.changes.site_changes import ChangeSettings
from autoeval.monitoring.observing.site_pass import needed_passes
from autoeval.monitoring.periods import check_by
from autoeval.targets import IOUS, OperatingPoint, points_at


@dataclass(frozen=True)
class WatchPlan:
    """What is requested of sites.

    Parameters
    ----------
    by : str
        See `autoeval.monitoring.periods.periods`.
    depth : int, optional
        Folders that name a site; all by default.
    k : int
        How many count as the worst.
    seed : int
        Of every draw.
    changes : ChangeSettings, optional
        How changes are watched; not at all by default.
    score_thr : float, optional
        Threshold at which recall and false alarms are estimated, too.
    known : mapping of str to str
        Source of the fit that a site is.
    iou : float
        At which IoU with a labelled object a box over that threshold is a true positive.
    alarm_below : float, optional
        Alarm where the interval of the estimate is below it; see `with_alarms_below`.

    Raises
    ------
    InputError
        If there is no such grouping, or a number is not positive.
    """

    by: str = "folder"
    depth: int | None = None
    k: int = 3
    seed: int = 0
    changes: ChangeSettings | None = None
    score_thr: float | None = None
    known: Mapping[str, str] = field(default_factory=dict)
    iou: float = IOUS[0]
    alarm_below: float | None = None

    def __post_init__(self) -> None:
        check_by(self.by)
        for name, value in (("depth=", self.depth), ("--worst", self.k)):
            if value is not None and value < 1:
                raise InputError(f"Expected {name} of 1 or more but got {value}.")
        if self.score_thr is not None:
            points_at(self.score_thr, self.iou)  # refuses what is no threshold
        elif self.iou != IOUS[0]:
            raise InputError(
                f"Expected a score threshold beside an IoU of {self.iou:g}, which is that of true "
                "positives over it."
            )
        if self.alarm_below is not None and not 0 < self.alarm_below < 1:
            raise InputError(
                f"Expected --alarm-below over 0 and under 1 but got {self.alarm_below:g}."
            )

    def check(self, estimator: AccuracyEstimator) -> None:
        """Refuse, before anything is observed, what an estimator cannot give."""
        needed_passes(estimator)
        if self.score_thr is not None:
            estimator.fit_.regression_of(points_at(self.score_thr, self.iou)[1])
        if self.changes and OperatingPoint.of(estimator.target):
            raise InputError(
                f"Slopes of change are of average precision, not of {estimator.target}: leave out "
                "--changes (--alarm-below raises alarms on it), or --target."
            )
