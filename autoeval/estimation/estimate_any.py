"""Estimates of any category of the detector, by an estimator fitted on pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from autoeval.data.copied_files import without_copies
from autoeval.data.unlabelled import Images, list_images
from autoeval.data.wording import listed
from autoeval.detections import Evidence
from autoeval.errors import InputError
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.estimator import MapEstimator
from autoeval.estimation.fit_labelled import scores_of
from autoeval.estimation.observation.category_tally import CategoryTally
from autoeval.estimation.observation.kept_observer import keeping
from autoeval.estimation.observation.observing import ImageDetector, Observer
from autoeval.estimation.observation.pass_log import PassLog
from autoeval.estimation.observation.presets import light
from autoeval.estimation.observation.samples import UnlabelledSamples
from autoeval.estimation.observation.teacher_boxes import Teacher
from autoeval.estimation.pairs.pair_regression import PairRegression
from autoeval.estimation.remembered import check_teacher
from autoeval.metasets.task import Task

SEEN, FEWEST_IMAGES = 0.1, 5
NOTHING = np.zeros((0, 4)), np.zeros(0, np.int64), np.zeros(0, bool)


def estimate_any(
    estimator: MapEstimator,
    images: Images,
    detector: ImageDetector,
    *,
    categories: Mapping[str, Sequence[str]] | None = None,
    teacher: Teacher | None = None,
    work_dir: Path | None = None,
    batch_size: int = 4,
    watch: Callable[[Evidence], object] = lambda evidence: None,
) -> Estimate:
    """Estimate the accuracy for some categories of a detector, and the mean over them.

    Parameters
    ----------
    estimator : MapEstimator
        With the method ``bayes``, fitted with the same detector.
    images : path-like or sequence
        See `autoeval.data.unlabelled.list_images`.
    detector : ImageDetector
    categories : mapping of str to sequence of str, optional
        Categories to expect in all images, each with the detector's words for it, such as
        ``{"vehicle": ["car", "bus", "truck"]}``. By default every category of the detector of
        which five images or more have a box over .1, each on those images.
    teacher : Teacher, optional
        The one that it was fitted with, if any.
    work_dir : Path, optional
        Keeps what is observed: the same call goes on where one was interrupted.
    batch_size : int
        Changes no number.
    watch : callable
        Called with the evidence of each image.

    Raises
    ------
    InputError
        If the estimator is of another method or detector or needs a teacher, a word is none of the
        detector's, no image can be read, or nothing is found.
    """
    regression = estimator.regression_
    if not isinstance(regression, PairRegression):
        raise InputError(
            f"An estimator of the method '{estimator.method}' estimates what it was fitted for. "
            "Any category takes one of the method 'bayes': fit again."
        )
    check_teacher(regression.features_, teacher)
    words = {word: [word] for word in detector.categories}
    named = categories or words
    lookup = any_task(named, detector.categories).lookup(detector.categories)
    settings, task = replace(light(), teacher=teacher), any_task(words, detector.categories)
    observer = keeping(Observer(detector, task, settings, batch_size=batch_size), work_dir)
    estimator.check_detector(detector)
    distinct, copied = without_copies(list_images(images))
    samples, log = UnlabelledSamples(distinct), PassLog()
    names = tuple(named)
    tally = CategoryTally(names, scores_of(regression.features_), observer.settings.stability)
    n_images = 0
    with observer.begin(samples, len(samples)) as bar:
        for _, in_words in observer.each(samples, log=log):
            evidence = in_words.relabel(lookup)
            expected = np.arange(len(names)) if categories else _seen(evidence)
            tally.update_on(expected, evidence, *NOTHING)
            watch(evidence)
            n_images += 1
            bar.update()
    rows, _ = tally.rows(min_images=1 if categories else FEWEST_IMAGES, min_boxes=0)
    if not rows:
        raise InputError(
            f"Of no category {FEWEST_IMAGES} images have a box over {SEEN}: there is nothing to "
            "tell accuracy by. Name the categories to expect, or take more images."
        )
    estimate = regression.predict_rows(pd.DataFrame(rows), backbone=detector.backbone)
    guards = (*estimate.guards, *copied, *_unread(log, len(samples)))
    return replace(estimate, n_images=n_images, guards=guards)


def _unread(log: PassLog, n: int) -> list[str]:
    lost = list(log.unreadable.values())
    reason = f"{len(lost)} of {n} images could not be read and were left out: {listed(lost)}"
    return [reason] if lost else []


def _seen(evidence: Evidence) -> np.ndarray:
    return np.unique(evidence.clean.above(SEEN).labels)


def any_task(named: Mapping[str, Sequence[str]], words: Sequence[str]) -> Task:
    """Make a task without data of some categories, each with the detector's words for it.

    Raises
    ------
    InputError
        If a word is none of the detector's.
    """
    mapping = {word: name for name, of in named.items() for word in of}
    unknown = [word for word in mapping if word not in words]
    if unknown:
        raise InputError(
            f"Expected words of the detector but got {', '.join(unknown)}. It knows "
            f"{', '.join(words)}."
        )
    return Task("any", tuple(named), (), mapping)
