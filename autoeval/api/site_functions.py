"""What is done at a new site: plan labels, estimate with them, choose a score threshold."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoeval.api.estimator_paths import load_estimator
from autoeval.errors import InputError
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.given_boxes import GivenBoxes
from autoeval.estimation.labelled_files import GivenLabels, read_labels
from autoeval.estimation.plan_folder import plan_in_folder
from autoeval.labels.labelled_estimate import LabelledEstimate
from autoeval.labels.plan import LabelPlan
from autoeval.labels.plan_file import load_plan
from autoeval.labels.with_labels import estimate_with_labels as estimate_plan
from autoeval.labels.with_labels import warnings_with_labels
from autoeval.runtime.files import PathLike
from autoeval.targets import IOUS

if TYPE_CHECKING:
    from autoeval.estimation.threshold_choice import ThresholdChoice


def plan_labels(
    estimator: AccuracyEstimator | PathLike,
    boxes: GivenBoxes | None = None,
    *,
    images: Any = None,
    n: int = 20,
    seed: int | None = None,
    frames: int | None = None,
    folder: PathLike | None = None,
    **site: Any,
) -> LabelPlan:
    """Draw images of a new site to label, and say how precise their labels will make the estimate.

    Parameters
    ----------
    estimator : AccuracyEstimator or path-like
    boxes, images, **site
        See `AccuracyEstimator.predict`.
    n, seed, frames
        See `AccuracyEstimator.plan_labels`; where `folder` holds a plan its seed and its frames.
    folder : path-like, optional
        Write the plan there with a copy of the images, ready to be labelled; a plan that is there
        is enlarged to `n` images.

    Raises
    ------
    InputError
        As `AccuracyEstimator.predict` and `AccuracyEstimator.plan_labels`.
    """
    unread = [name for name in ("labels", "img_dir", "words") if site.get(name) is not None]
    if unread:
        raise InputError(
            f"`{unread[0]}` is about labels, which a plan is made before: leave it out, and give "
            "them to `estimate_with_labels`."
        )
    fitted = load_estimator(estimator)
    estimate = fitted.predict(boxes, images=images, **site)
    if folder is None:
        return fitted.plan_labels(estimate, n=n, seed=seed or 0, frames=frames)
    return plan_in_folder(fitted, estimate, Path(folder), n=n, seed=seed, frames=frames)[0]


def estimate_with_labels(
    plan: LabelPlan | PathLike,
    labels: GivenLabels,
    *,
    img_dir: PathLike | None = None,
    words: Mapping[str, str] | None = None,
    planned: bool = True,
    score_thr: float | None = None,
) -> LabelledEstimate:
    """Estimate the accuracy at the site of a plan from the labels of the images that it drew.

    Parameters
    ----------
    plan : LabelPlan or path-like
        From `plan_labels`, or the folder that it was written to.
    labels : path-like
        In any format that `autoeval.load_labels` reads.
    img_dir : path-like, optional
        Folder of the labelled images, where their format does not say.
    words : mapping of str to str, optional
        Category of the estimate for each word of the labels; by default equal words.
    planned : bool
        Whether the plan drew the labelled images. Otherwise all that are labelled are taken, as a
        simple random sample.
    score_thr : float, optional
        Estimate precision, recall and F1 of the boxes over this score, too; by default where the
        plan was made for a threshold.

    Raises
    ------
    InputError
        If plan or labels cannot be read, or do not belong together.
    """
    plan = plan if isinstance(plan, LabelPlan) else load_plan(plan)
    content = read_labels(labels, img_dir)
    return estimate_plan(plan, content, words=words, planned=planned, score_thr=score_thr)


def threshold(
    estimator: AccuracyEstimator | PathLike,
    boxes: GivenBoxes | None = None,
    *,
    precision: float | None = None,
    recall: float | None = None,
    iou: float = IOUS[0],
    labels: GivenLabels | None = None,
    img_dir: PathLike | None = None,
    words: Mapping[str, str] | None = None,
    **site: Any,
) -> ThresholdChoice:
    """Choose the score threshold at which a detector reaches a precision or a recall at a site.

    Parameters
    ----------
    estimator : AccuracyEstimator or path-like
    boxes, **site
        See `AccuracyEstimator.predict`; such as ``images`` and ``categories``.
    precision, recall : float, optional
        What is wanted, over 0 and under 1; one of them, or neither for the best F1.
    iou : float
        At which IoU with a labelled object a box is a true positive.
    labels : path-like, optional
        Labels of some of the images, taken as a simple random sample; without them the curve is
        estimated label-free.
    img_dir : path-like, optional
        Folder of the labelled images, where the format of their labels does not say.
    words : mapping of str to str, optional
        Category for each word of the labels; by default equal words.

    Raises
    ------
    InputError
        As `AccuracyEstimator.predict`, or if both a precision and a recall are wanted.
    """
    from autoeval.estimation.operating_curve import (
        THRESHOLDS,
        curve_warnings,
        expected_curve,
        labelled_curve,
    )
    from autoeval.estimation.threshold_choice import check_wanted, choose_from

    check_wanted(precision, recall)
    if site.get("score_thr") is not None:
        raise InputError("A threshold is chosen from all: leave out `score_thr`.")
    if labels is None and (words or img_dir):
        raise InputError("`words` and `img_dir` belong to labels, and there are none.")
    fitted = load_estimator(estimator)
    wanted: dict[str, Any] = {"precision": precision, "recall": recall, "level": fitted.level}
    if labels is None:
        estimate = fitted.predict(boxes, **site)
        assert estimate.site is not None
        if estimate.site.nothing_found:
            raise InputError(f"There is no threshold to choose: {estimate.width_warning}.")
        warnings = curve_warnings(fitted, estimate)
        return choose_from(
            lambda thresholds: expected_curve(fitted, estimate, iou, thresholds),
            warnings=warnings,
            **wanted,
        )
    estimate = fitted.predict(boxes, score_thr=THRESHOLDS[0], iou=iou, **site)
    plan, content = fitted.plan_labels(estimate, n=1), read_labels(labels, img_dir)
    reading: dict[str, Any] = {"words": words, "planned": False}
    warnings = warnings_with_labels(plan, content, **reading)
    return choose_from(
        lambda thresholds: labelled_curve(plan, content, thresholds=thresholds, **reading),
        warnings=warnings,
        **wanted,
    )
