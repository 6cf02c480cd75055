"""What is done at a new site: estimate, plan labels, estimate with them, choose a threshold.

Each function is a command, too: `estimate`, `label plan`, `label estimate` and `threshold`. The
first two, and `threshold` with an estimator, estimate the site by
`autoeval.api.options.estimate_from_options`; the third reads a plan. What is computed is in
`autoeval.estimation` and `autoeval.labels`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import Unpack

from autoeval.accuracy.measures import AP_TARGETS, IOUS
from autoeval.api.options import (
    HOW_IT_RUNS,
    OF_A_RUN,
    OF_FILES,
    OF_REFERENCE,
    SiteOptions,
    detector_of_fit,
    estimate_from_options,
    found_images,
    given_boxes_of,
    load_estimator,
    reference_is_for,
)
from autoeval.errors import InputError
from autoeval.runtime.files import is_json
from autoeval.words import Notice, refuse_given

if TYPE_CHECKING:
    from autoeval.estimation.estimate import Estimate
    from autoeval.estimation.estimator import AccuracyEstimator
    from autoeval.estimation.given import GivenLabels
    from autoeval.estimation.threshold_choice import ThresholdChoice
    from autoeval.io.labels.content import LabelSet
    from autoeval.labels.labelled_estimate import LabelledEstimate
    from autoeval.labels.plan import LabelPlan
    from autoeval.runtime.files import PathLike

USUAL_FIT = "work_dirs/fit"
FIT_HERE = "fit"  # below the work dir of an estimate that fits
LEVEL = 0.9  # of a labelled set, whose curve is exact


def estimate(
    predictions: Any = None,
    *,
    estimator: AccuracyEstimator | PathLike | None = None,
    fit_labels: GivenLabels | None = None,
    fit_predictions: Any = None,
    trained_here: bool = False,
    target: str | None = None,
    score_thr: float | None = None,
    iou: float = IOUS[0],
    work_dir: PathLike | None = None,
    **site: Unpack[SiteOptions],
) -> Estimate:
    """Estimate how accurate a detector is on images that nobody has labelled.

    Parameters
    ----------
    predictions : path-like, object in memory, Predictions, Detector or ImageDetector, optional
        Boxes on the new images, such as COCO results, Parquet or a folder of text files (all
        formats: docs/how-to/predictions.md); by default the detector of the estimator is run on
        the images.
    estimator : AccuracyEstimator or path-like, optional
        What `autoeval fit` wrote: a work dir, or estimator.parquet (default: work_dirs/fit).
    fit_labels : path-like or object in memory, optional
        Fit here first, on this labelled set, in place of an estimator; kept in the work dir. Where
        its images lie may be said by img_dir, if the new images are no COCO JSON.
    fit_predictions : path-like, object in memory, optional
        Boxes of the detector on the labelled set that is fitted on; by default it is run there.
    trained_here : bool
        The detector was trained on other images of the labelled site that is fitted on.
    target : str, optional
        What is estimated: mAP, mAP50, mAP75, or with a score threshold precision, recall or f1
        (default: that of the fit).
    score_thr : float, optional
        Score threshold: estimate precision, recall and F1 there, too.
    iou : float
        At which IoU with a labelled object a box over the threshold is a true positive.
    work_dir : path-like, optional
        Where results go, and what a detector that is run observes.
    **site
        See `autoeval.api.options.SiteOptions`.

    Returns
    -------
    Estimate
        Its `site` holds the boxes. Without a value where nothing was found.

    Raises
    ------
    InputError
        As `fit` and `AccuracyEstimator.predict`, or if options exclude each other.

    Examples
    --------
    A fit on twelve images with two cars each, of which the detector misses every sixth, and an
    estimate for images on which it finds the same with lower scores:

    >>> size = {"height": 480, "width": 640}
    >>> images = [{"id": k, "file_name": f"{k}.jpg", **size} for k in range(12)]
    >>> cars = [
    ...     {"image_id": k // 2, "category_id": 1, "bbox": [20 + 300 * (k % 2), 99, 60, 40]}
    ...     for k in range(24)
    ... ]
    >>> labels = {"images": images, "categories": [{"id": 1, "name": "car"}], "annotations": cars}
    >>> boxes = [{**car, "score": 0.9 - 0.03 * k} for k, car in enumerate(cars) if k % 6 != 5]
    >>> boxes += [{**car, "bbox": [20, 300, 60, 40], "score": 0.02} for car in cars[::2]]
    >>> new = [{**box, "score": 0.8 * box["score"]} for box in boxes]
    >>> estimated = estimate(
    ...     new, images={"images": images}, fit_labels=labels, fit_predictions=boxes
    ... )
    >>> estimated.target, estimated.n_images, estimated.lower < estimated.value < estimated.upper
    ('mAP', 12, True)
    """
    if predictions is None and site.get("images") is None:
        raise InputError("Expected --images PATH, or --predictions FILE.")
    of_fit: tuple[Notice, ...] = ()
    if fit_labels is None:
        if fit_predictions is not None or trained_here:
            name = "--fit-predictions" if fit_predictions is not None else "--trained-here"
            raise InputError(f"{name} goes with --fit-labels: give that, too, or leave it out.")
        chosen_estimator = USUAL_FIT if estimator is None else estimator
    else:
        if estimator is not None:
            raise InputError("Expected either --estimator or --fit-labels, which makes one.")
        fit_img_dir, images = None, site.get("images")
        if predictions is None:  # a mistyped path is found before the detector is run
            if not (isinstance(images, str | os.PathLike) and is_json(images)):
                fit_img_dir = site.pop("img_dir", None)
            site = {**site, "images": found_images(site)}
            site.pop("every", None)
            site.pop("img_dir", None)
        chosen_estimator = _fitted_here(
            fit_labels, fit_predictions, fit_img_dir, trained_here, work_dir, site
        )
        of_fit = chosen_estimator.fit_result_.warnings if chosen_estimator.fit_result_ else ()
    fitted = load_estimator(chosen_estimator, target, score_thr, iou)
    at: dict[str, Any] = {"score_thr": score_thr, "iou": iou}
    estimated = estimate_from_options(fitted, predictions, site, work_dir, **at)
    # Nobody has seen the result of a fit that is made here.
    return replace(estimated, warnings=tuple(dict.fromkeys((*of_fit, *estimated.warnings))))


def _fitted_here(
    labels: Any,
    predictions: Any,
    img_dir: Any,
    trained_here: bool,
    work_dir: Any,
    site: SiteOptions,
) -> AccuracyEstimator:
    """Fit on a labelled set with the detector, or on its predictions there, as `fit` does.

    Parameters
    ----------
    labels, predictions, img_dir, trained_here
        See `fit`.
    work_dir : path-like, optional
        The fit is kept in its subfolder `FIT_HERE`.
    site : SiteOptions
        Of which those count that are about the detector, or about files, and the categories.
    """
    from autoeval.api.fit_functions import fit

    names = OF_FILES if predictions is not None else (*OF_A_RUN, "reference")
    boxes: Any = {name: value for name, value in site.items() if name in names}
    return fit(
        labels,
        predictions,
        img_dir=img_dir,
        trained_here=trained_here,
        categories=site.get("categories"),
        work_dir=None if work_dir is None else Path(work_dir) / FIT_HERE,
        **boxes,
    )


def plan_labels(
    estimator: AccuracyEstimator | PathLike,
    predictions: Any = None,
    *,
    target: str | None = None,
    score_thr: float | None = None,
    iou: float = IOUS[0],
    n: int = 20,
    seed: int | None = None,
    frames: int | None = None,
    prelabel: bool = False,
    compare: AccuracyEstimator | PathLike | None = None,
    compare_predictions: Any = None,
    work_dir: PathLike | None = None,
    **site: Unpack[SiteOptions],
) -> LabelPlan:
    """Draw images to label: few, spread, by stored probabilities, and forecast the precision.

    Parameters
    ----------
    estimator : AccuracyEstimator or path-like
        What `autoeval fit` wrote: a work dir, or estimator.parquet.
    predictions : path-like, object in memory, Predictions, Detector or ImageDetector, optional
        Boxes on the pool, as in `estimate`; by default the detector of the estimator is run.
    target : str, optional
        What labels are to measure: mAP, mAP50, mAP75, or with a score threshold precision, recall
        or f1 (default: that of the fit).
    score_thr : float, optional
        Score threshold: measure precision, recall and F1 there, too.
    iou : float
        At which IoU with a labelled object a box over the threshold is a true positive.
    n : int
        Images to label.
    seed : int, optional
        Of the draw (default: 0, or that of the plan in the work dir).
    frames : int, optional
        Numbered files are frames of a camera: spread the draw over time, and count labelled frames
        within blocks of so many as one (default: none, or as the plan in the work dir).
    prelabel : bool
        Offer the detector's boxes to CVAT and Label Studio; they bias who labels.
    compare : AccuracyEstimator or path-like, optional
        Draw images that show the difference to this detector, named by the work dir of its fit (see
        `autoeval compare`).
    compare_predictions : path-like, object in memory, optional
        Boxes of that detector on the pool; by default it is run.
    work_dir : path-like, optional
        The folder to label, and the plan; planning there again with a larger n keeps what was
        drawn.
    **site
        See `autoeval.api.options.SiteOptions`; the images are the pool that the estimate is about.

    Returns
    -------
    LabelPlan
        Its `files` are those that were written into the work dir.

    Raises
    ------
    InputError
        As `AccuracyEstimator.predict` and `AccuracyEstimator.plan_labels`, or if options exclude
        each other.

    Examples
    --------
    A plan takes a fit with label assistance, on 20 labelled images or more:

    >>> import autoeval
    >>> site = {"images": "site", "work_dir": "labels"}
    >>> plan = autoeval.plan_labels("fit", "boxes.json", n=20, **site)  # doctest: +SKIP
    >>> print(plan)  # doctest: +SKIP
    """
    from autoeval.estimation.given import Predictions
    from autoeval.estimation.label_planning import PlanRequest, plan_in_folder

    if compare is None and compare_predictions is not None:
        raise InputError("--compare-predictions goes with --compare: give that, too.")
    if prelabel and work_dir is None:
        raise InputError("`prelabel` writes into `work_dir`: give that, too, or leave it out.")
    fitted = load_estimator(estimator, target, score_thr, iou)
    other_fit = None if compare is None else load_estimator(compare).for_target(fitted.target)
    by_files = not isinstance(compare_predictions, Predictions | None)
    if (
        isinstance(compare_predictions, str | os.PathLike)
        and not Path(compare_predictions).exists()
    ):
        raise InputError(f"No predictions file {compare_predictions}: check the path.")
    of_first: dict[str, Any] = dict(site)
    of_other = True  # whether the reference is for the other fit
    if other_fit is not None and not isinstance(compare_predictions, Predictions):
        of_this, of_other = reference_is_for((fitted, other_fit))
        if not of_this:
            of_first = {name: v for name, v in of_first.items() if name not in OF_REFERENCE}
    estimated = estimate_from_options(
        fitted, predictions, of_first, work_dir, score_thr=score_thr, iou=iou
    )
    folder = None if work_dir is None else Path(work_dir)
    request = PlanRequest(n, seed=seed, frames=frames, everywhere=compare is not None)
    if other_fit is None:
        return plan_in_folder(fitted, estimated, folder, request, prelabel=prelabel)
    from autoeval.comparison.paired_labels import plan_difference
    from autoeval.io.image_lists import STANDARD_INPUT

    assert estimated.site is not None
    boxes, keep = compare_predictions, None
    if by_files:  # read as the boxes of the first detector are
        of_files: dict[str, Any] = {name: site.get(name) for name in OF_FILES}
        if of_other:
            of_files |= {name: site.get(name) for name in ("reference", "reference_names")}
        boxes = given_boxes_of(boxes, of_files)
    if boxes is None:
        of_run = (*HOW_IT_RUNS, *(OF_REFERENCE if of_other else ()))
        boxes = detector_of_fit(other_fit, {name: site.get(name) for name in of_run})
        keep = boxes and boxes.keeping(folder and folder / "compared")
    images = site.get("images")
    if isinstance(images, str) and images == STANDARD_INPUT:  # which the first one has read
        images = estimated.site.images or estimated.site.boxes.images
    elif compare_predictions is None:
        images = found_images(site)
    other_site = other_fit.read_site(
        boxes,
        images=images,
        categories=site.get("categories"),
        present=site.get("present") or (),
        keep=keep,
    )
    name = str(compare) if isinstance(compare, str | os.PathLike) else "the other detector"
    return plan_difference(
        {"the detector": fitted, name: other_fit},
        {"the detector": estimated.site, name: other_site},
        folder,
        request,
        prelabel=prelabel,
    )


def estimate_with_labels(
    plan: LabelPlan | PathLike,
    labels: GivenLabels,
    *,
    img_dir: PathLike | None = None,
    words: Mapping[str, str] | None = None,
    planned: bool = True,
    score_thr: float | None = None,
) -> LabelledEstimate:
    """Estimate accuracy from the labels of a plan, the boxes of all images, and label-free scores.

    Labels that no plan drew are for `autoeval estimate` with its labels.

    Parameters
    ----------
    plan : LabelPlan or path-like
        What `label plan` wrote; in Python also what `plan_labels` returned.
    labels : path-like
        COCO, YOLO or VOC, as they were made.
    img_dir : path-like, optional
        Folder of the labelled images, where their format does not say.
    words : mapping of str to str, optional
        Words of the labels that count, each with the category of the estimate, as
        WORD=CATEGORY,...; by default equal words, and the detector's words for a category where
        these were given.
    planned : bool
        Whether the plan drew the labelled images. Otherwise all that are labelled are taken, as a
        simple random sample.
    score_thr : float, optional
        Estimate precision, recall and F1 of the boxes over this score, too; by default where the
        plan was made for a threshold.

    Returns
    -------
    LabelledEstimate
        The label-free estimate and the labels, combined by their variances.

    Raises
    ------
    InputError
        If plan or labels cannot be read, or do not belong together.

    Examples
    --------
    Mostly a plan is a folder that `plan_labels` wrote. By hand, for six images with a car each,
    which are all labelled, and found in four of them:

    >>> import numpy as np
    >>> from autoeval.boxes import Boxes, LabelledImage
    >>> from autoeval.labels.assistance import NO_INFLUENCE
    >>> from autoeval.labels.plan import BY_CHANCE, ByImage, LabelPlan
    >>> from autoeval.labels.values import ValueWithError
    >>> images = tuple(LabelledImage(str(k), f"{k}.jpg", (480, 640)) for k in range(6))
    >>> corners, n = np.tile([0.0, 0.0, 99.0, 99.0], (4, 1)), np.arange(4)
    >>> plan = LabelPlan(
    ...     Boxes(images, ("car",), n, np.zeros(4, int), corners, np.full(4, 0.9)),
    ...     ByImage.unknown(1, 3, 6), holding=np.ones((2, 1)), sequence=np.arange(6), n=6, seed=0,
    ...     order=BY_CHANCE, blocks=np.arange(6), mixing=NO_INFLUENCE, small_sample_bias=0.0,
    ...     priors={"mAP": ValueWithError(0.4, 0.08)}, target="mAP", level=0.9, detector="by hand",
    ... )
    >>> labels = {
    ...     "images": [{"id": k, "file_name": f"{k}.jpg"} for k in range(6)],
    ...     "categories": [{"id": 1, "name": "car"}],
    ...     "annotations": [
    ...         {"image_id": k, "category_id": 1, "bbox": [0, 0, 99, 99]} for k in range(6)
    ...     ],
    ... }
    >>> estimated = estimate_with_labels(plan, labels)
    >>> round(estimated.value, 2), estimated.lower == estimated.upper  # nothing is left to estimate
    (0.66, True)
    """
    from autoeval.estimation.given import read_labels
    from autoeval.labels.labelled_estimate import estimate_with_labels as estimate_plan
    from autoeval.labels.plan import LabelPlan
    from autoeval.labels.plan_folder import load_plan

    plan = plan if isinstance(plan, LabelPlan) else load_plan(plan)
    content = read_labels(labels, img_dir)
    return estimate_plan(plan, content, words=words, planned=planned, score_thr=score_thr)


def threshold(
    estimator: AccuracyEstimator | PathLike | None = None,
    predictions: Any = None,
    *,
    precision: float | None = None,
    recall: float | None = None,
    iou: float = IOUS[0],
    labels: GivenLabels | None = None,
    words: Mapping[str, str] | None = None,
    plan: PathLike | None = None,
    work_dir: PathLike | None = None,
    **site: Unpack[SiteOptions],
) -> ThresholdChoice:
    """Choose the score threshold that reaches a wanted recall or precision, or the best F1.

    At a new site (an estimator with images or predictions), without labels or with those of a
    simple random sample; with the labels of a plan; or exactly on a labelled set (labels with
    predictions, without an estimator).

    Parameters
    ----------
    estimator : AccuracyEstimator or path-like, optional
        What `autoeval fit` wrote: a work dir, or estimator.parquet.
    predictions : path-like, object in memory, Predictions, Detector or ImageDetector, optional
        Boxes on the images; by default the detector of the estimator is run.
    precision : float, optional
        Wanted precision, over 0 and under 1, such as .9; one of precision and recall, or neither.
    recall : float, optional
        Wanted recall, over 0 and under 1, such as .9.
    iou : float
        At which IoU with a labelled object a box is a true positive.
    labels : path-like, optional
        Labels of some of the images, of those of the plan, or of a labelled set.
    words : mapping of str to str, optional
        Words of the labels that count, each with its category, as WORD=CATEGORY,...; by default
        equal words, and the detector's words for a category where these were given.
    plan : path-like, optional
        What `label plan` wrote, with the labels of its images.
    work_dir : path-like, optional
        Where results go, and what a detector that is run observes.
    **site
        See `autoeval.api.options.SiteOptions`.

    Returns
    -------
    ThresholdChoice

    Raises
    ------
    InputError
        As `AccuracyEstimator.predict`, or if both a precision and a recall are wanted, labels of a
        new site lie in the folder of a plan, or options exclude each other.

    Examples
    --------
    On a labelled set, counted. Ten cars in five images; nine of ten are found with scores up to .9,
    the last one with a score of .3:

    >>> images = [{"id": k, "file_name": f"{k}.jpg", "width": 99, "height": 99} for k in range(5)]
    >>> cars = [
    ...     {"image_id": k % 5, "category_id": 1, "bbox": [50 * (k // 5), 9, 30, 20]}
    ...     for k in range(10)
    ... ]
    >>> labels = {"images": images, "categories": [{"id": 1, "name": "car"}], "annotations": cars}
    >>> boxes = [{**car, "score": 0.9 if k else 0.3} for k, car in enumerate(cars)]
    >>> boxes.append({"image_id": 0, "category_id": 1, "bbox": [60, 60, 20, 20], "score": 0.01})
    >>> choice = threshold(labels=labels, predictions=boxes, recall=0.9)
    >>> choice.value, choice.at["recall"]["value"], choice.at["precision"]["value"]
    (0.89, 0.9, 1.0)
    """
    from autoeval.estimation.given import read_labels, refuse_planned
    from autoeval.estimation.threshold_choice import THRESHOLDS, check_wanted, choose_from

    check_wanted(precision, recall)
    if labels is None and words:
        raise InputError("--words goes with --labels: give that, too, or leave it out.")
    start = None
    if plan is not None:
        options = {"estimator": estimator, "predictions": predictions, **site}
        refuse_given(options, "has no use with --plan", [n for n in options if n != "img_dir"])
        curve, warnings, lowest, level = _curve_of_plan(plan, labels, words, site, iou)
    elif estimator is not None:
        refuse_planned(labels, "threshold")
        # curves are of all thresholds, whatever the fit estimates
        fitted = load_estimator(estimator, AP_TARGETS[0])
        level = fitted.level
        at: dict[str, Any] = {}
        if labels is not None:  # their plan has the boxes from the lowest threshold on
            at = {"score_thr": THRESHOLDS[0], "iou": iou}
        of_labels = labels is not None
        content = read_labels(labels, site.get("img_dir")) if of_labels else None
        estimated = estimate_from_options(
            fitted, predictions, site, work_dir, labels=of_labels, **at
        )
        curve, warnings, lowest = _curve_of_site(fitted, estimated, iou, content, words)
    else:
        curve, warnings, lowest, start = _curve_of_labelled_set(
            labels, predictions, words, site, iou
        )
        level = LEVEL
    return choose_from(
        curve,
        start=start,
        lowest=lowest,
        precision=precision,
        recall=recall,
        level=level,
        warnings=warnings,
    )


def _curve_of_plan(
    plan: PathLike, labels: Any, words: Any, site: SiteOptions, iou: float
) -> tuple[Any, Any, float, float]:
    """Return the curve of the labels of a plan, its warnings, the lowest score, and its level.

    Parameters
    ----------
    plan, labels, words, iou
        As given to `threshold`.
    site : SiteOptions
        Of which ``img_dir`` is read.

    Returns
    -------
    tuple of callable, tuple of Notice, float and float
        The curve at some thresholds, see `autoeval.estimation.threshold_choice.choose_from`.

    Raises
    ------
    InputError
        If there are no labels, or the plan is for another IoU.
    """
    from autoeval.estimation.given import read_labels
    from autoeval.estimation.threshold_choice import labelled_curve
    from autoeval.labels.labelled_estimate import labelled_part, labels_of_plan
    from autoeval.labels.plan_folder import load_plan

    if labels is None:
        raise InputError("--plan needs --labels PATH: the labels of its images.")
    drawn = load_plan(plan)
    content = labels_of_plan(read_labels(labels, site.get("img_dir")), drawn, words)
    if iou != drawn.iou:
        raise InputError(f"This plan is for an IoU of {drawn.iou:g}, not {iou:g}.")
    part = labelled_part(drawn, content, words, at_threshold=True)
    lowest = part.plan.found.floor
    return lambda at: labelled_curve(part, at), part.all_warnings, lowest, drawn.level


def _curve_of_site(
    fitted: AccuracyEstimator,
    estimated: Estimate,
    iou: float,
    content: LabelSet | None,
    words: Any,
) -> tuple[Any, Any, float]:
    """Return the curve at a new site, label-free or of labels, its warnings, and the lowest score.

    Parameters
    ----------
    fitted : AccuracyEstimator
        The estimator.
    estimated : Estimate
        Of the site; with labels at the lowest threshold.
    iou, words
        As given to `threshold`.
    content : LabelSet or None
        Its labels.

    Raises
    ------
    InputError
        If nothing was found and there are no labels.
    """
    from autoeval.estimation.label_planning import plan_of_sample
    from autoeval.estimation.threshold_choice import (
        curve_warnings,
        expected_curve,
        labelled_curve,
    )
    from autoeval.labels.labelled_estimate import labelled_part, labels_of_plan

    assert estimated.site is not None
    if content is None:
        if estimated.site.nothing_found:
            raise InputError(f"There is no threshold to choose: {estimated.width_warning}.")
        return (
            lambda thresholds: expected_curve(fitted, estimated, iou, thresholds),
            curve_warnings(fitted, estimated),
            estimated.site.boxes.floor,
        )
    plan = plan_of_sample(fitted, estimated, content)
    content = labels_of_plan(content, plan, words)
    part = labelled_part(plan, content, words, planned=False, at_threshold=True)
    return lambda at: labelled_curve(part, at), part.all_warnings, part.plan.found.floor


def _curve_of_labelled_set(
    labels: Any, predictions: Any, words: Any, site: SiteOptions, iou: float
) -> tuple[Any, Any, float, Any]:
    """Return the exact curve of a labelled set, its warnings, the lowest score, and thresholds.

    Parameters
    ----------
    labels, predictions, words, iou
        As given to `threshold`.
    site : SiteOptions
        How files are read, ``categories`` and ``img_dir``; others are refused.

    Raises
    ------
    InputError
        If there are no labels or no predictions, or an option would have no effect.
    """
    from autoeval.boxes import words_of
    from autoeval.estimation.given import Predictions, named_categories
    from autoeval.estimation.labelled_sets import labels_with_files
    from autoeval.estimation.threshold_choice import exact_curve, score_thresholds

    files = given_boxes_of(predictions, site)
    if labels is None or not isinstance(files, Predictions):
        raise InputError(
            "Expected --estimator FILE with a new site, --plan DIR with its --labels, or the "
            "--labels and --predictions of a labelled set."
        )
    options: dict[str, Any] = {**site, "words": words}
    unread = ("images", "every", "present", "site", "group", "reference", "words")
    refuse_given(
        options, "has no use with the --labels and --predictions of a labelled set", unread
    )
    named = named_categories(site.get("categories"))
    labelled = labels_with_files(
        labels,
        files,
        img_dir=site.get("img_dir"),
        words=None if named is None else words_of(named),
        unpredicted=True,
    )
    # Every category counts, however few labels it has for a fit.
    left_out = [n for n in labelled.left_out if n.code != "categories-rarely-labelled"]
    return (
        lambda thresholds: exact_curve(labelled.evaluation.rankings, iou, thresholds),
        (*left_out, *labelled.looks.warnings),
        labelled.evaluation.boxes.floor,
        score_thresholds(labelled.evaluation.rankings),
    )
