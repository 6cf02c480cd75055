"""Calibration on labelled sets, and their pairs of site and category on the calibrated scale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from autoeval.calibration import (
    CalibrationPrior,
    ScoreCalibration,
    fit_boxes,
    fit_missed,
    image_terms,
)
from autoeval.estimation.category_scores import SCORE_THR, labelled_rows
from autoeval.estimation.panel_prior import calibration_prior
from autoeval.estimation.training_set import TrainingSet
from autoeval.metrics.coco_matching import IOU_THRESHOLDS
from autoeval.scores.calibrated import FOUND

FOLDS = 4


def calibrated_rows(
    sets: Sequence[TrainingSet],
    *,
    calibrate: bool = True,
    score_thr: float = SCORE_THR,
    prior: CalibrationPrior | None = None,
    probabilities: Sequence[np.ndarray] | None = None,
) -> tuple[pd.DataFrame, ScoreCalibration]:
    """Calibrate on labelled sets, and score them by probabilities that have not seen their labels.

    The expected false negatives, three coefficients, are those of the fit on all sets.

    Parameters
    ----------
    sets : sequence of TrainingSet
        Cross-fitted in four folds: of families, or of the images of a single family at random.
    calibrate : bool
        Without it, the usual calibration of detectors stands for that of this one.
    score_thr : float
        Boxes with a lower confidence count in no score of confidences.
    prior : CalibrationPrior, optional
        By default that of the panel of detectors.
    probabilities : sequence of ndarray of shape (10, N), optional
        Of the boxes of each set, where `cross_fitted` has been called already.

    Returns
    -------
    rows : DataFrame
        A pair table; see `autoeval.estimation.pair_table`.
    calibration : ScoreCalibration
        Fitted on all sets.

    Raises
    ------
    InputError
        If no box is labelled.
    """
    prior = prior or calibration_prior()
    if not calibrate:
        usual = prior.calibration
        parts = [labelled_rows(of, usual, score_thr=score_thr) for of in sets]
        return pd.concat(parts, ignore_index=True), usual
    if probabilities is None:
        probabilities = cross_fitted(sets, prior)
    calibration = fit_calibration(sets, [np.ones(len(of.boxes), bool) for of in sets], prior)
    rows = [
        labelled_rows(of, calibration, probabilities=p, score_thr=score_thr)
        for of, p in zip(sets, probabilities, strict=True)
    ]
    return pd.concat(rows, ignore_index=True), calibration


def cross_fitted(
    sets: Sequence[TrainingSet], prior: CalibrationPrior | None = None
) -> list[np.ndarray]:
    """Return the probabilities (10, N) of the boxes of each set, by the other folds."""
    prior, folds = prior or calibration_prior(), _folds(sets)
    probabilities = [np.zeros((len(IOU_THRESHOLDS), len(of.boxes.clean))) for of in sets]
    for fold in range(FOLDS):
        if not any((of == fold).any() for of in folds):
            continue
        others = fit_calibration(sets, [of != fold for of in folds], prior)
        for of, own, p in zip(sets, folds, probabilities, strict=True):
            mine = own[of.boxes.clean.image] == fold
            p[:, mine] = others.probabilities(of.boxes.clean.scores[mine])
    return probabilities


def fit_calibration(
    sets: Sequence[TrainingSet], images: Sequence[np.ndarray], prior: CalibrationPrior
) -> ScoreCalibration:
    """Fit a calibration on some images, (M,) bool, of each labelled set.

    Boxes of categories that a set does not label at all say nothing.
    """
    scores, matched = [], []
    n_pairs = max(sum(sum(of.enough) for of in sets), 1)
    for of, chosen in zip(sets, images, strict=True):
        hits, ignored = of.matches
        labelled = np.array([ranking.n_true.any() for ranking in of.rankings])
        usable = ~ignored[0] & chosen[of.boxes.clean.image] & labelled[of.boxes.clean.label]
        scores.append(of.boxes.clean.scores[usable])
        matched.append(hits[:, usable])
    boxes = fit_boxes(np.concatenate(scores), np.concatenate(matched, axis=1), prior, n_pairs)
    terms, missed = [np.zeros((3, 0))], [np.zeros(0)]
    for of, chosen in zip(sets, images, strict=True):
        found = of.boxes.clean
        p = ScoreCalibration(boxes, prior.missed.mean).at_half(found.scores)
        for k, ranking in enumerate(of.rankings):
            rows = found.rows_of(k)
            shown = ranking.n_true > 0
            if not (shown & chosen).any():
                continue
            shown[found.image[rows[p[rows] > FOUND]]] = True
            hits = np.bincount(ranking.image, ranking.hits[0], minlength=len(shown))
            used = shown & chosen
            terms.append(image_terms(p[rows], found.image[rows], len(shown))[:, used])
            missed.append(np.maximum(ranking.n_true - hits, 0)[used])
    described, counts = np.concatenate(terms, axis=1), np.concatenate(missed)
    return ScoreCalibration(boxes, fit_missed(described, counts, prior, n_pairs))


def _folds(sets: Sequence[TrainingSet]) -> list[np.ndarray]:
    """Return the fold of each image of each set, (M,)."""
    families = sorted({of.family for of in sets})
    if len(families) > 1:
        return [np.full(len(of.boxes), families.index(of.family) % FOLDS) for of in sets]
    return [
        np.random.default_rng(k).permutation(len(of.boxes)) % FOLDS for k, of in enumerate(sets)
    ]
