"""Fit an estimator on a labelled set or the sources of a task, or join such fits."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoeval.errors import InputError
from autoeval.estimation.artefact import ESTIMATOR, artefact_path
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.fitting import fit_files, fit_labelled, fit_sources
from autoeval.estimation.given_boxes import GivenBoxes, Predictions, given_boxes
from autoeval.estimation.joining_fits import join_fits
from autoeval.estimation.labelled_files import GivenLabels, read_labels
from autoeval.estimation.site import named_categories
from autoeval.io.tasks.task import Task, load_task
from autoeval.model.prediction_interval import check_level
from autoeval.notices import Notice
from autoeval.runtime.files import PathLike, write_table

if TYPE_CHECKING:
    from autoeval.estimation.site import Categories

SCORES = "scores.parquet"  # beside the estimator


def fit(
    labels: GivenLabels,
    boxes: GivenBoxes,
    *,
    img_dir: PathLike | None = None,
    group: str | None = None,
    categories: Categories | None = None,
    target: str = "mAP",
    level: float = 0.9,
    trained_here: bool = False,
    work_dir: PathLike | None = None,
) -> AccuracyEstimator:
    """Fit an estimator on one labelled set.

    Parameters
    ----------
    labels : path-like or object in memory
        COCO JSON, or a folder of YOLO or VOC labels; or a COCO dict, a ``pycocotools.COCO``, or
        what `autoeval.load_labels` returned.
    boxes : path-like, object in memory, Predictions, Detector or ImageDetector
        What the detector found there: the path of its predictions, an object as `Predictions`
        takes, or `Predictions`; or the detector that is run over the images, `Detector`.
    img_dir : path-like, optional
        Images of `labels`, where their format does not say.
    group : str, optional
        Origin of `labels`, if others that it is joined with share it.
    categories : mapping of str to sequence of str, optional
        Fit on these, expected in all images, each with the detector's words for it, as in
        `AccuracyEstimator.predict`; labels have these words or the category's name. By default
        every category of the labels is fitted on, on the images that hold it.
    target : str
        What is estimated: ``mAP``, ``mAP50``, ``mAP75``, or one at a score threshold such as
        ``recall@0.3``. `AccuracyEstimator.for_target` changes it.
    level : float
        Nominal coverage of the intervals.
    trained_here : bool
        Whether the detector was trained on other images of the same site. It is then overconfident
        elsewhere, and estimates of other sites are lower; see docs/results/fine_tuned.md. In a
        join it holds for the sites that it was said of; labels of others show how far it falls.
    work_dir : path-like, optional
        Where the estimator, its score table and what was observed are written: the same call goes
        on where one was interrupted.

    Returns
    -------
    AccuracyEstimator
        Its ``fit_result_`` says how accurate it is on what it has not seen.

    Raises
    ------
    InputError
        If the data cannot be read or do not belong together; the message says what to do.
    """
    check_level(level)
    folder, given = _folder(work_dir), given_boxes(boxes)
    wanted: dict[str, Any] = {"target": target, "level": level}
    wanted["trained_here"] = trained_here
    origin: dict[str, Any] = {
        "img_dir": img_dir,
        "group": group,
        "categories": named_categories(categories),
    }
    if isinstance(given, Predictions):
        return write_fit_outputs(fit_files(given, labels=labels, **origin, **wanted), folder)
    if not isinstance(labels, str | os.PathLike):
        raise InputError(
            f"A detector is run over the images of label files, and `labels` is "
            f"{type(labels).__name__}: give the path of the labels."
        )
    return write_fit_outputs(fit_labelled(given, labels, folder=folder, **origin, **wanted), folder)


def fit_task(
    task: PathLike | Task,
    boxes: GivenBoxes,
    *,
    data_root: PathLike | None = None,
    target: str = "mAP",
    level: float = 0.9,
    work_dir: PathLike | None = None,
) -> AccuracyEstimator:
    """Fit an estimator on the labelled sources of a task.

    Parameters
    ----------
    task : path-like or Task
        A task file with labelled sources; see `autoeval.load_task`.
    boxes : path-like, Predictions, Detector or ImageDetector
        What the detector found there, as in `fit`; predictions are a folder with ``NAME.json`` for
        each source.
    data_root : path-like, optional
        Folder with the data of a task file.
    target, level, work_dir
        See `fit`.

    Returns
    -------
    AccuracyEstimator
        Its ``fit_result_`` has the error at each source when it was left out.

    Raises
    ------
    InputError
        As `fit`.
    """
    check_level(level)
    folder, given = _folder(work_dir), given_boxes(boxes)
    wanted: dict[str, Any] = {"target": target, "level": level}
    if isinstance(task, str | os.PathLike):
        task = load_task(task, data_root)
    elif data_root is not None:
        raise InputError("`data_root` is for a task file, and this task is loaded: leave it out.")
    if isinstance(given, Predictions):
        return write_fit_outputs(fit_files(given, task=task, **wanted), folder)
    return write_fit_outputs(fit_sources(given, task, folder=folder, **wanted), folder)


def join(
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

    Raises
    ------
    InputError
        If there are fewer than two, they are of different detectors, or share a labelled set.
    """
    check_level(level)
    paths = [artefact_path(path).resolve() for path in fits]
    if len(set(paths)) < 2:
        raise InputError("--join takes two work dirs or more, of fits of one detector.")
    loaded = {str(path): AccuracyEstimator.load(path) for path in paths}
    return write_fit_outputs(join_fits(loaded, target=target, level=level), _folder(work_dir))


def _folder(path: PathLike | None) -> Path | None:
    return None if path is None else Path(path)


def write_fit_outputs(estimator: AccuracyEstimator, folder: Path | None) -> AccuracyEstimator:
    """Write a fit and its score table to a folder, where there is one; return it with its files."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        estimator.save(folder / ESTIMATOR)
        write_table(folder / SCORES, estimator.table_)
        estimator.fit_result_ = estimator.fit_result_.written(  # type: ignore[union-attr]
            folder / ESTIMATOR, folder / SCORES
        )
    return estimator


def seen_in_training(estimator: AccuracyEstimator, labels: PathLike) -> Iterator[str]:
    """Yield why the labelled images seem to be training images, and what follows."""
    from autoeval.detectors.building.training_images import trained_on

    detector = estimator.detector_
    config = getattr(detector, "config", None)
    if config is None:  # a black box
        return
    names = tuple(image.file_name for image in read_labels(Path(labels), None).images)
    for reason in trained_on(config, labels, names):
        yield Notice(
            "trained-on-these-images",
            f"{reason}: the accuracy of a detector on images that it was trained on is too high, "
            "fit on others",
        )
