"""What a fit holds: its pairs with their regressions, calibrations, and what it was made with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd
from typing_extensions import Self

from autoeval.errors import InputError
from autoeval.estimation.calibrating import FloorFit
from autoeval.estimation.estimate import Estimate, estimate_site
from autoeval.estimation.fitted_pass import FittedPass
from autoeval.estimation.fitted_sites import FittedSites
from autoeval.estimation.score_table import pair_rows
from autoeval.labels.assistance import LabelAssistance
from autoeval.model.calibration import ScoreCalibration
from autoeval.model.pair_table import columns, undefined_at
from autoeval.model.priors import FULL
from autoeval.model.regression import Regression
from autoeval.sites.site import Site
from autoeval.targets import AP_TARGETS, IOUS, OperatingPoint, points_at


@dataclass(eq=False)
class FitState:
    """The state of a fit; making one fits the regression of its target.

    table: score table, see `autoeval.estimation.score_table` and `autoeval.model.pair_table`.
    context: what the rows were made with, as nested mappings of plain values, compared before the
        fit is used on new images.
    calibration, reference_calibration: of the detector's confidences, with which the scores were
        computed, and of those of a reference detector.
    label_assistance: fitted on the same sources.
    loading: how the detector and the reference are loaded.
    floors: the same fit at higher score floors.
    sites: the labelled sets, from which fits are joined.
    """

    table: pd.DataFrame
    target: str = "mAP"
    level: float = 0.9
    context: dict[str, Any] = field(default_factory=dict)
    calibration: ScoreCalibration | None = None
    reference_calibration: ScoreCalibration | None = None
    label_assistance: LabelAssistance | None = None
    loading: dict[str, Any] = field(default_factory=dict)
    floors: Mapping[float, FloorFit] = field(default_factory=dict)
    sites: FittedSites = field(default_factory=FittedSites)
    _regressions: dict[str, Regression] = field(init=False, default_factory=dict)
    _at_floors: dict[float, Self] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.context, self.loading = dict(self.context or {}), dict(self.loading or {})
        self.floors = dict(self.floors or {})
        self.table = self.table.reset_index(drop=True)
        self.regression_of(self.target)

    @property
    def regression(self) -> Regression:
        """From the scores of a site to the target."""
        return self.regression_of(self.target)

    def regression_of(self, target: str) -> Regression:
        """Return the regression of a target on the table."""
        if target not in self._regressions:
            floor = float(self.context.get("boxes", {}).get("floor", FULL))
            regression = Regression(target=target, level=self.level, floor=floor)
            wide = any("/" in str(name) for name in self.table)
            regression.fit(pair_rows(self.table) if wide else self.table)
            if wide:
                regression.table_ = columns(self.table)
            self._regressions[target] = regression
        return self._regressions[target]

    def regressions_of(self, targets: Iterable[str]) -> dict[str, Regression | None]:
        """Return the regression of each target; None for precision that the fit cannot estimate.

        It cannot at a threshold that no box of the labelled images is over.
        """
        regressions: dict[str, Regression | None] = {}
        for target in targets:
            try:
                regressions[target] = self.regression_of(target)
            except InputError:
                if not undefined_at(target):
                    raise
                regressions[target] = None
        return regressions

    @property
    def other_targets(self) -> dict[str, Regression]:
        """Regressions of the other average precisions on the same scores, by target."""
        rows = self.regression.pairs_
        names = [name for name in AP_TARGETS if name != self.target and name in rows]
        return {name: self.regression_of(name) for name in names}

    def at_floor(self, floor: float) -> Self:
        """Return the same fit for files that begin at another score; see `Site.floor`.

        floor: one of `floors`; 0 for that of its own files.
        """
        if not floor:
            return self
        if floor not in self._at_floors:
            there = self.floors[floor]
            # Sets of the fit were described with all their boxes.
            boxes = {**self.context["boxes"], "floor": floor, "floors": [], "confident": []}
            context = {**self.context, "boxes": boxes}
            self._at_floors[floor] = replace(
                self, table=there.rows, context=context, calibration=there.calibration, floors={}
            )
        return self._at_floors[floor]

    @property
    def of_pass(self) -> FittedPass:
        """The pass over the images of the fit, which those of a new site get, too."""
        return FittedPass(self.context, self.loading, self.regression.features_, self.table)

    def check_point(self, score_thr: float | None, iou: float) -> None:
        """Refuse a threshold or an IoU that nothing would be estimated at."""
        point = OperatingPoint.of(self.target)
        if point is None:
            if score_thr is None and iou != IOUS[0]:
                raise InputError(
                    f"An IoU of {iou:g} is that of precision, recall and F1 at a score threshold: "
                    "give that, too, or leave the IoU out."
                )
        elif score_thr not in (None, point.score_thr) or iou not in (IOUS[0], point.iou):
            raise InputError(
                f"This estimator is of {self.target}: `for_target` gives one at another threshold "
                "or IoU, or leave these out."
            )

    def estimate(
        self, site: Site, score_thr: float | None = None, iou: float = IOUS[0]
    ) -> Estimate:
        """Estimate the accuracy at a site, by the fit at the score that its boxes begin at.

        score_thr, iou: where precision, recall and F1 are estimated, too.
        """
        if "boxes" in self.context:
            site = site.warned(self.of_pass.statistics.confident_unlike(site.boxes))
        if site.floor:
            there = self.at_floor(site.floor)
            estimate = there.estimate(replace(site, floor=0.0), score_thr, iou)
            return replace(estimate, site=replace(estimate.site or site, floor=site.floor))
        site = self._calibrated(site)
        others: dict[str, Regression | None] = dict(self.other_targets)
        point = OperatingPoint.of(self.target)
        if point is not None:
            score_thr, iou = point.score_thr, point.iou
        if score_thr is not None:
            if site.known:
                raise InputError(
                    "At a known site mAP, mAP50 and mAP75 are estimated, not precision, recall and "
                    "F1: leave out either the site or the score threshold."
                )
            names = [name for name in points_at(score_thr, iou) if name != self.target]
            others |= self.regressions_of(names)
        return estimate_site(site, self.regression, others)

    def _calibrated(self, site: Site) -> Site:
        """Give the boxes of a site the calibrations of the fit."""
        widening = self.of_pass.statistics.widening if "boxes" in self.context else 0.0
        return replace(
            site,
            calibration=self.calibration,
            reference_calibration=self.reference_calibration,
            unseen=max(site.unseen, widening),
        )
