"""Planning labels on images: one pass, then a draw."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from autoeval.data.labels.content import LabelSet
from autoeval.data.unlabelled import Images, list_images
from autoeval.detections import Evidence
from autoeval.errors import InputError
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.estimator import MapEstimator
from autoeval.estimation.labels.aid import LabelAid
from autoeval.estimation.labels.assess import LEVELS
from autoeval.estimation.labels.box_features import OF_HALF_SIZE
from autoeval.estimation.labels.frames import blocks_of
from autoeval.estimation.labels.label_free_prior import error_elsewhere, priors_of
from autoeval.estimation.labels.plan import LabelPlan, make_plan
from autoeval.estimation.labels.pool import pool_of_evidence
from autoeval.estimation.labels.pseudo_labels import read_pseudo_labels
from autoeval.estimation.labels.value_with_error import ValueWithError
from autoeval.estimation.labels.with_labels import LabelledEstimate, estimate_with_labels
from autoeval.estimation.observation.kept_observer import keeping
from autoeval.estimation.observation.observing import ImageDetector, Observer
from autoeval.estimation.observation.teacher_boxes import Teacher
from autoeval.estimation.pairs.pair_regression import PairRegression


def plan_labels(
    estimator: MapEstimator,
    images: Images,
    detector: ImageDetector,
    *,
    n: int = 20,
    seed: int = 0,
    frames: int | None = None,
    teacher: Teacher | None = None,
    pseudo_labels: str | os.PathLike[str] | None = None,
    pseudo_words: Mapping[str, str] | None = None,
    work_dir: Path | None = None,
    batch_size: int = 4,
    watch: Callable[[Evidence], object] = lambda evidence: None,
) -> tuple[LabelPlan, Estimate]:
    """Observe images once, estimate without labels, and draw images to label.

    Parameters
    ----------
    estimator : MapEstimator
        Fitted with the boxes of its sources, as ``autoeval estimate-map`` and `fit_task` do.
    images : path-like or sequence
        The pool; see `autoeval.data.unlabelled.list_images`.
    detector : ImageDetector
        The one that the estimator was fitted with.
    n : int
        How many images.
    seed : int
        Of the draw.
    frames : int, optional
        Says that numbered files are frames; see `blocks_of`.
    teacher : Teacher, optional
        A stronger detector, where the estimator compares with one.
    pseudo_labels : path-like, optional
        COCO results of a better detector on the same images, a second prediction of influence,
        where the estimator was fitted with such.
    pseudo_words : mapping of str to str, optional
        Category for each of its words that counts; by default equal words.
    work_dir : Path, optional
        Keeps what is observed: the same call goes on where one was interrupted.
    batch_size : int
        Changes no number.
    watch : callable
        Called with the evidence of each image.

    Returns
    -------
    plan : LabelPlan
    estimate : Estimate
        Without labels; it holds the plan, for `Estimate.with_labels`.

    Raises
    ------
    InputError
        If the estimator is of no precision, was fitted with another detector or without boxes of
        its sources, needs a teacher and there is none, no image can be read, or `n` does not fit.
    """
    aid = _aid(estimator)
    listed, seen = list_images(images), list[Evidence]()
    observer = keeping(_observer(estimator, detector, aid, teacher, batch_size), work_dir)

    def keep(evidence: Evidence) -> None:
        seen.append(replace(evidence, logits=None, candidates=None, features=None, views=()))
        watch(evidence)

    estimate, row = estimator.estimate(observer, listed, watch=keep)
    read = {evidence.image_id for evidence in seen}
    pool = pool_of_evidence(seen, observer.task.categories)
    plan = make_plan(
        pool,
        aid,
        n=n,
        priors=_priors(estimator, estimate) | _of_other_targets(estimator, row, detector.backbone),
        target=estimator.target,
        level=estimator.level,
        blocks=blocks_of([i for i in listed if i.image_id in read], frames=frames),
        pseudo_labels=None
        if pseudo_labels is None
        else read_pseudo_labels(pseudo_labels, pool.found, pseudo_words),
        seed=seed,
        detector=detector.fingerprint,
    )
    if row["unreadable"]:
        plan = replace(plan, problems=(f"images that cannot be read: {row['unreadable']}",))
    return plan, replace(estimate, plan=plan)


def estimate_labelled(
    estimator: MapEstimator,
    images: Images,
    detector: ImageDetector,
    labels: LabelSet,
    *,
    words: Mapping[str, str] | None = None,
    teacher: Teacher | None = None,
    pseudo_labels: str | os.PathLike[str] | None = None,
    pseudo_words: Mapping[str, str] | None = None,
    work_dir: Path | None = None,
    batch_size: int = 4,
) -> LabelledEstimate:
    """Estimate with labels that no plan drew; they are taken as a simple random draw, and said so.

    Parameters
    ----------
    estimator, images, detector, teacher, pseudo_labels, pseudo_words, work_dir, batch_size
        See `plan_labels`.
    labels : LabelSet
        Of some of the images; see `autoeval.data.labels.any_format.load_labels`.
    words : mapping of str to str, optional
        See `given_labels`.
    """
    plan, _ = plan_labels(
        estimator,
        images,
        detector,
        n=1,
        teacher=teacher,
        pseudo_labels=pseudo_labels,
        pseudo_words=pseudo_words,
        work_dir=work_dir,
        batch_size=batch_size,
    )
    return estimate_with_labels(plan, labels, words=words, planned=False)


def _of_other_targets(
    estimator: MapEstimator, row: Mapping[str, Any], backbone: str
) -> dict[str, ValueWithError]:
    """Estimate the other precisions from the same pass, by the same table."""
    priors: dict[str, ValueWithError] = {}
    for target in (name for name in LEVELS if name in estimator.table_):
        if target != estimator.target:
            other = MapEstimator(estimator.method, target=target, level=estimator.level)
            fitted = other.fit_rows(estimator.table_)
            priors |= _priors(fitted, fitted.predict_rows(pd.DataFrame([row]), backbone=backbone))
    return priors


def _priors(estimator: MapEstimator, estimate: Estimate) -> dict[str, ValueWithError]:
    """Take the label-free estimates, with the error that left-out pairs show."""
    regression = estimator.regression_
    if not isinstance(regression, PairRegression):
        return priors_of(estimate)
    return priors_of(estimate, error_elsewhere(regression.held_out_, estimator.level))


def _aid(estimator: MapEstimator) -> LabelAid:
    if estimator.target not in LEVELS:
        raise InputError(
            f"Labels tell {', '.join(LEVELS)}, but this estimator is of {estimator.target}: fit "
            "one of mAP."
        )
    aid = getattr(estimator, "aid_", None)
    if aid is None:
        raise InputError(
            "This estimator knows nothing of how its detector's boxes go wrong: it was fitted on "
            "one labelled set (`autoeval fit --labels`), on too few labelled images, or by an "
            "older version. Name places of at least two families with 20 images each in a task: "
            "`autoeval fit --task FILE --detector ALIAS`; of joined fits the first tells it."
        )
    return aid


def _observer(
    estimator: MapEstimator,
    detector: ImageDetector,
    aid: LabelAid,
    teacher: Teacher | None,
    batch_size: int,
) -> Observer:
    """Make the estimator's pass, with the pass at half the size where the aid needs it."""
    observer = estimator.observer(detector, teacher=teacher, batch_size=batch_size)
    settings = observer.settings
    if set(aid.soft.names) & set(OF_HALF_SIZE) and "half_size" not in settings.wants:
        settings = replace(settings, wants=(*settings.wants, "half_size"))
    return Observer(detector, observer.task, settings, batch_size=batch_size)
