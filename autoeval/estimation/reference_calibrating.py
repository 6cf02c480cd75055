"""Calibration of a reference detector on the labelled sets of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from autoeval.accuracy.coco_matching import AT_HALF
from autoeval.estimation.calibrating import cross_fitted, fit_calibration
from autoeval.model.calibration import ScoreCalibration
from autoeval.model.priors import calibration_prior
from autoeval.sites.reference_statistics import ReferenceStatistics
from autoeval.sites.site import Site


def with_calibrated_reference(sets: Sequence[Site]) -> list[Site]:
    """Return labelled sets whose reference detector is calibrated, where they have one.

    The probabilities of a set are by calibrations that have not seen its labels: else a reference
    would look more certain where it is compared with the detector's accuracy than at a new site.
    """
    with_reference = [labelled_set for labelled_set in sets if labelled_set.reference is not None]
    if not with_reference:
        return list(sets)
    as_detector = [_reference_as_detector(labelled_set) for labelled_set in with_reference]
    prior = calibration_prior(min(reference_set.looks.floor for reference_set in as_detector))
    everywhere = [np.ones(len(reference_set), bool) for reference_set in as_detector]
    calibration = fit_calibration(as_detector, everywhere, prior)
    probabilities = [p[AT_HALF] for p in cross_fitted(as_detector, prior)]
    of_set = dict(zip(map(id, with_reference), probabilities, strict=True))
    return [
        site.changed(reference_calibration=calibration, reference_probabilities=of_set[id(site)])
        if id(site) in of_set
        else site
        for site in sets
    ]


def reference_calibration(sets: Sequence[Site]) -> ScoreCalibration | None:
    """Return the calibration that `with_calibrated_reference` gave the sets; None without one."""
    calibrations = (labelled_set.reference_calibration for labelled_set in sets)
    return next((calibration for calibration in calibrations if calibration is not None), None)


def _reference_as_detector(labelled: Site) -> Site:
    """Return the same set with the boxes of the reference in place of the detector's."""
    reference = labelled.reference
    assert reference is not None
    statistics = ReferenceStatistics.of(reference)
    return replace(labelled, boxes=reference, reference=None, statistics=statistics)
