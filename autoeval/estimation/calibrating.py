"""Calibration on labelled sets, and their pairs of site and category on the calibrated scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from autoeval.accuracy.coco_matching import AT_HALF, IOU_THRESHOLDS
from autoeval.boxes import has_area
from autoeval.estimation.category_scores import labelled_rows
from autoeval.estimation.confidence_check import ConfidenceCheck, check_confidences
from autoeval.estimation.reliability import reliability
from autoeval.labels.fit_assistance import FOLDS, image_folds
from autoeval.model.calibration import (
    FOUND,
    CalibrationPrior,
    ScoreCalibration,
    fit_boxes,
    fit_missed,
    image_terms,
)
from autoeval.model.priors import calibration_prior
from autoeval.sites.site import Site


@dataclass(frozen=True, eq=False)
class CalibratedSets:
    """What a fit takes from the confidences on labelled sets.

    bins: see `reliability`.
    probabilities: of the boxes of each set by calibrations that have not seen its labels, (10, N)
        each.
    """

    rows: pd.DataFrame
    calibration: ScoreCalibration
    check: ConfidenceCheck
    bins: pd.DataFrame
    probabilities: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, sets: Sequence[Site]) -> CalibratedSets:
        """Check and calibrate the confidences, and score the sets; see `calibrated_rows`."""
        prior = calibration_prior(min(labelled_set.looks.floor for labelled_set in sets))
        check, probabilities = check_confidences(sets), cross_fitted(sets, prior)
        rows, calibration = calibrated_rows(sets, prior=prior, probabilities=probabilities)
        bins = reliability(sets, probabilities)
        return cls(rows, calibration, check, bins, tuple(probabilities))


def calibrated_rows(
    sets: Sequence[Site],
    *,
    prior: CalibrationPrior | None = None,
    probabilities: Sequence[np.ndarray] | None = None,
) -> tuple[pd.DataFrame, ScoreCalibration]:
    """Calibrate on labelled sets, and score them by probabilities that have not seen their labels.

    The expected false negatives, three coefficients, are those of the fit on all sets. Sets are
    cross-fitted in four folds: of groups, or of the images of a single group at random.

    Of a detector that was trained on some of these sites only those count; see `calibrated_on`.

    prior: by default that of the panel of detectors.
    probabilities (10, N): of the boxes of each set, where `cross_fitted` has been called already.
    Returned: a pair table, see `autoeval.model.pair_table`; the calibration on all sets.
    """
    prior = prior or calibration_prior()
    if probabilities is None:
        probabilities = cross_fitted(sets, prior)
    calibration = _fit_on_all_images(calibrated_on(sets), prior)
    rows = [
        labelled_rows(labelled_set, calibration, probabilities=p)
        for labelled_set, p in zip(sets, probabilities, strict=True)
    ]
    return pd.concat(rows, ignore_index=True), calibration


def calibrated_on(sets: Sequence[Site]) -> list[Site]:
    """Return the labelled sets that a detector is calibrated on.

    Those of sites that it was trained on, if some are: the model of its fall elsewhere
    (`autoeval.model.Away`) starts from a calibration at home, and compares with that what other
    labelled sites show.
    """
    return [labelled_set for labelled_set in sets if labelled_set.trained_here] or list(sets)


def _fit_on_all_images(sets: Sequence[Site], prior: CalibrationPrior) -> ScoreCalibration:
    every = [np.ones(len(labelled_set), bool) for labelled_set in sets]
    return fit_calibration(sets, every, prior)


def cross_fitted(sets: Sequence[Site], prior: CalibrationPrior | None = None) -> list[np.ndarray]:
    """Return the probabilities (10, N) of the boxes of each set, by the other folds."""
    home = calibrated_on(sets)
    if len(home) < len(sets):
        prior = prior or calibration_prior()
        calibration, at_home = _fit_on_all_images(home, prior), iter(cross_fitted(home, prior))
        return [
            next(at_home)
            if labelled_set.trained_here
            else calibration.probabilities(labelled_set.boxes.scores, labelled_set.boxes.boxes)
            for labelled_set in sets
        ]
    folds, calibrations = without_each_fold(sets, prior)
    probabilities = [
        np.zeros((len(IOU_THRESHOLDS), len(labelled_set.boxes))) for labelled_set in sets
    ]
    for fold, others in calibrations.items():
        for labelled_set, image_fold, p in zip(sets, folds, probabilities, strict=True):
            mine = image_fold[labelled_set.boxes.image] == fold
            boxes = labelled_set.boxes.where(mine)
            p[:, mine] = others.probabilities(boxes.scores, boxes.boxes)
    return probabilities


def without_each_fold(
    sets: Sequence[Site], prior: CalibrationPrior | None = None
) -> tuple[list[np.ndarray], dict[int, ScoreCalibration]]:
    """Return the fold of each image of each set, and the calibration by the others of each fold."""
    folds = image_folds(sets)
    prior = prior or calibration_prior()
    calibrations = {
        fold: fit_calibration(sets, [image_fold != fold for image_fold in folds], prior)
        for fold in range(FOLDS)
        if any((image_fold == fold).any() for image_fold in folds)
    }
    return folds, calibrations


def fit_calibration(
    sets: Sequence[Site], images: Sequence[np.ndarray], prior: CalibrationPrior
) -> ScoreCalibration:
    """Fit a calibration on some images, (M,) bool, of each labelled set.

    Boxes of categories that a set does not label at all say nothing, nor do those without area,
    which are false positives whatever their score.
    """
    scores, matched = [], []
    n_pairs = [max(sum(labelled_set.enough), 1) for labelled_set in sets]
    for labelled_set, chosen in zip(sets, images, strict=True):
        hits, ignored = labelled_set.matches
        has_labels = np.array([ranking.n_true.any() for ranking in labelled_set.rankings])
        usable = (
            ~ignored[AT_HALF]
            & chosen[labelled_set.boxes.image]
            & has_labels[labelled_set.boxes.label]
            & has_area(labelled_set.boxes.boxes)
        )
        scores.append(labelled_set.boxes.scores[usable])
        matched.append(hits[:, usable])
    boxes = fit_boxes(scores, matched, prior, n_pairs)
    return ScoreCalibration(boxes, fit_missed_objects(sets, images, boxes, prior))


def fit_missed_objects(
    sets: Sequence[Site],
    images: Sequence[np.ndarray],
    boxes: np.ndarray,
    prior: CalibrationPrior,
) -> np.ndarray:
    """Fit `ScoreCalibration.missed` on some images of each set, given its coefficients of boxes."""
    described = [
        _missed(labelled_set, chosen, ScoreCalibration(boxes, prior.missed.mean))
        for labelled_set, chosen in zip(sets, images, strict=True)
    ]
    terms, missed = zip(*described, strict=True)
    return fit_missed(
        terms, missed, prior, [max(sum(labelled_set.enough), 1) for labelled_set in sets]
    )


def _missed(
    labelled_set: Site, chosen: np.ndarray, calibration: ScoreCalibration
) -> tuple[np.ndarray, np.ndarray]:
    """Return terms (3, M) and false negatives (M,) of images with labels or likely boxes."""
    boxes = labelled_set.boxes
    p = calibration.at_half(boxes.scores, boxes.boxes)
    terms, missed = [np.zeros((3, 0))], [np.zeros(0)]
    for k, ranking in enumerate(labelled_set.rankings):
        rows = boxes.rows_of(k)
        shown = ranking.n_true > 0
        if not (shown & chosen).any():
            continue
        shown[boxes.image[rows[p[rows] > FOUND]]] = True
        hits = np.bincount(ranking.image, ranking.hits[AT_HALF], minlength=len(shown))
        used = shown & chosen
        terms.append(image_terms(p[rows], boxes.image[rows], len(shown))[:, used])
        missed.append(np.maximum(ranking.n_true - hits, 0)[used])
    return np.concatenate(terms, axis=1), np.concatenate(missed)
