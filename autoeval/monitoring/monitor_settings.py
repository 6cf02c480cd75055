"""What is requested of the sites of a monitor."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from autoeval.errors import InputError
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.io.json_file import read_json
from autoeval.monitoring.site_pass import needed_passes
from autoeval.monitoring.windows import AUTO, Baseline, check_by
from autoeval.runtime.files import PathLike
from autoeval.targets import IOUS, OperatingPoint, points_at

FELL, BELOW, CHANGED = "fell", "below", "changed"


@dataclass(frozen=True)
class MonitorSettings:
    """What is requested of sites.

    Parameters
    ----------
    by : str
        Windows of a site: ``"day"``, ``"hour"``, ``"every:200"`` images, ``"folder"``; by default
        days, or 50 images where none has a time.
    depth : int, optional
        Folders that name a site; all by default.
    baseline : str, optional
        What a site is compared with: its first ``"7d"``, ``"12h"`` or ``"200"`` images, or all
        before a date; by default seven days, or 100 images where none has a time.
    false_alarms : float
        Probability, at most, that a site that does not change ever raises ``fell`` or ``changed``.
    alarm_below : float, optional
        Level of the target under which a site is ``below``, by the whole interval.
    alarm_on_changed : bool
        Whether ``changed`` is an alarm, as ``fell`` and ``below`` always are.
    keep : str, optional
        For how long boxes are kept, such as ``"90d"`` or the latest ``"5000"`` images of each site;
        always those of the baseline. Estimates of earlier windows stay.
    k : int
        How many sites count as the worst.
    seed : int
        Of every draw.
    score_thr, iou : float, optional
        Threshold, and IoU of true positives, at which precision, recall and F1 are estimated, too.
    known : mapping of str to str
        Source of the fit that a site is.
    labelled : mapping of str to float
        Accuracy of the baseline of a site as labels measured it; the others' are estimated.

    Raises
    ------
    InputError
        If there are no such windows or baseline, or a number is out of its range.
    """

    by: str = AUTO
    depth: int | None = None
    baseline: str | None = None
    false_alarms: float = 0.05
    alarm_below: float | None = None
    alarm_on_changed: bool = False
    keep: str | None = None
    k: int = 3
    seed: int = 0
    score_thr: float | None = None
    iou: float = IOUS[0]
    known: Mapping[str, str] = field(default_factory=dict)
    labelled: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_by(self.by)
        if self.baseline is not None:
            Baseline(self.baseline)
        if self.keep is not None and not re.fullmatch(r"[1-9]\d*d?", self.keep):
            raise InputError(f"Expected --keep as days (90d) or images (5000) but got {self.keep}.")
        for name, value in (("--depth", self.depth), ("--worst", self.k)):
            if value is not None and value < 1:
                raise InputError(f"Expected {name} of 1 or more but got {value}.")
        if not 0 < self.false_alarms < 1:
            raise InputError(
                f"Expected --false-alarms over 0 and under 1 but got {self.false_alarms:g}."
            )
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

    @property
    def alarm_on(self) -> tuple[str, ...]:
        """States that are alarms."""
        return (FELL, BELOW, CHANGED) if self.alarm_on_changed else (FELL, BELOW)

    def check(self, estimator: AccuracyEstimator) -> None:
        """Refuse, before anything is observed, what an estimator cannot give."""
        needed_passes(estimator)
        if self.known and OperatingPoint.of(estimator.target):
            raise InputError(
                f"At a known site mAP, mAP50 and mAP75 are estimated, not {estimator.target}: "
                "leave out either --site or --target."
            )
        if self.score_thr is not None:
            estimator.fit_.regression_of(points_at(self.score_thr, self.iou)[1])
        for source in self.known.values():
            estimator.check_known(source)


def labelled_level(path: PathLike) -> float:
    """Read the accuracy that ``label estimate --json`` or ``estimate --labels --json`` printed."""
    content = read_json(Path(path), "estimate from labels")
    try:
        value = float(content.get("labelled_estimate", content)["value"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"Expected {path} to hold a value, as `autoeval label estimate --json` prints it, but "
            f"it does not ({error!r})."
        ) from error
    return value
