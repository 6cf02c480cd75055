"""Fit an estimator on a labelled set or the sites of a task, or join such fits.

`autoeval.fit` and the command `autoeval fit`, `autoeval.fit_task` and `autoeval.join`. The fit is
made in `autoeval.estimation.fitting`; here options are checked, and files are written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import Unpack

from autoeval.accuracy.measures import IOUS, MEASURES, find_target
from autoeval.api.options import BoxOptions, check_names, given_boxes_of
from autoeval.errors import InputError
from autoeval.words import refuse_given

if TYPE_CHECKING:
    from autoeval.estimation.estimator import AccuracyEstimator
    from autoeval.estimation.given import GivenLabels
    from autoeval.io.tasks.task import Task
    from autoeval.runtime.files import PathLike
    from autoeval.words import Notice

SCORES = "scores.parquet"  # beside the estimator


def fit(
    labels: GivenLabels | None = None,
    predictions: Any = None,
    *,
    img_dir: PathLike | None = None,
    group: str | None = None,
    trained_here: bool = False,
    task: PathLike | Task | None = None,
    data_root: PathLike | None = None,
    join: Sequence[PathLike] = (),
    categories: Mapping[str, Sequence[str]] | None = None,
    target: str = "mAP",
    score_thr: float | None = None,
    iou: float = IOUS[0],
    level: float = 0.9,
    work_dir: PathLike | None = None,
    **boxes: Unpack[BoxOptions],
) -> AccuracyEstimator:
    """Fit an estimator: from labels and predictions of any detector, or from labels and a detector.

    Parameters
    ----------
    labels : path-like or object in memory, optional
        COCO JSON, or a folder of YOLO or VOC labels; in Python also a COCO dict, a
        ``pycocotools.COCO``, or what `autoeval.load_labels` returned.
    predictions : path-like, object in memory, Predictions, Detector or ImageDetector, optional
        What the detector found there, such as COCO results, Parquet or a folder of text files (all
        formats: docs/how-to/predictions.md); with a task a folder of them, one a site.
    img_dir : path-like, optional
        Folder of the labelled images, where the format of the labels does not say.
    group : str, optional
        Origin of the labels, if others that they are joined with share it.
    trained_here : bool
        The detector was trained on other images of the labelled site. It is then overconfident
        elsewhere, and estimates of other sites are lower; see docs/results/fine_tuned.md. In a join
        it holds for the sites that it was said of; labels of others show how far it falls.
    task : path-like or Task, optional
        Instead of labels: a task file such as configs/tasks/vehicle.py, whose sites are labelled.
    data_root : path-like, optional
        Folder with the data of the task.
    join : sequence of path-like
        Instead: work dirs of fits of one detector, on any number of labelled sets and tasks.
    categories : mapping of str to sequence of str, optional
        A category to fit on, expected in all images, with the detector's words for it, as NAME or
        NAME=WORD,...; repeated for several (default: every category of the labels, on the images
        that hold it).
    target : str
        What is estimated: mAP, mAP50, mAP75, or with a score threshold precision, recall or f1.
    score_thr : float, optional
        Score threshold of the target precision, recall or f1.
    iou : float
        At which IoU with a labelled object a box over the threshold is a true positive.
    level : float
        Nominal coverage of the intervals.
    work_dir : path-like, optional
        Where the estimator, its score table and what was observed are written: the same call goes
        on where one was interrupted.
    **boxes
        See `autoeval.api.options.BoxOptions`.

    Returns
    -------
    AccuracyEstimator
        Its ``fit_result_`` says how accurate it is on what it has not seen.

    Raises
    ------
    InputError
        If the data cannot be read or do not belong together; the message says what to do.

    Examples
    --------
    Twelve images with two cars each, of which the detector misses every sixth (mostly labels and
    predictions are paths of files):

    >>> size = {"height": 480, "width": 640}
    >>> images = [{"id": k, "file_name": f"{k}.jpg", **size} for k in range(12)]
    >>> cars = [
    ...     {"image_id": k // 2, "category_id": 1, "bbox": [20 + 300 * (k % 2), 99, 60, 40]}
    ...     for k in range(24)
    ... ]
    >>> labels = {"images": images, "categories": [{"id": 1, "name": "car"}], "annotations": cars}
    >>> boxes = [{**car, "score": 0.9 - 0.03 * k} for k, car in enumerate(cars) if k % 6 != 5]
    >>> boxes += [{**car, "bbox": [20, 300, 60, 40], "score": 0.02} for car in cars[::2]]
    >>> fitted = fit(labels, boxes)
    >>> fitted
    <AccuracyEstimator of mAP, level 0.9, fitted on 1 site>
    >>> round(fitted.fit_result_.value, 2)  # average precision of a recall of 20/24
    0.83
    """
    from autoeval.estimation.fitting import FitSettings, fit_files, fit_sets
    from autoeval.estimation.given import Predictions, named_categories
    from autoeval.estimation.labelled_sets import observed_labels
    from autoeval.model.mixed_model import check_level

    check_level(level)
    check_names(boxes, BoxOptions)
    if score_thr is None:
        refuse_given({"iou": None if iou == IOUS[0] else iou}, "goes with --score-thr")
    elif target not in MEASURES:
        raise InputError(
            "--score-thr goes with --target precision, recall or f1. A fit learns all thresholds: "
            "name one when you estimate."
        )
    target = find_target(target, score_thr, iou).name
    group = None if group is None else str(group)  # a name, also where somebody numbers groups
    typed: dict[str, Any] = {"img_dir": img_dir, "group": group, "trained_here": trained_here}
    typed |= {"categories": categories, "data_root": data_root}
    if join:
        data = {"labels": labels, "predictions": predictions, "task": task}
        reason = "is for a fit, and --join takes what was fitted: leave it out."
        refuse_given({**data, **typed, **boxes}, reason)
        return join_fits_at(join, target=target, level=level, work_dir=work_dir)
    if labels is not None and task is not None:
        raise InputError(
            "One at a time: fit the labels and the task by themselves, then join both (--join)."
        )
    box_source = given_boxes_of(predictions, boxes)
    if box_source is None:
        raise InputError(
            "Expected either predictions (--predictions PATH) or a detector (--detector ALIAS)."
        )
    if task is not None:
        del typed["data_root"]
        refuse_given(typed, "is for --labels, and a task has its own")
        return fit_task(
            task, box_source, data_root=data_root, target=target, level=level, work_dir=work_dir
        )
    if labels is None:
        raise InputError("Expected either labels (--labels PATH) or a task (--task FILE).")
    refuse_given({"data_root": data_root}, "goes with --task")
    settings = FitSettings(target, level, trained_here)
    folder = None if work_dir is None else Path(work_dir)
    named = named_categories(categories) if categories else None
    if isinstance(box_source, Predictions):
        fitted = fit_files(
            box_source,
            labels,
            img_dir=img_dir,
            group=group,
            categories=named,
            settings=settings,
        )
        return write_fit_outputs(fitted, folder)
    if not isinstance(labels, str | os.PathLike):
        raise InputError(
            f"A detector is run over the images of label files, and `labels` is "
            f"{type(labels).__name__}: give the path of the labels."
        )
    site, context = observed_labels(
        box_source, labels, img_dir=img_dir, group=group, folder=folder, categories=named
    )
    fitted = fit_sets([site], context=context, settings=settings, run=box_source)
    return write_fit_outputs(fitted, folder)


def fit_task(
    task: PathLike | Task,
    predictions: Any,
    *,
    data_root: PathLike | None = None,
    target: str = "mAP",
    level: float = 0.9,
    work_dir: PathLike | None = None,
) -> AccuracyEstimator:
    """Fit an estimator on the labelled sites of a task.

    Parameters
    ----------
    task : path-like or Task
        A task file with labelled sites; see `autoeval.load_task`.
    predictions : path-like, Predictions, Detector or ImageDetector
        What the detector found there, as in `fit`; these are a folder with ``NAME.json`` for
        each site.
    data_root : path-like, optional
        Folder with the data of a task file.
    target, level, work_dir
        See `fit`.

    Returns
    -------
    AccuracyEstimator
        Its ``fit_result_`` has the error at each site when it was left out.

    Raises
    ------
    InputError
        As `fit`.
    """
    from autoeval.estimation.fitting import FitSettings, fit_sets, fit_site_files
    from autoeval.estimation.given import Predictions, given_boxes
    from autoeval.estimation.labelled_sets import observed_sources
    from autoeval.io.tasks.task import load_task
    from autoeval.model.mixed_model import check_level

    check_level(level)
    folder = None if work_dir is None else Path(work_dir)
    box_source = given_boxes(predictions)
    settings = FitSettings(target, level)
    if isinstance(task, str | os.PathLike):
        task = load_task(task, data_root)
    elif data_root is not None:
        raise InputError("`data_root` is for a task file, and this task is loaded: leave it out.")
    if isinstance(box_source, Predictions):
        return write_fit_outputs(fit_site_files(box_source, task, settings), folder)
    sets, context = observed_sources(box_source, task, folder=folder)
    fitted = fit_sets(sets, context=context, settings=settings, run=box_source)
    return write_fit_outputs(fitted, folder)


def join_fits_at(
    fits: Sequence[PathLike],
    *,
    target: str = "mAP",
    level: float = 0.9,
    work_dir: PathLike | None = None,
) -> AccuracyEstimator:
    """Join fits of one detector on several labelled sets and tasks into one estimator.

    Parameters
    ----------
    fits : sequence of path-like
        Work dirs of `fit` and `fit_task`, or their estimators.
    target, level, work_dir
        See `fit`.

    Returns
    -------
    AccuracyEstimator
        As if it was fitted on all labelled sets at once.

    Raises
    ------
    InputError
        If there are fewer than two or one is given twice, they are of different detectors, or share
        a labelled set.
    """
    from autoeval.estimation.estimator import AccuracyEstimator
    from autoeval.estimation.fit_file import artefact_path
    from autoeval.estimation.fitting import join_fits

    paths = [artefact_path(path).resolve() for path in fits]
    if twice := [fit for k, fit in enumerate(fits) if paths[k] in paths[:k]]:
        raise InputError(f"--join has {twice[0]} twice: name each fit once.")
    if len(paths) < 2:
        raise InputError("--join takes two work dirs or more, of fits of one detector.")
    loaded = {str(path): AccuracyEstimator.load(path) for path in paths}
    joined = join_fits(loaded, target=target, level=level)
    return write_fit_outputs(joined, None if work_dir is None else Path(work_dir))


join = join_fits_at
"""`autoeval.join`; the name is that of a parameter of `fit`, too."""


def write_fit_outputs(estimator: AccuracyEstimator, folder: Path | None) -> AccuracyEstimator:
    """Write a fit and its score table to a folder, where there is one; return it with its files.

    Parameters
    ----------
    estimator : AccuracyEstimator
        With a `fit_result_`.
    folder : Path, optional
        Made where needed; it gets `ESTIMATOR` and `SCORES`.
    """
    from autoeval.estimation.fit_file import ESTIMATOR
    from autoeval.runtime.files import write_table

    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        estimator.save(folder / ESTIMATOR)
        write_table(folder / SCORES, estimator.table_)
        assert estimator.fit_result_ is not None
        files = (*estimator.fit_result_.files, folder / ESTIMATOR, folder / SCORES)
        result = replace(estimator.fit_result_, files=files)
        estimator = replace(estimator, fit_result_=result)
    return estimator


def seen_in_training(
    estimator: AccuracyEstimator, labels: PathLike, img_dir: PathLike | None = None
) -> Iterator[Notice]:
    """Yield why the labelled images seem to be training images, and what follows.

    Parameters
    ----------
    estimator : AccuracyEstimator
        Fitted in this process with a detector that has a config; of others nothing is known.
    labels : path-like
        That it was fitted on.
    img_dir : path-like, optional
        As it was given to the fit.
    """
    detector = estimator.detector_
    config = getattr(detector, "config", None)
    if config is None:  # a black box
        return
    from autoeval.detectors.building.configs import trained_on
    from autoeval.estimation.given import read_labels
    from autoeval.words import Notice

    names = tuple(image.file_name for image in read_labels(Path(labels), img_dir).images)
    for reason in trained_on(config, labels, names):
        yield Notice(
            "trained-on-these-images",
            f"{reason}: the accuracy of a detector on images that it was trained on is too high, "
            "fit on others",
        )
