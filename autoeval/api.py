"""What users call: fit, join, plan labels, estimate with labels, compare; for Python and shell.

The names of this module are those of the package; see `autoeval.__init__`.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoeval.data.tasks.task import Task, load_task
from autoeval.data.wording import listed, short_names
from autoeval.errors import InputError
from autoeval.estimation.artefact import ESTIMATOR, artefact_path
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.fitting import fit_files, fit_labelled, fit_sources
from autoeval.estimation.given_boxes import Detector, GivenBoxes, Predictions, given_boxes
from autoeval.estimation.intervals import check_level
from autoeval.estimation.joining_fits import join_fits
from autoeval.estimation.labelled_files import read_labels
from autoeval.estimation.observation.kept_observer import Keeping
from autoeval.estimation.plan_folder import plan_in_folder
from autoeval.labels.labelled_estimate import LabelledEstimate
from autoeval.labels.plan import LabelPlan
from autoeval.labels.plan_file import PLAN, load_plan
from autoeval.labels.with_labels import estimate_with_labels as estimate_plan
from autoeval.labels.with_labels import warnings_with_labels
from autoeval.runtime.files import PathLike, write_table
from autoeval.targets import IOUS

if TYPE_CHECKING:
    from autoeval.comparison.comparison import Comparison
    from autoeval.estimation.site import Categories
    from autoeval.estimation.threshold_choice import ThresholdChoice
    from autoeval.runtime.shards import Shards

SCORES = "scores.parquet"  # beside the estimator


def fit(
    labels: PathLike,
    boxes: GivenBoxes,
    *,
    img_dir: PathLike | None = None,
    group: str | None = None,
    categories: Categories | None = None,
    target: str = "mAP",
    level: float = 0.9,
    calibrate: bool = True,
    trained_here: bool = False,
    work_dir: PathLike | None = None,
) -> AccuracyEstimator:
    """Fit an estimator on one labelled set.

    Parameters
    ----------
    labels : path-like
        COCO JSON, or a folder of YOLO or VOC labels.
    boxes : path-like, Predictions, Detector or ImageDetector
        What the detector found there: the path of its predictions, or `Predictions`; or the
        detector that is run over the images, `Detector`.
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
    calibrate : bool
        Learn from the labels how confidences of this detector go with being right; otherwise the
        usual calibration of detectors is taken. See docs/explanation/calibration.md.
    trained_here : bool
        Whether the detector was trained on other images of the same site. It is then overconfident
        elsewhere, and estimates of other sites are lower, but for precision; see
        docs/results/fine_tuned.md. Joined fits keep it for the sites that it was said of.
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
    wanted: dict[str, Any] = {"target": target, "level": level, "calibrate": calibrate}
    wanted["trained_here"] = trained_here
    origin: dict[str, Any] = {"img_dir": img_dir, "group": group, "categories": categories}
    if isinstance(given, Predictions):
        return _written(fit_files(given, labels=labels, **origin, **wanted), folder)
    return _written(fit_labelled(given, labels, folder=folder, **origin, **wanted), folder)


def fit_task(
    task: PathLike | Task,
    boxes: GivenBoxes,
    *,
    data_root: PathLike | None = None,
    target: str = "mAP",
    level: float = 0.9,
    calibrate: bool = True,
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
    target, level, calibrate, work_dir
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
    wanted: dict[str, Any] = {"target": target, "level": level, "calibrate": calibrate}
    if isinstance(task, str | os.PathLike):
        task = load_task(task, data_root)
    elif data_root is not None:
        raise InputError("`data_root` is for a task file, and this task is loaded: leave it out.")
    if isinstance(given, Predictions):
        return _written(fit_files(given, task=task, **wanted), folder)
    return _written(fit_sources(given, task, folder=folder, **wanted), folder)


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
    return _written(join_fits(loaded, target=target, level=level), _folder(work_dir))


def plan_labels(
    estimator: AccuracyEstimator | PathLike,
    boxes: GivenBoxes | None = None,
    *,
    images: Any = None,
    n: int = 20,
    seed: int | None = None,
    frames: int | None = None,
    pseudo_labels: PathLike | None = None,
    pseudo_words: Mapping[str, str] | None = None,
    folder: PathLike | None = None,
    **site: Any,
) -> LabelPlan:
    """Draw images of a new site to label, and say how precise their labels will make the estimate.

    Parameters
    ----------
    estimator : AccuracyEstimator or path-like
    boxes, images, **site
        See `AccuracyEstimator.predict`.
    n, seed, frames, pseudo_labels, pseudo_words
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
    options: dict[str, Any] = {
        "frames": frames,
        "pseudo_labels": pseudo_labels,
        "pseudo_words": pseudo_words,
    }
    if folder is None:
        return fitted.plan_labels(estimate, n=n, seed=seed or 0, **options)
    return plan_in_folder(fitted, estimate, Path(folder), n=n, seed=seed, **options)[0]


def estimate_with_labels(
    plan: LabelPlan | PathLike,
    labels: PathLike,
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
    content = read_labels(Path(labels), img_dir)
    return estimate_plan(plan, content, words=words, planned=planned, score_thr=score_thr)


def threshold(
    estimator: AccuracyEstimator | PathLike,
    boxes: GivenBoxes | None = None,
    *,
    precision: float | None = None,
    recall: float | None = None,
    iou: float = IOUS[0],
    labels: PathLike | None = None,
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
    from autoeval.estimation.threshold_choice import check_wanted, choose_threshold

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
        curve = expected_curve(fitted, estimate, iou)
        warnings = curve_warnings(fitted, estimate)
        return choose_threshold(curve, warnings=warnings, **wanted)
    estimate = fitted.predict(boxes, score_thr=THRESHOLDS[0], iou=iou, **site)
    plan, content = fitted.plan_labels(estimate, n=1), read_labels(Path(labels), img_dir)
    of_labels: dict[str, Any] = {"words": words, "planned": False}
    curve = labelled_curve(plan, content, **of_labels)
    warnings = warnings_with_labels(plan, content, **of_labels)
    return choose_threshold(curve, warnings=warnings, **wanted)


def compare(
    estimators: Mapping[str, AccuracyEstimator | PathLike] | Sequence[AccuracyEstimator | PathLike],
    boxes: Sequence[GivenBoxes | None] | None = None,
    *,
    images: Any = None,
    labels: PathLike | None = None,
    img_dir: PathLike | None = None,
    words: Mapping[str, str] | None = None,
    categories: Categories | None = None,
    target: str | None = None,
    level: float = 0.9,
    seed: int = 0,
    keep: Mapping[str, Keeping] | None = None,
    shards: Shards | None = None,
    trained_here: Collection[str] = (),
    known: Mapping[str, float] | None = None,
) -> Comparison:
    """Compare detectors on the same images: which is better, by how much, with what probability.

    Parameters
    ----------
    estimators : mapping or sequence of AccuracyEstimator or path-like
        Fitted, best on the same labelled set: one a detector, by name; those of a sequence are
        named after their folders. A work dir of `fit` stands for the estimator in it.
    boxes : sequence of path-like, Predictions, Detector, ImageDetector or None, optional
        What each detector found on the images, in the order of `estimators`, as in `fit`; None for
        one that is run as it was fitted.
    images : path-like or sequence, optional
        See `AccuracyEstimator.predict`.
    labels : path-like, optional
        Labels of some of the images: the same for all detectors. Those in a folder that
        `plan_labels` wrote are taken as its plan drew them, others as a simple random sample.
    img_dir : path-like, optional
        Folder of the labelled images, where their format does not say.
    words : mapping of str to str, optional
        Category for each word of the labels; by default equal words.
    categories : mapping of str to sequence of str, optional
        See `AccuracyEstimator.predict`.
    target : str, optional
        See `AccuracyEstimator.for_target`; by default that of the fits.
    level : float
        Nominal coverage of the intervals.
    seed : int
        Of the draws behind the probability of being best.
    keep : mapping of str to Keeping, optional
        Where to keep what each detector that is run observes.
    shards : Shards, optional
        Which processes share the images.
    trained_here : collection of str
        Names of detectors that were trained on images like the labelled ones, such as others of the
        same site: the difference there says little of elsewhere and is not used, and their
        estimates are lowered. For average precision only.
    known : mapping of str to float, optional
        The accuracy here, in [0, 1], of one of the detectors, such as one that was measured when
        labels were at hand. The others' values are it plus the estimated difference.

    Raises
    ------
    InputError
        If fewer than two detectors are given or one twice, or what is about labels without them; as
        `AccuracyEstimator.predict` and `autoeval.comparison.compare_sites.compare_sites`.
    """
    from autoeval.comparison.compare_sites import compare_sites

    check_level(level)
    if labels is None and (words or img_dir is not None):
        unread = "words" if words else "img_dir"
        raise InputError(f"`{unread}` is about labels: give `labels`, or leave it out.")
    fits = named_estimators(estimators)
    if target is not None:
        fits = {name: fitted.for_target(target) for name, fitted in fits.items()}
    every = boxes or [None] * len(fits)
    given = [None if each is None else given_boxes(each) for each in every]
    _check_running(fits, given, keep, shards)
    if len(given) != len(fits):
        raise InputError(
            f"Expected predictions of each of {len(fits)} detectors, in their order, but got "
            f"{len(given)}."
        )
    plan = None
    if labels is not None and (Path(labels).parent / PLAN).exists():
        plan = load_plan(Path(labels).parent)
    sites = {
        name: fitted.read_site(
            detector_boxes,
            images=images,
            labels=labels,
            categories=categories,
            **(
                {}
                if isinstance(detector_boxes, Predictions)
                else _running((keep or {}).get(name), shards)
            ),
        )
        for (name, fitted), detector_boxes in zip(fits.items(), given, strict=True)
    }
    return compare_sites(
        fits,
        sites,
        labels=None if labels is None else read_labels(Path(labels), img_dir),
        words=words,
        plan=plan,
        categories=categories,
        level=level,
        seed=seed,
        trained_here=trained_here,
        known=known,
    )


def _check_running(
    fits: Mapping[str, AccuracyEstimator],
    boxes: Sequence[Predictions | Detector | None],
    keep: Mapping[str, Keeping] | None,
    shards: Shards | None,
) -> None:
    """Refuse what is given of how detectors are run where none of that name is run."""
    run = [
        name
        for name, detector_boxes in zip(fits, boxes, strict=False)
        if not isinstance(detector_boxes, Predictions)
    ]
    unread = [name for name in keep or () if name not in run]
    if unread:
        raise InputError(
            f"`keep` is for detectors that are run ({listed(run) or 'none is'}), but it names "
            f"{listed(unread)}: leave that out."
        )
    if shards is not None and not run:
        raise InputError("`shards` share images, and no detector is run over any: leave it out.")


def _running(keep: Keeping | None, shards: Shards | None) -> dict[str, Any]:
    """Return what is given of how a detector is run."""
    given = {"keep": keep, "shards": shards}
    return {name: setting for name, setting in given.items() if setting is not None}


def named_estimators(
    estimators: Mapping[str, AccuracyEstimator | PathLike] | Sequence[AccuracyEstimator | PathLike],
) -> dict[str, AccuracyEstimator]:
    """Load estimators, named after the last parts of their paths that tell them apart.

    Raises
    ------
    InputError
        If one is given twice, or cannot be loaded.
    """
    if isinstance(estimators, Mapping):
        return {name: load_estimator(estimator) for name, estimator in estimators.items()}
    paths = [
        Path(estimator) if isinstance(estimator, str | os.PathLike) else Path(f"detector {k}")
        for k, estimator in enumerate(estimators, 1)
    ]
    whole = [path.parent if path.name == ESTIMATOR else path for path in paths]
    if len({path.resolve() for path in whole}) < len(whole):
        raise InputError("One estimator is given twice: name each detector once.")
    named = zip(short_names(whole), estimators, strict=True)
    return {name: load_estimator(estimator) for name, estimator in named}


def load_estimator(estimator: AccuracyEstimator | PathLike) -> AccuracyEstimator:
    """Load an estimator, where it is not one already."""
    if isinstance(estimator, AccuracyEstimator):
        return estimator
    return AccuracyEstimator.load(estimator)


def _folder(path: PathLike | None) -> Path | None:
    return None if path is None else Path(path)


def _written(estimator: AccuracyEstimator, folder: Path | None) -> AccuracyEstimator:
    """Write a fit and its score table to a folder, where there is one."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        estimator.save(folder / ESTIMATOR)
        write_table(folder / SCORES, estimator.table_)
        estimator.fit_result_ = estimator.fit_result_.written(  # type: ignore[union-attr]
            folder / ESTIMATOR, folder / SCORES
        )
    return estimator
