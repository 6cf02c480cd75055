"""Calibration on labelled sets, and their pairs of site and category on the calibrated scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from autoeval.calibration import (
    FOUND,
    CalibrationPrior,
    ScoreCalibration,
    fit_boxes,
    fit_missed,
    image_terms,
)
from autoeval.errors import InputError
from autoeval.estimation.category_scores import labelled_rows
from autoeval.estimation.panel_prior import calibration_prior
from autoeval.labels.fit_assistance import FOLDS, image_folds
from autoeval.metrics.coco_matching import IOU_THRESHOLDS, match_categories
from autoeval.notices import Notice
from autoeval.sites.labelled_set import LabelledSet

# Chosen on the panel of detectors by benchmarks/calibration_labels.py.
LEAST_AREA, USELESS_AREA = 0.6, 0.55  # under the ROC curve
REFUSED, NOTICEABLE = 0.977, 0.05  # probabilities that the area is smaller
FEWEST = 10  # true and false positives
FIRST_BIN, SURELY_BENT, LEAST_DROP = 30, 3.0, 0.1
CALIBRATED, CONFIDENCE = "calibrated", "confidence itself"
BINS = 10
LEVEL = 0.9


@dataclass(frozen=True)
class ConfidenceCheck:
    """How much an estimate suffers from confidences that predict little.

    widening: in [0, 1]: share of the standard deviation of accuracies by which intervals are wider.
    """

    widening: float = 0.0
    warnings: tuple[str, ...] = ()


def check_confidences(sets: Sequence[LabelledSet]) -> ConfidenceCheck:
    """Evaluate confidences on all labelled boxes together, at IoU .5."""
    scores, hits = labelled_boxes(sets)
    n_right, n_wrong = int(hits.sum()), int((~hits).sum())
    if min(n_right, n_wrong) < FEWEST:
        return ConfidenceCheck()
    area, error = roc_area(scores, hits)
    poor, useless = (float(ndtr((limit - area) / error)) for limit in (LEAST_AREA, USELESS_AREA))
    constant = scores.min() == scores.max()
    if useless > REFUSED or constant:
        why = "are all equal" if constant else "do not predict which of its boxes are right"
        raise InputError(
            f"The confidences of this detector {why}, so no estimate can be made from them: on "
            f"{n_right} right and {n_wrong} wrong boxes of the labelled images the area under "
            f"their ROC curve is {area:.2f}; chance gives .50, other detectors mostly over .70. "
            "Are the predictions of these images, and is `score` a confidence?"
        )
    drop = bend(
        scores,
        np.concatenate(
            [labelled_set.matches[0][0][counted_boxes(labelled_set)] for labelled_set in sets]
        ),
    )
    warnings = []
    if poor > NOTICEABLE:
        warnings.append(
            Notice(
                "confidences-say-little",
                "the confidences may say little of which boxes are right: the area under their "
                f"ROC curve is {area:.2f} ± {error:.2f} on {n_right} right and {n_wrong} wrong "
                "boxes of the labelled images (chance: .50)",
            )
        )
    if drop:
        warnings.append(
            Notice(
                "confidences-mislead",
                f"the most confident boxes are less often right than others, by {100 * drop:.0f} "
                "points: look at them; where the labels do not miss objects, the confidences "
                "mislead",
            )
        )
    return ConfidenceCheck(max(poor if poor > NOTICEABLE else 0.0, drop), tuple(warnings))


def labelled_boxes(sets: Sequence[LabelledSet]) -> tuple[np.ndarray, np.ndarray]:
    """Return confidences (N,) and which boxes are right (N,), matched in a random order."""
    scores, hits = [np.zeros(0)], [np.zeros(0, bool)]
    for labelled_set in sets:
        boxes, counted = labelled_set.boxes.clean, counted_boxes(labelled_set)
        mixed = np.random.default_rng(0).permutation(len(boxes)).astype(np.float32)
        matched, _ = match_categories(replace(boxes, scores=mixed), labelled_set.truth)
        scores.append(boxes.scores[counted])
        hits.append(matched[0][counted])
    return np.concatenate(scores), np.concatenate(hits)


def counted_boxes(labelled_set: LabelledSet) -> np.ndarray:
    """Return which clean boxes are not ignored, (N,) bool, of categories that the set labels."""
    has_labels = np.array([ranking.n_true.any() for ranking in labelled_set.rankings])
    return np.asarray(~labelled_set.matches[1][0] & has_labels[labelled_set.boxes.clean.label])


def roc_area(scores: np.ndarray, hits: np.ndarray) -> tuple[float, float]:
    """Return the area under the ROC curve, and its standard error where scores are by chance.

    Source: Mann & Whitney 1947; equal scores count half.

    >>> roc_area(np.array([.1, .2, .3, .4]), np.array([False, True, False, True]))[0]
    0.75
    """
    right, wrong = int(hits.sum()), int((~hits).sum())
    below = pd.Series(scores).rank().to_numpy()[hits].sum() - right * (right + 1) / 2
    error = np.sqrt((right + wrong + 1) / (12 * right * wrong))
    return float(below / (right * wrong)), float(error)


def bend(scores: np.ndarray, hits: np.ndarray) -> float:
    """Return by how much more confident boxes are less often right than others; 0 if not surely.

    Boxes are divided by confidence, the first bin has the 30 highest, each further one is twice as
    large. Of all pairs of bins that in which the difference is largest in standard errors counts.
    """
    order, edges = hits[np.argsort(-scores, kind="stable")], [0]
    while edges[-1] + FIRST_BIN * 2 ** (len(edges) - 1) < len(order):
        edges.append(edges[-1] + FIRST_BIN * 2 ** (len(edges) - 1))
    bins = [order[a:b] for a, b in zip(edges, [*edges[1:], len(order)], strict=True)]
    n = np.array([len(part) + 2 for part in bins])
    p = np.array([part.sum() + 1 for part in bins]) / n
    variance = p * (1 - p) / n
    drop = np.triu(p[None, :] - p[:, None], 1)
    errors = np.sqrt(variance[None, :] + variance[:, None])
    worst = np.unravel_index(np.argmax(drop / errors), drop.shape)
    surely = drop[worst] / errors[worst] > SURELY_BENT and drop[worst] > LEAST_DROP
    return float(drop[worst]) if surely else 0.0


@dataclass(frozen=True, eq=False)
class CalibratedSets:
    """What a fit takes from the confidences on labelled sets.

    bins: see `reliability`; None without a calibration of the detector's own.
    probabilities: of the boxes of each set by calibrations that have not seen its labels, (10, N)
        each; empty without a calibration of the detector's own.
    """

    rows: pd.DataFrame
    calibration: ScoreCalibration
    check: ConfidenceCheck = ConfidenceCheck()
    bins: pd.DataFrame | None = None
    probabilities: tuple[np.ndarray, ...] = ()

    @classmethod
    def of(cls, sets: Sequence[LabelledSet], *, calibrate: bool = True) -> CalibratedSets:
        """Check and calibrate the confidences, and score the sets; see `calibrated_rows`."""
        prior = calibration_prior(min(labelled_set.statistics.floor for labelled_set in sets))
        if not calibrate:
            return cls(*calibrated_rows(sets, calibrate=False, prior=prior))
        check, probabilities = check_confidences(sets), cross_fitted(sets, prior)
        rows, calibration = calibrated_rows(sets, prior=prior, probabilities=probabilities)
        bins = reliability(sets, probabilities)
        return cls(rows, calibration, check, bins, tuple(probabilities))


def calibrated_rows(
    sets: Sequence[LabelledSet],
    *,
    calibrate: bool = True,
    prior: CalibrationPrior | None = None,
    probabilities: Sequence[np.ndarray] | None = None,
) -> tuple[pd.DataFrame, ScoreCalibration]:
    """Calibrate on labelled sets, and score them by probabilities that have not seen their labels.

    The expected false negatives, three coefficients, are those of the fit on all sets. Sets are
    cross-fitted in four folds: of groups, or of the images of a single group at random.

    calibrate: without it, the usual calibration of detectors stands for that of this one.
    prior: by default that of the panel of detectors.
    probabilities (10, N): of the boxes of each set, where `cross_fitted` has been called already.
    Returned: a pair table, see `autoeval.estimation.pair_table`; the calibration on all sets.
    """
    prior = prior or calibration_prior()
    if not calibrate:
        usual = prior.calibration
        return pd.concat(
            [labelled_rows(labelled_set, usual) for labelled_set in sets], ignore_index=True
        ), usual
    if probabilities is None:
        probabilities = cross_fitted(sets, prior)
    calibration = fit_calibration(
        sets, [np.ones(len(labelled_set.boxes), bool) for labelled_set in sets], prior
    )
    rows = [
        labelled_rows(labelled_set, calibration, probabilities=p)
        for labelled_set, p in zip(sets, probabilities, strict=True)
    ]
    return pd.concat(rows, ignore_index=True), calibration


def cross_fitted(
    sets: Sequence[LabelledSet], prior: CalibrationPrior | None = None
) -> list[np.ndarray]:
    """Return the probabilities (10, N) of the boxes of each set, by the other folds."""
    folds, calibrations = without_each_fold(sets, prior)
    probabilities = [
        np.zeros((len(IOU_THRESHOLDS), len(labelled_set.boxes.clean))) for labelled_set in sets
    ]
    for fold, others in calibrations.items():
        for labelled_set, image_fold, p in zip(sets, folds, probabilities, strict=True):
            mine = image_fold[labelled_set.boxes.clean.image] == fold
            p[:, mine] = others.probabilities(labelled_set.boxes.clean.scores[mine])
    return probabilities


def without_each_fold(
    sets: Sequence[LabelledSet], prior: CalibrationPrior | None = None
) -> tuple[list[np.ndarray], dict[int, ScoreCalibration]]:
    """Return the fold of each image of each set, and the calibration by the others of each fold."""
    folds = image_folds(
        [labelled_set.group for labelled_set in sets],
        [len(labelled_set.boxes) for labelled_set in sets],
    )
    prior = prior or calibration_prior()
    calibrations = {
        fold: fit_calibration(sets, [image_fold != fold for image_fold in folds], prior)
        for fold in range(FOLDS)
        if any((image_fold == fold).any() for image_fold in folds)
    }
    return folds, calibrations


def fit_calibration(
    sets: Sequence[LabelledSet], images: Sequence[np.ndarray], prior: CalibrationPrior
) -> ScoreCalibration:
    """Fit a calibration on some images, (M,) bool, of each labelled set.

    Boxes of categories that a set does not label at all say nothing.
    """
    scores, matched = [], []
    n_pairs = [max(sum(labelled_set.enough), 1) for labelled_set in sets]
    for labelled_set, chosen in zip(sets, images, strict=True):
        hits, ignored = labelled_set.matches
        has_labels = np.array([ranking.n_true.any() for ranking in labelled_set.rankings])
        usable = (
            ~ignored[0]
            & chosen[labelled_set.boxes.clean.image]
            & has_labels[labelled_set.boxes.clean.label]
        )
        scores.append(labelled_set.boxes.clean.scores[usable])
        matched.append(hits[:, usable])
    boxes = fit_boxes(scores, matched, prior, n_pairs)
    return ScoreCalibration(boxes, fit_missed_objects(sets, images, boxes, prior))


def fit_missed_objects(
    sets: Sequence[LabelledSet],
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
    labelled_set: LabelledSet, chosen: np.ndarray, calibration: ScoreCalibration
) -> tuple[np.ndarray, np.ndarray]:
    """Return terms (3, M) and false negatives (M,) of images with labels or likely boxes."""
    boxes, p = labelled_set.boxes.clean, calibration.at_half(labelled_set.boxes.clean.scores)
    terms, missed = [np.zeros((3, 0))], [np.zeros(0)]
    for k, ranking in enumerate(labelled_set.rankings):
        rows = boxes.rows_of(k)
        shown = ranking.n_true > 0
        if not (shown & chosen).any():
            continue
        shown[boxes.image[rows[p[rows] > FOUND]]] = True
        hits = np.bincount(ranking.image, ranking.hits[0], minlength=len(shown))
        used = shown & chosen
        terms.append(image_terms(p[rows], boxes.image[rows], len(shown))[:, used])
        missed.append(np.maximum(ranking.n_true - hits, 0)[used])
    return np.concatenate(terms, axis=1), np.concatenate(missed)


def reliability(sets: Sequence[LabelledSet], probabilities: Sequence[np.ndarray]) -> pd.DataFrame:
    """Compare predicted with observed true positives at IoU .5, by calibration and by confidence.

    probabilities (10, N): of the boxes of each, by calibrations that have not seen their labels.
    Returned: see `reliability_bins`, after the column ``scale``, `CALIBRATED` or `CONFIDENCE`.
    """
    counted = [counted_boxes(labelled_set) for labelled_set in sets]
    pairs = list(zip(sets, counted, strict=True))
    hits = np.concatenate(
        [labelled_set.matches[0][0][evaluated] for labelled_set, evaluated in pairs]
    )
    p = np.concatenate(
        [p[0][evaluated] for p, evaluated in zip(probabilities, counted, strict=True)]
    )
    scores = np.concatenate(
        [labelled_set.boxes.clean.scores[evaluated] for labelled_set, evaluated in pairs]
    )
    parts = {CALIBRATED: reliability_bins(p, hits), CONFIDENCE: reliability_bins(scores, hits)}
    return pd.concat(parts, names=["scale", None]).reset_index(level="scale")


def reliability_bins(predicted: np.ndarray, hits: np.ndarray) -> pd.DataFrame:
    """Bin predicted probabilities (N,) into tenths, and count the true positives (N,), bool.

    Returned: one row a bin that holds a box: ``predicted`` (mean), ``observed`` (share of true
        positives), ``lower`` and ``upper`` (its 90 % interval by Wilson 1927) and ``n``.
    """
    bins = np.minimum((predicted * BINS).astype(int), BINS - 1)
    rows = []
    z = float(ndtri((1 + LEVEL) / 2))
    for k in np.unique(bins):
        in_bin = bins == k
        right, n = int(hits[in_bin].sum()), int(in_bin.sum())
        # scipy.stats has this interval, and takes half a second to load
        middle = (right + z**2 / 2) / (n + z**2)
        half = z * np.sqrt(right * (n - right) / n + z**2 / 4) / (n + z**2)
        rows.append((float(predicted[in_bin].mean()), right / n, middle - half, middle + half, n))
    return pd.DataFrame(rows, columns=["predicted", "observed", "lower", "upper", "n"])


def calibration_error(bins: pd.DataFrame) -> float:
    """Return the expected calibration error of a table by `reliability_bins` (Guo et al. 2017).

    >>> calibration_error(pd.DataFrame({"predicted": [.1, .8], "observed": [.2, .8], "n": [1, 3]}))
    0.025
    """
    return float(np.average((bins["predicted"] - bins["observed"]).abs(), weights=bins["n"]))
