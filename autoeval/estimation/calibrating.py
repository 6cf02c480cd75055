"""Calibration on labelled sites, and their pairs of site and category on the calibrated scale.

`autoeval.estimation.fitting.fit_sets` calls, in this order: `with_calibrated_reference` (where
there is a reference), `check_confidences` (whether scores say anything), `calibrate` (pairs and
calibration) and `fits_above` (the same at higher score floors); `reliability` makes the diagram of
the page. The functions of coefficients are in `autoeval.model.calibration`.

Programs leave out boxes under a score of their own (`yolo predict`: .25). Boxes are matched from
the most confident one on, so the true-positive probability of a confidence is the same at every
floor. What changes is how many objects are missed, every score, the accuracy of the boxes that are
left, and what is believed of all three before a box is labelled. A fit on files from a low score on
therefore holds itself at the floors of `FLOORS` above, made by cutting its labelled boxes; a site
takes the one of its file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr, ndtri

from autoeval.accuracy.coco_evaluation import AT_HALF, IOU_THRESHOLDS, image_ranks, match_categories
from autoeval.boxes import has_area
from autoeval.errors import InputError
from autoeval.estimation.category_scores import labelled_pairs
from autoeval.estimation.fit_file import FloorFit
from autoeval.labels.fit_assistance import FOLDS, image_folds
from autoeval.model.calibration import (
    FOUND,
    CalibrationPrior,
    ScoreCalibration,
    SiteData,
    fit_boxes,
    fit_coefficients,
    image_terms,
    poisson,
)
from autoeval.model.pair_table import table_of
from autoeval.model.priors import calibration_prior
from autoeval.sites.file_looks import SAME_FLOOR
from autoeval.sites.site import Site
from autoeval.words import Notice

if TYPE_CHECKING:
    import pandas as pd

# Whether confidences say anything: chosen on the panel of detectors.
LEAST_AREA = 0.6  # under the ROC curve
USELESS_AREA = 0.55  # under the ROC curve
REFUSED = 0.977  # probability that the area is smaller
NOTICEABLE = 0.05  # probability that the area is smaller
ORDERS = 10  # in which boxes are matched at random
FAR = 4.0  # standard errors of the area
FEWEST_OF_EACH = 10  # true and false positives
FIRST_BIN = 30  # boxes with the highest confidences; each next bin has twice as many
SURE_ERRORS = 3.0  # standard errors of a drop: the largest of many differences is looked at
LEAST_DROP = 0.1  # of the share of true positives, from a lower bin to a higher one
# The reliability diagram.
CALIBRATED = "calibrated"
UNCALIBRATED = "confidence itself"
BINS = 10
LEVEL = 0.9
# Score floors at which a fit is held.
FLOORS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)


@dataclass(frozen=True)
class ConfidenceCheck:
    """How much an estimate suffers from confidences that predict little.

    Parameters
    ----------
    widening : float
        In [0, 1]: share of the standard deviation of accuracies by which intervals are wider.
    warnings : tuple of Notice
        That every estimate repeats.
    """

    widening: float = 0.0
    warnings: tuple[Notice, ...] = ()


def check_confidences(sets: Sequence[Site]) -> ConfidenceCheck:
    """Evaluate confidences on all labelled boxes together, at IoU .5.

    Of several boxes on an object COCO takes the most confident one, so that any confidences look
    good: whether they say anything is seen where boxes are matched in a random order; over `ORDERS`
    such orders, by which the area varies by half its standard error, the mean counts. Whether the
    most confident ones are less often right (`reliability_drop`) is seen by COCO's order.

    Parameters
    ----------
    sets : sequence of Site
        Labelled sets.

    Returns
    -------
    ConfidenceCheck
        Widened by the probability that the area under the ROC curve is under `LEAST_AREA`, or by
        `reliability_drop`, whichever is larger. Not widened with fewer than `FEWEST_OF_EACH` right
        or wrong boxes, which are not evaluated.

    Raises
    ------
    InputError
        If all confidences are equal, or the area is under `USELESS_AREA` with a probability over
        `REFUSED`.
    """
    counted = [labelled_set.evaluation.counted for labelled_set in sets]
    by_score = [labelled_set.evaluation.matches.hits[AT_HALF] for labelled_set in sets]
    all_scores = [labelled_set.boxes.scores for labelled_set in sets]
    scores, hits_by_score = (
        np.concatenate([values[mine] for values, mine in zip(of_sets, counted, strict=True)])
        for of_sets in (all_scores, by_score)
    )
    areas: list[float] = []
    while len(areas) < ORDERS:
        parts = []
        for labelled_set, mine in zip(sets, counted, strict=True):
            boxes = labelled_set.boxes
            ranks = image_ranks([image.file_name for image in boxes.images])[boxes.image]
            words = np.argsort(np.argsort(boxes.categories))[boxes.label]  # of one box several
            in_order = np.lexsort((words, ranks, boxes.scores, *boxes.boxes.T))  # that of no file
            mixed = np.empty(len(boxes), np.float32)
            mixed[in_order] = np.random.default_rng(len(areas)).permutation(len(boxes))
            matches = match_categories(replace(boxes, scores=mixed), labelled_set.evaluation.truth)
            parts.append(matches.hits[AT_HALF][mine])
        hits = np.concatenate(parts)
        n_right, n_wrong = int(hits.sum()), int((~hits).sum())
        if min(n_right, n_wrong) < FEWEST_OF_EACH:
            return ConfidenceCheck()
        area, error = roc_area(scores, hits)
        areas.append(area)
        if area > LEAST_AREA + FAR * error:  # another order would say the same
            break
    area = float(np.mean(areas))
    poor = float(ndtr((LEAST_AREA - area) / error))
    useless = float(ndtr((USELESS_AREA - area) / error))
    constant = scores.min() == scores.max()
    if useless > REFUSED or constant:
        fault = "are all equal" if constant else "do not predict which of its boxes are right"
        raise InputError(
            f"The confidences of this detector {fault}, so no estimate can be made from them: on "
            f"{n_right} right and {n_wrong} wrong boxes of the labelled images the area under "
            f"their ROC curve is {area:.2f}; chance gives .50, other detectors mostly over .70. "
            "Are the predictions of these images, and is `score` a confidence?"
        )
    drop = reliability_drop(scores, hits_by_score)
    warnings = []
    if poor > NOTICEABLE:
        text = (
            "the confidences may say little of which boxes are right: the area under their "
            f"ROC curve is {area:.2f} ± {error:.2f} on {n_right} right and {n_wrong} wrong "
            "boxes of the labelled images (chance: .50)"
        )
        warnings.append(Notice("confidences-say-little", text))
    if drop:
        text = (
            f"the most confident boxes are less often right than others, by {100 * drop:.0f} "
            "points: look at them; where the labels do not miss objects, the confidences "
            "mislead"
        )
        warnings.append(Notice("confidences-mislead", text))
    return ConfidenceCheck(max(poor if poor > NOTICEABLE else 0.0, drop), tuple(warnings))


def roc_area(scores: np.ndarray, hits: np.ndarray) -> tuple[float, float]:
    r"""Return the area under the ROC curve, and its standard error where scores are by chance.

    The area is the probability that a right box has a higher score than a wrong one. Source: Mann &
    Whitney 1947; equal scores count half.

    Parameters
    ----------
    scores : ndarray of shape (N,)
        Confidences.
    hits : ndarray of shape (N,), bool
        Whether each box is right; some are and some are not.

    Returns
    -------
    tuple of float
        The area in [0, 1], .5 by chance; and :math:`\sqrt{(r + w + 1) / (12 r w)}` with r right and
        w wrong boxes.

    Examples
    --------
    >>> roc_area(np.array([.1, .2, .3, .4]), np.array([False, True, False, True]))[0]
    0.75
    """
    import pandas as pd

    right, wrong = int(hits.sum()), int((~hits).sum())
    ranks = pd.Series(scores).rank().to_numpy()
    below = ranks[hits].sum() - right * (right + 1) / 2
    error = np.sqrt((right + wrong + 1) / (12 * right * wrong))
    return float(below / (right * wrong)), float(error)


def reliability_drop(scores: np.ndarray, hits: np.ndarray) -> float:
    """Return by how much more confident boxes are less often right than others; 0 if not surely.

    Boxes are binned by confidence: the first bin has the `FIRST_BIN` highest, each further one is
    twice as large. Of all pairs of bins the one with the largest difference in standard errors
    counts, if that is over `SURE_ERRORS` and the difference over `LEAST_DROP`.

    Parameters
    ----------
    scores : ndarray of shape (N,)
        Confidences.
    hits : ndarray of shape (N,), bool
        Whether each box is right.

    Returns
    -------
    float
        Difference of two shares of right boxes, in [0, 1].

    Examples
    --------
    The 30 most confident of 90 boxes are wrong, the others are right:

    >>> scores = np.linspace(1, 0, 90)
    >>> round(reliability_drop(scores, scores < scores[29]), 2)
    0.95
    >>> reliability_drop(scores, scores > 0.5)
    0.0
    """
    # of equal scores each box counts as their share of right ones, so that no order matters
    different, of_box, n_equal = np.unique(-scores, return_inverse=True, return_counts=True)
    shares = np.bincount(of_box, hits, minlength=len(different)) / n_equal
    hits_by_score, edges = np.repeat(shares, n_equal), [0]
    # Doubled sizes are fine where confidences are highest, where boxes count most, and coarse where
    # there are many of them.
    while edges[-1] + FIRST_BIN * 2 ** (len(edges) - 1) < len(hits_by_score):
        edges.append(edges[-1] + FIRST_BIN * 2 ** (len(edges) - 1))
    bins = [
        hits_by_score[a:b] for a, b in zip(edges, [*edges[1:], len(hits_by_score)], strict=True)
    ]
    # A success and a failure more (Laplace's rule of succession), so that a bin whose boxes are all
    # right, or all wrong, has a variance, too.
    n = np.array([len(in_bin) + 2 for in_bin in bins])
    share_right = np.array([in_bin.sum() + 1 for in_bin in bins]) / n
    variance = share_right * (1 - share_right) / n
    # Row: the more confident bin, column: the less confident one; above the diagonal alone.
    drop = np.triu(share_right[None, :] - share_right[:, None], 1)
    errors = np.sqrt(variance[None, :] + variance[:, None])
    worst = np.unravel_index(np.argmax(drop / errors), drop.shape)
    # Three standard errors, since the largest of many differences is looked at; and a difference
    # that matters, since over many boxes any is surely there.
    surely = drop[worst] / errors[worst] > SURE_ERRORS and drop[worst] > LEAST_DROP
    return float(drop[worst]) if surely else 0.0


def reliability(sets: Sequence[Site], probabilities: Sequence[np.ndarray]) -> pd.DataFrame:
    """Compare predicted with observed true positives at IoU .5, by calibration and by confidence.

    Parameters
    ----------
    sets : sequence of Site
        Labelled sets.
    probabilities : sequence of ndarray of shape (10, N)
        Of the boxes of each set, by calibrations that have not seen its labels.

    Returns
    -------
    DataFrame
        See `reliability_bins`, after the column ``scale``, `CALIBRATED` or `UNCALIBRATED`.
    """
    import pandas as pd

    columns = []
    for labelled_set, calibrated in zip(sets, probabilities, strict=True):
        evaluation = labelled_set.evaluation
        hits_at_half = evaluation.matches.hits[AT_HALF]
        of_boxes = (calibrated[AT_HALF], labelled_set.boxes.scores, hits_at_half)
        columns.append([values[evaluation.counted] for values in of_boxes])
    p, scores, hits = (np.concatenate(column) for column in zip(*columns, strict=True))
    parts = {CALIBRATED: reliability_bins(p, hits), UNCALIBRATED: reliability_bins(scores, hits)}
    return pd.concat(parts, names=["scale", None]).reset_index(level="scale")


def reliability_bins(predicted: np.ndarray, hits: np.ndarray) -> pd.DataFrame:
    """Bin predicted probabilities into tenths, and count the true positives.

    Parameters
    ----------
    predicted : ndarray of shape (N,)
        In [0, 1].
    hits : ndarray of shape (N,), bool
        Whether each box is right.

    Returns
    -------
    DataFrame
        One row a bin that holds a box: ``predicted`` (mean), ``observed`` (share of true
        positives), ``lower`` and ``upper`` (its 90 % interval by Wilson 1927) and ``n``.
    """
    import pandas as pd

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
    """Return the expected calibration error of a table (Guo et al. 2017, equation 3).

    It is the mean distance of predicted and observed share, each bin weighted by its boxes.

    Parameters
    ----------
    bins : DataFrame
        Of `reliability_bins`, with at least one row: ``predicted``, ``observed`` and ``n`` are
        read.

    Returns
    -------
    float
        In [0, 1].

    Examples
    --------
    >>> import pandas as pd
    >>> calibration_error(pd.DataFrame({"predicted": [.1, .8], "observed": [.2, .8], "n": [1, 3]}))
    0.025
    """
    return float(np.average((bins["predicted"] - bins["observed"]).abs(), weights=bins["n"]))


def calibrate(
    sets: Sequence[Site], prior: CalibrationPrior | None = None
) -> tuple[dict[str, np.ndarray], ScoreCalibration, list[np.ndarray]]:
    """Calibrate confidences, and score labelled sets by calibrations without their labels.

    The expected false negatives, three coefficients, are those of the fit on all sets. Sets are
    cross-fitted in four folds: of groups, or of the images of a single group at random. Of a
    detector that was trained on some of these sites only those count: the model of domain shift
    (`autoeval.model.domain_shift`) starts from a calibration there, and compares the other labelled
    sites with that.

    Parameters
    ----------
    sets : sequence of Site
        Labelled sets.
    prior : CalibrationPrior, optional
        By default that of the panel of detectors, at the lowest floor of the sets.

    Returns
    -------
    tuple of dict, ScoreCalibration and list of ndarray
        Pairs, see `autoeval.model.pair_table`; the calibration on all sets; and of the boxes
        of each set the probabilities (10, N) that were used.
    """
    if prior is None:
        # a set without a box has no floor, NaN
        prior = calibration_prior(np.fmin.reduce([labelled.looks.floor for labelled in sets]))
    probabilities = cross_fitted(sets, prior)
    home = [labelled_set for labelled_set in sets if labelled_set.trained_here] or sets
    calibration = fit_calibration(home, None, prior)
    pairs = list[dict[str, Any]]()
    for labelled_set, p in zip(sets, probabilities, strict=True):
        pairs += labelled_pairs(labelled_set, calibration, probabilities=p)
    return table_of(pairs), calibration, probabilities


def calibrated_rows(
    sets: Sequence[Site], *, prior: CalibrationPrior | None = None
) -> tuple[pd.DataFrame, ScoreCalibration]:
    """Return the pairs of `calibrate` as a DataFrame, and the calibration.

    Parameters
    ----------
    sets : sequence of Site
        Labelled sets.
    prior : CalibrationPrior, optional
        By default that of the panel of detectors for files as they come.
    """
    import pandas as pd

    pairs, calibration, _ = calibrate(sets, prior or calibration_prior())
    return pd.DataFrame(pairs), calibration


def cross_fitted(sets: Sequence[Site], prior: CalibrationPrior) -> list[np.ndarray]:
    """Return the probabilities of the boxes of each set, by calibrations on the other folds.

    Where the detector was trained on some of the sets, those are cross-fitted among themselves, and
    the others are read by the calibration on all of them.

    Parameters
    ----------
    sets : sequence of Site
        Labelled sets.
    prior : CalibrationPrior
        Of the detector's calibration.

    Returns
    -------
    list of ndarray of shape (10, N)
        True-positive probabilities at each IoU threshold, in the order of the sets.
    """
    home = [site for site in sets if site.trained_here]
    if 0 < len(home) < len(sets):
        calibration, at_home = fit_calibration(home, None, prior), iter(cross_fitted(home, prior))
        return [
            next(at_home)
            if labelled_set.trained_here
            else calibration.probabilities(labelled_set.boxes.scores, labelled_set.boxes.boxes)
            for labelled_set in sets
        ]
    folds = image_folds(sets)
    probabilities = [
        np.zeros((len(IOU_THRESHOLDS), len(labelled_set.boxes))) for labelled_set in sets
    ]
    for fold in range(FOLDS):
        if not any((image_fold == fold).any() for image_fold in folds):
            continue
        calibration = fit_calibration(sets, [image_fold != fold for image_fold in folds], prior)
        for labelled_set, image_fold, p in zip(sets, folds, probabilities, strict=True):
            mine = image_fold[labelled_set.boxes.image] == fold
            boxes = labelled_set.boxes.where(mine)
            p[:, mine] = calibration.probabilities(boxes.scores, boxes.boxes)
    return probabilities


def fit_calibration(
    sets: Sequence[Site], images: Sequence[np.ndarray] | None, prior: CalibrationPrior
) -> ScoreCalibration:
    """Fit a calibration on some images of each labelled set.

    Boxes of categories that a set does not label at all say nothing, nor do those without area,
    which are false positives whatever their score.

    Parameters
    ----------
    sets : sequence of Site
        Labelled sets; each weighs by its categories with labels enough, at least 1.
    images : sequence of ndarray of shape (M,), bool, optional
        Which images of each set are used; None for all.
    prior : CalibrationPrior
        Of the coefficients.
    """
    images = images or [np.ones(len(labelled_set), bool) for labelled_set in sets]
    scores, matched = [], []
    n_pairs = [max(sum(labelled_set.evaluation.enough), 1) for labelled_set in sets]
    for labelled_set, chosen in zip(sets, images, strict=True):
        boxes, evaluation = labelled_set.boxes, labelled_set.evaluation
        usable = evaluation.counted & chosen[boxes.image] & has_area(boxes.boxes)
        scores.append(boxes.scores[usable])
        matched.append(evaluation.matches.hits[:, usable])
    coefficients = fit_boxes(scores, matched, prior, n_pairs)
    missed = _fit_missed_objects(sets, images, coefficients, prior)
    return ScoreCalibration(coefficients, missed)


def _fit_missed_objects(
    sets: Sequence[Site],
    images: Sequence[np.ndarray],
    boxes: np.ndarray,
    prior: CalibrationPrior,
) -> np.ndarray:
    """Fit `ScoreCalibration.missed` on some images of each set, given its coefficients of boxes.

    Counted are the false negatives, at IoU .5, of the images with labels of a category or with a
    box of it that is right with a probability over `FOUND`. A category without a label on the
    images that are used is passed over.

    Parameters
    ----------
    sets : sequence of Site
        Labelled sets.
    images : sequence of ndarray of shape (M,), bool
        Which images of each set are used.
    boxes : ndarray of shape (10, 3)
        `ScoreCalibration.boxes`.
    prior : CalibrationPrior
        Of which ``missed`` is read.

    Returns
    -------
    ndarray of shape (3,)
    """
    calibration = ScoreCalibration(boxes, prior.missed.mean)
    observed = []
    for labelled_set, chosen in zip(sets, images, strict=True):
        detections = labelled_set.boxes
        p = calibration.at_half(detections.scores, detections.boxes)
        of_set, n_missed = [np.zeros((3, 0))], [np.zeros(0)]
        for k, ranking in enumerate(labelled_set.evaluation.rankings):
            rows = detections.rows_of[k]
            shown = ranking.n_true > 0
            if not (shown & chosen).any():
                continue
            shown[detections.image[rows[p[rows] > FOUND]]] = True
            hits = np.bincount(ranking.image, ranking.hits[AT_HALF], minlength=len(shown))
            used = shown & chosen
            of_set.append(image_terms(p[rows], detections.image[rows], len(shown))[:, used])
            n_missed.append(np.maximum(ranking.n_true - hits, 0)[used])
        n_pairs = max(sum(labelled_set.evaluation.enough), 1)
        terms, missed = np.concatenate(of_set, axis=1), np.concatenate(n_missed)
        observed.append(SiteData(terms, missed, n_pairs))
    return fit_coefficients(observed, prior.missed, poisson)


def with_calibrated_reference(sets: Sequence[Site]) -> tuple[list[Site], ScoreCalibration]:
    """Return labelled sets whose reference detector is calibrated, and that calibration.

    The probabilities of a set are by calibrations that have not seen its labels: else a reference
    would look more certain where it is compared with the detector's accuracy than at a new site.

    Parameters
    ----------
    sets : sequence of Site
        Labelled sets, of which at least one has a reference.

    Returns
    -------
    tuple of list of Site and ScoreCalibration
        Sets without a reference are returned as they are.
    """
    with_reference = [labelled_set for labelled_set in sets if labelled_set.reference is not None]
    # the same sets with the boxes of the reference in place of the detector's; where the detector
    # was trained says nothing of the reference
    as_detector = [
        replace(
            site,
            boxes=site.of_reference.boxes,
            evaluation=site.of_reference,
            reference=None,
            trained_here=False,
        )
        for site in with_reference
    ]
    floors = [reference_set.boxes.floor for reference_set in as_detector]  # NaN without a box
    prior = calibration_prior(np.fmin.reduce(floors))
    calibration = fit_calibration(as_detector, None, prior)
    probabilities = [p[AT_HALF] for p in cross_fitted(as_detector, prior)]
    of_set = dict(zip(map(id, with_reference), probabilities, strict=True))
    with_probabilities = [
        replace(site, reference_calibration=calibration, reference_probabilities=of_set[id(site)])
        if id(site) in of_set
        else site
        for site in sets
    ]
    return with_probabilities, calibration


def fits_above(
    sets: Sequence[Site],
    calibration: ScoreCalibration,
    probabilities: Sequence[np.ndarray],
    *,
    floors: Sequence[float] = FLOORS,
    prior: CalibrationPrior | None = None,
) -> dict[float, FloorFit]:
    """Fit labelled sets at every floor above those of their files.

    That is, above the lowest of them, and from the highest on. A floor over which a set with boxes
    has none left is left out. What a confidence says of a box stays; how many objects are missed is
    fitted again, on the sets that the calibration is of.

    Parameters
    ----------
    sets : sequence of Site
        Labelled sets.
    calibration : ScoreCalibration
        Of all their boxes, see `calibrate`.
    probabilities : sequence of ndarray of shape (10, N)
        Of the boxes of each set, see `calibrate`.
    floors : sequence of float
        Scores in [0, 1]; those below the highest floor of the sets are left out.
    prior : CalibrationPrior, optional
        By default that of the panel of detectors at each floor.

    Returns
    -------
    dict of float to FloorFit
        By floor, in the order of `floors`.
    """
    begins = [labelled_set.looks.floor for labelled_set in sets]
    lowest, highest = np.fmin.reduce(begins), np.fmax.reduce(begins)
    fits = {}
    for floor in floors:
        single = np.float32(floor)
        kept = [labelled_set.boxes.scores.astype(np.float32) >= single for labelled_set in sets]
        of_files = floor <= lowest + SAME_FLOOR or floor < highest - SAME_FLOOR
        if of_files or any(len(of) and not of.any() for of in kept):
            continue
        above = [labelled_set.above(floor) for labelled_set in sets]
        home = [labelled_set for labelled_set in above if labelled_set.trained_here] or above
        all_images = [np.ones(len(labelled_set), bool) for labelled_set in home]
        floor_prior = prior or calibration_prior(floor)
        missed = _fit_missed_objects(home, all_images, calibration.boxes, floor_prior)
        floor_calibration = ScoreCalibration(calibration.boxes, missed)
        pairs = list[dict[str, Any]]()
        for cut, boxes, p in zip(above, kept, probabilities, strict=True):
            pairs += labelled_pairs(cut, floor_calibration, probabilities=p[:, boxes])
        fits[floor] = FloorFit(table_of(pairs), floor_calibration)
    return fits
