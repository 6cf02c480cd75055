"""What users call: fit, plan labels, estimate with labels, compare; for Python and shell.

The names of this module are those of the package; see `autoeval.__init__`.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoeval.data.predictions.category_words import read_names
from autoeval.detectors.detector_spec import DetectorSpec
from autoeval.errors import InputError
from autoeval.estimation.bayesian_regression import DEFAULT_METHOD
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.fitting import fit_files, fit_labelled, join_fits
from autoeval.estimation.intervals import check_level
from autoeval.estimation.observation.kept_observer import Keeping
from autoeval.estimation.observation.teacher_boxes import Teacher, load_teacher
from autoeval.estimation.plan_folder import plan_in_folder
from autoeval.estimation.site_boxes import PathLike, PredictionFiles
from autoeval.estimation.training_set import read_labels
from autoeval.labels.plan import LabelPlan
from autoeval.labels.plan_file import PLAN, load_plan
from autoeval.labels.with_labels import LabelledEstimate
from autoeval.labels.with_labels import estimate_with_labels as estimate_plan
from autoeval.metasets.task import Task, load_task
from autoeval.runtime.files import write_table

if TYPE_CHECKING:
    from autoeval.comparison.comparison import Comparison
    from autoeval.estimation.observation.observing import ImageDetector
    from autoeval.estimation.observation.presets import PassSettings
    from autoeval.estimation.site import Categories
    from autoeval.metasets.recipe import MetaSetConfig
    from autoeval.runtime.job import Executor
    from autoeval.runtime.shards import Shards

ESTIMATOR, SCORES = "estimator.parquet", "scores.parquet"


def fit(
    labels: PathLike | None = None,
    *,
    predictions: PathLike | None = None,
    detector: str | DetectorSpec | ImageDetector | None = None,
    task: PathLike | Task | None = None,
    join: Sequence[PathLike] = (),
    img_dir: PathLike | None = None,
    family: str | None = None,
    half_size_predictions: PathLike | None = None,
    names: PathLike | Mapping[str, str] | None = None,
    truncated: bool = False,
    teacher: PathLike | DetectorSpec | Teacher | None = None,
    data_root: PathLike | None = None,
    target: str = "mAP",
    level: float = 0.9,
    calibrate: bool = True,
    methods: Sequence[str] = (DEFAULT_METHOD,),
    settings: PassSettings | None = None,
    meta_set: MetaSetConfig | None = None,
    reference: str | None = None,
    pseudo_labels: PathLike | None = None,
    pseudo_words: Mapping[str, str] | None = None,
    work_dir: PathLike | None = None,
    executor: Executor | None = None,
    batch_size: int = 4,
) -> AccuracyEstimator:
    """Fit an estimator on labelled data: one labelled set, the sources of a task, or earlier fits.

    Parameters
    ----------
    labels : path-like, optional
        A labelled set: COCO JSON, or a folder of YOLO or VOC labels.
    predictions : path-like, optional
        What the detector found on it: COCO results, Parquet or JSON lines. With `task` a folder
        with ``NAME.json`` for each source.
    detector : str, DetectorSpec or ImageDetector, optional
        Instead of `predictions`: the detector, which is run over the images.
    task : path-like or Task, optional
        Instead of `labels`: a task file with labelled sources; see `autoeval.load_task`.
    join : sequence of path-like
        Instead of all of these: work dirs of fits of one detector.
    img_dir : path-like, optional
        Images of `labels`, where their format does not say.
    family : str, optional
        Origin of `labels`, if others that it is joined with share it.
    half_size_predictions : path-like, optional
        Predictions of a second pass at half the input size, in pixels of the full size.
    names : path-like or mapping of str to str, optional
        Words for the category numbers of predictions: ``data.yaml``, or a text file with a word a
        line, counted from 0.
    truncated : bool
        Accept predictions without boxes under .3.
    teacher : path-like, DetectorSpec or Teacher, optional
        A stronger detector, or its predictions: agreement with it becomes a score.
    data_root : path-like, optional
        Folder with the data of the task.
    target : str
        What is estimated: ``mAP``, ``mAP50``, ``mAP75``, one at a score threshold such as
        ``recall@0.3``, or with a task a counting error. `AccuracyEstimator.for_target` changes it.
    level : float
        Nominal coverage of the intervals.
    calibrate : bool
        Learn from the labels how confidences of this detector go with being right; otherwise the
        usual calibration of detectors is taken. See docs/explanation/calibration.md.
    methods : sequence of str
        With a task and a detector: the first becomes the estimator, all are evaluated.
    settings : PassSettings, optional
        With a task and a detector: from `autoeval.estimation.observation.presets.preset`; by
        default each image once, and once at half the size.
    meta_set : MetaSetConfig, optional
        With a task and a detector: transformed sample sets, which the published methods need.
    reference : str, optional
        Source of the task that stands for the detector's training domain.
    pseudo_labels, pseudo_words
        With a task and a detector: see `autoeval.estimation.fit_task.fit_task`.
    work_dir : path-like, optional
        Where the estimator, its score table and what was observed are written: the same call goes
        on where one was interrupted. Needed with a task and a detector.
    executor : Executor, optional
        Where a detector is run; this process by default.
    batch_size : int
        Changes no number.

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
    folder = None if work_dir is None else Path(work_dir)
    wanted: dict[str, Any] = {"target": target, "level": level}
    if join:
        paths = [Path(path) for path in join]
        paths = [(path / ESTIMATOR if path.is_dir() else path).resolve() for path in paths]
        if len(set(paths)) < 2:
            raise InputError("--join takes two work dirs or more, of fits of one detector.")
        fits = {str(path): AccuracyEstimator.load(path) for path in paths}
        return _written(join_fits(fits, **wanted), folder)
    _check_sources(labels, predictions, detector, task, family)
    task = load_task(task, data_root) if isinstance(task, str | os.PathLike) else task
    wanted["calibrate"] = calibrate
    origin: dict[str, Any] = {"img_dir": img_dir, "family": family}
    if predictions is not None:
        words = read_names(Path(names)) if isinstance(names, str | os.PathLike) else names
        fitted = fit_files(
            predictions,
            labels=labels,
            task=task,
            half_size=half_size_predictions,
            teacher=teacher,
            names=words,
            truncated=truncated,
            **origin,
            **wanted,
        )
        return _written(fitted, folder)
    assert detector is not None
    loaded, load, loading = load_any(detector, teacher)
    if task is None:
        assert labels is not None
        fitted = fit_labelled(
            loaded,
            labels,
            teacher=load_teacher(teacher),
            keep=Keeping(folder, executor, load) if folder else None,
            loading=loading,
            batch_size=batch_size,
            **origin,
            **wanted,
        )
        return _written(fitted, folder)
    from autoeval.estimation.fit_task import fit_task
    from autoeval.estimation.kept_domain import reference_domain
    from autoeval.estimation.observation.observing import Observer
    from autoeval.estimation.observation.presets import light

    if folder is None:
        raise InputError("A fit on a task needs a folder to keep what is scored: `work_dir`.")
    settings = replace(settings or light(), teacher=load_teacher(teacher))
    observer: Observer = Observer(loaded, task, settings, batch_size=batch_size)
    if reference is not None:
        observer = observer.changed(domain=reference_domain(observer, reference, folder))
    return fit_task(
        observer,
        task.load_seed_sets(),
        meta_set=meta_set,
        work_dir=folder,
        methods=methods,
        executor=executor,
        load=load,
        pseudo_labels=None if pseudo_labels is None else Path(pseudo_labels),
        pseudo_words=pseudo_words,
        loading=loading,
        **wanted,
    )


def plan_labels(
    estimator: AccuracyEstimator | PathLike,
    predictions: PathLike | PredictionFiles | None = None,
    *,
    images: Any = None,
    n: int = 20,
    seed: int = 0,
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
    predictions, images, **site
        See `AccuracyEstimator.predict`.
    n, seed, frames, pseudo_labels, pseudo_words
        See `AccuracyEstimator.plan_labels`.
    folder : path-like, optional
        Write the plan there with a copy of the images, ready to be labelled; a plan that is there
        is enlarged to `n` images.

    Raises
    ------
    InputError
        As `AccuracyEstimator.predict` and `AccuracyEstimator.plan_labels`.
    """
    fitted = load_estimator(estimator)
    estimate = fitted.predict(predictions, images=images, **site)
    options: dict[str, Any] = {
        "seed": seed,
        "frames": frames,
        "pseudo_labels": pseudo_labels,
        "pseudo_words": pseudo_words,
    }
    if folder is None:
        return fitted.plan_labels(estimate, n=n, **options)
    return plan_in_folder(fitted, estimate, Path(folder), n=n, **options)[0]


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


def compare(
    estimators: Mapping[str, AccuracyEstimator | PathLike] | Sequence[AccuracyEstimator | PathLike],
    predictions: Sequence[PathLike | PredictionFiles | None] | None = None,
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
    batch_size: int = 4,
    trained_here: Collection[str] = (),
) -> Comparison:
    """Compare detectors on the same images: which is better, by how much, with what probability.

    Parameters
    ----------
    estimators : mapping or sequence of AccuracyEstimator or path-like
        Fitted, best on the same labelled set: one a detector, by name; those of a sequence are
        named after their folders. A work dir of `fit` stands for the estimator in it.
    predictions : sequence of path-like, PredictionFiles or None, optional
        What each detector found on the images, in the order of `estimators`; None for one that is
        to be run.
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
    batch_size : int
        Changes no number.
    trained_here : collection of str
        Names of detectors that were trained on images like the labelled ones, such as others of the
        same site: the difference there says little of elsewhere and is not used, and intervals are
        wider.

    Raises
    ------
    InputError
        If fewer than two detectors are given or one twice; as `AccuracyEstimator.predict` and
        `autoeval.comparison.compare_sites.compare_sites`.
    """
    from autoeval.comparison.compare_sites import compare_sites

    check_level(level)
    fits = named_estimators(estimators)
    if target is not None:
        fits = {name: of.for_target(target) for name, of in fits.items()}
    files = list(predictions or [None] * len(fits))
    if len(files) != len(fits):
        raise InputError(
            f"Expected predictions of each of {len(fits)} detectors, in their order, but got "
            f"{len(files)}."
        )
    plan = None
    if labels is not None and (Path(labels).parent / PLAN).exists():
        plan = load_plan(Path(labels).parent)
    sites = {
        name: fitted.read_site(
            of,
            images=images,
            labels=labels,
            categories=categories,
            keep=(keep or {}).get(name),
            shards=shards,
            batch_size=batch_size,
        )
        for (name, fitted), of in zip(fits.items(), files, strict=True)
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
    )


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
        return {name: load_estimator(of) for name, of in estimators.items()}
    paths = [
        Path(of) if isinstance(of, str | os.PathLike) else Path(f"detector {k}")
        for k, of in enumerate(estimators, 1)
    ]
    whole = [path.parent if path.name == ESTIMATOR else path for path in paths]
    if len({path.resolve() for path in whole}) < len(whole):
        raise InputError("One estimator is given twice: name each detector once.")
    names: list[str] = []
    for depth in range(1, 1 + max((len(path.parts) for path in whole), default=0)):
        names = ["/".join(path.parts[-depth:]) for path in whole]
        if len(set(names)) == len(names):
            break
    return {name: load_estimator(of) for name, of in zip(names, estimators, strict=True)}


def load_estimator(estimator: AccuracyEstimator | PathLike) -> AccuracyEstimator:
    """Load an estimator, where it is not one already."""
    if isinstance(estimator, AccuracyEstimator):
        return estimator
    path = Path(estimator)
    return AccuracyEstimator.load(path / ESTIMATOR if path.is_dir() else path)


def load_any(
    detector: str | DetectorSpec | ImageDetector, teacher: Any = None
) -> tuple[Any, DetectorSpec | None, dict[str, Any] | None]:
    """Load a detector that is named, and say how: for workers, and to keep with an estimator."""
    if isinstance(detector, str):
        detector = DetectorSpec(detector)
    if not isinstance(detector, DetectorSpec):
        return detector, None, None
    of_teacher = teacher.to_dict() if isinstance(teacher, DetectorSpec) else None
    return detector(), detector, {"detector": detector.to_dict(), "teacher": of_teacher}


def _check_sources(labels: Any, predictions: Any, detector: Any, task: Any, family: Any) -> None:
    if labels is not None and task is not None:
        raise InputError(
            "One at a time: fit the labels and the task by themselves, then join both (--join)."
        )
    if labels is None and task is None:
        raise InputError("Expected either labels (--labels PATH) or a task (--task FILE).")
    if family is not None and task is not None:
        raise InputError("--family is that of --labels; a task names those of its sources itself.")
    if (predictions is None) == (detector is None):
        raise InputError(
            "Expected either predictions (--predictions PATH) or a detector (--detector ALIAS)."
        )


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
