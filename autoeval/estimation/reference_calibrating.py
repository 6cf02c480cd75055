"""Calibration of a reference detector on the labelled sets of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from autoeval.calibration import ScoreCalibration
from autoeval.estimation.calibrating import cross_fitted, fit_calibration
from autoeval.estimation.panel_prior import calibration_prior
from autoeval.sites.labelled_set import LabelledSet
from autoeval.sites.reference_statistics import ReferenceStatistics
from autoeval.sites.site_boxes import SiteBoxes


def with_calibrated_reference(
    sets: Sequence[LabelledSet], *, calibrate: bool = True
) -> list[LabelledSet]:
    """Return labelled sets whose reference detector is calibrated, where they have one.

    The probabilities of a set are by calibrations that have not seen its labels: else a reference
    would look more certain where it is compared with the detector's accuracy than at a new site.

    calibrate: without it, the usual calibration of detectors stands for that of the reference.
    """
    known = [of for of in sets if of.boxes.reference is not None]
    if not known:
        return list(sets)
    as_detector = [_reference_as_detector(of) for of in known]
    prior = calibration_prior(min(of.statistics.floor for of in as_detector))
    calibration = prior.calibration
    probabilities: list[np.ndarray | None] = [None] * len(known)
    if calibrate:
        everywhere = [np.ones(len(of.boxes), bool) for of in as_detector]
        calibration = fit_calibration(as_detector, everywhere, prior)
        probabilities = [p[0] for p in cross_fitted(as_detector, prior)]
    of_set = dict(zip((id(of) for of in known), probabilities, strict=True))
    return [
        of.changed(boxes=_calibrated(of.boxes, calibration, of_set[id(of)]))
        if id(of) in of_set
        else of
        for of in sets
    ]


def reference_calibration(sets: Sequence[LabelledSet]) -> ScoreCalibration | None:
    """Return the calibration that `with_calibrated_reference` gave the sets; None without one."""
    found = (of.boxes.reference_calibration for of in sets)
    return next((of for of in found if of is not None), None)


def _calibrated(
    boxes: SiteBoxes, calibration: ScoreCalibration, probabilities: np.ndarray | None
) -> SiteBoxes:
    return replace(boxes, reference_calibration=calibration, reference_probabilities=probabilities)


def _reference_as_detector(labelled: LabelledSet) -> LabelledSet:
    """Return the same set with the boxes of the reference in place of the detector's."""
    found = labelled.boxes.reference
    assert found is not None
    return replace(labelled, boxes=SiteBoxes(found), statistics=ReferenceStatistics.of(found))
