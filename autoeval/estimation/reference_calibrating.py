"""Calibration of a reference detector on the labelled sets of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from autoeval.accuracy.coco_matching import AT_HALF
from autoeval.estimation.calibrating import cross_fitted, fit_calibration
from autoeval.model.calibration import ScoreCalibration
from autoeval.model.priors import calibration_prior
from autoeval.sites.labelled_set import LabelledSet
from autoeval.sites.reference_statistics import ReferenceStatistics
from autoeval.sites.site_boxes import SiteBoxes


def with_calibrated_reference(sets: Sequence[LabelledSet]) -> list[LabelledSet]:
    """Return labelled sets whose reference detector is calibrated, where they have one.

    The probabilities of a set are by calibrations that have not seen its labels: else a reference
    would look more certain where it is compared with the detector's accuracy than at a new site.
    """
    with_reference = [
        labelled_set for labelled_set in sets if labelled_set.boxes.reference is not None
    ]
    if not with_reference:
        return list(sets)
    as_detector = [_reference_as_detector(labelled_set) for labelled_set in with_reference]
    prior = calibration_prior(min(reference_set.statistics.floor for reference_set in as_detector))
    everywhere = [np.ones(len(reference_set.boxes), bool) for reference_set in as_detector]
    calibration = fit_calibration(as_detector, everywhere, prior)
    probabilities = [p[AT_HALF] for p in cross_fitted(as_detector, prior)]
    of_set = dict(
        zip((id(labelled_set) for labelled_set in with_reference), probabilities, strict=True)
    )
    return [
        labelled_set.changed(
            boxes=_calibrated(labelled_set.boxes, calibration, of_set[id(labelled_set)])
        )
        if id(labelled_set) in of_set
        else labelled_set
        for labelled_set in sets
    ]


def reference_calibration(sets: Sequence[LabelledSet]) -> ScoreCalibration | None:
    """Return the calibration that `with_calibrated_reference` gave the sets; None without one."""
    calibrations = (labelled_set.boxes.reference_calibration for labelled_set in sets)
    return next((calibration for calibration in calibrations if calibration is not None), None)


def _calibrated(
    boxes: SiteBoxes, calibration: ScoreCalibration, probabilities: np.ndarray
) -> SiteBoxes:
    return replace(boxes, reference_calibration=calibration, reference_probabilities=probabilities)


def _reference_as_detector(labelled: LabelledSet) -> LabelledSet:
    """Return the same set with the boxes of the reference in place of the detector's."""
    reference = labelled.boxes.reference
    assert reference is not None
    return replace(
        labelled, boxes=SiteBoxes(reference), statistics=ReferenceStatistics.of(reference)
    )
