"""Fit an estimator for a detector on labelled seed sets; estimate its mAP on unlabelled images."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from typing_extensions import Unpack

from autoeval.accuracy.measures import AP_TARGETS
from autoeval.api.options import PassOptions, check_names, executor_of, found_images
from autoeval.commands.command_line import TYPED
from autoeval.errors import InputError
from autoeval.stability.commands import meta_set_options, road_world
from autoeval.stability.commands.meta_set_options import (
    COUNT_METHODS,
    COUNT_TARGETS,
    LIGHT,
    PAPER,
    PerturbedOptions,
    TaskOptions,
)
from autoeval.words import listed

if TYPE_CHECKING:
    from autoeval.estimation.estimate import Estimate
    from autoeval.estimation.estimator import AccuracyEstimator
    from autoeval.report.page import Page
    from autoeval.stability.methods.published_estimator import PublishedEstimator

    Fitted = AccuracyEstimator | PublishedEstimator

OF_FIT = (
    *("metaset", "n_sets", "n_images", "method", "target", "count_thr", "bins", "bins_name"),
    *("preset", "dropout", "stages", "seed", "class_aware", "box_score", "views", "das"),
)
COMMAND = "estimate-map"
WITHOUT_DROPOUT: tuple[str, ...] = ("bayes",)
METHODS: tuple[str, ...] = ("bos", "bayes", "fused")


class MapOptions(TaskOptions, PerturbedOptions, PassOptions, total=False):
    """What is fitted and estimated; and as the dictionaries that it extends.

    Parameters
    ----------
    method : sequence of str
        Regressors (default: bos bayes fused; without dropout bayes; of counting errors
        count_stability): the first gives the estimate, others are compared.
    target : str
        mAP, mAP50, mAP75, or count_mae, count_rmse, count_pooled_mae, count_pooled_std,
        count_relative_mae (default: mAP).
    count_thr : float
        Of a count_ target: a box counts where its score exceeds this (default: 0.3).
    bins : path-like
        Of a count_ target: edges for pooled errors, FILE.json, or published ones such as nwpu
        (default: those of the published algorithm for counts to 1000).
    bins_name : str
        Which of several lists in --bins.
    estimator : path-like
        Use a saved one instead of fitting, with its detector; needs --images alone.
    images : path-like
        Estimate on these: a folder, COCO JSON, video, image, pattern ('site/**/*.jpg'), text file
        of paths, or - for paths on standard input.
    img_dir : path-like
        Folder of the images that a COCO JSON names.
    every : str
        Frames of videos: 2s for one in so many seconds, or every Nth.
    categories : mapping of str to sequence of str
        A category, with the detector's words for it if the fit lacks them, as NAME or
        NAME=WORD,...; repeated for several (default: those of the fit, or all words).
    reference : sequence of str
        A stronger detector, whose boxes count as probable labels: its results on the same images,
        with a task a folder of them, or one to run (an alias or FILE.py:NAME).
    reference_names : path-like
        Words of the detector for the category numbers of the reference.
    reference_checkpoint : path-like
        Weights of the reference detector.
    json : bool
        Print the result as JSON.
    """

    method: Sequence[str]
    target: str
    count_thr: float
    bins: str
    bins_name: str
    estimator: str
    images: str
    img_dir: str
    every: str
    categories: Mapping[str, Sequence[str]]
    reference: Sequence[str]
    reference_names: str
    reference_checkpoint: str
    json: bool


def estimate_map(**options: Unpack[MapOptions]) -> None:
    """Fit an estimator for a detector on labelled seed sets; estimate its mAP on unlabelled images.

    With --target count_mae and the like, its counting error instead: the error of its number of
    boxes.

    Parameters
    ----------
    **options
        See `MapOptions`.
    """
    check_names(options, MapOptions)
    meta_set_options.check_counting_options(options)
    _check(options)
    options["target"] = options.get("target") or AP_TARGETS[0]
    # The road world assumes some images, which are neither a list nor a video.
    if not options.get("images"):
        reason = "is about new images: give --images PATH, too."
        meta_set_options.refuse_options(options, ["categories", "img_dir", "every"], reason)
    if not options.get("estimator"):
        _assume(options)
    new_images = None
    if options.get("images") and not _is_rendered_later(options):
        new_images = found_images(options)
    from autoeval.report.page import PAGE, about, print_result, written_files

    estimator = _estimator(options)
    fitted_with = (estimator.loading_.get("detector") or {}).get("name", "detector")
    name = Path(str(options.get("detector") or fitted_with)).name
    task = str(
        estimator.context_.get("task", {}).get("name", Path(options.get("task") or "labels").stem)
    )
    folder = meta_set_options.work_dir(options, task, name, estimator.target)
    estimate = _estimate(options, estimator, new_images, folder)
    facts = about(
        TYPED.get(),
        images=options.get("images"),
        task=options.get("task"),
        detector=name,
        checkpoint=options.get("checkpoint"),
        estimator=options.get("estimator"),
    )
    before = estimator.fit_result_.files if estimator.fit_result_ else ()
    text, values, draw = _report(f"{name} on {task}", estimator, estimate, name, facts)
    print_result(text, values, as_json=options.get("json", False))
    written = [*before, *draw().write(folder / PAGE, values)]
    if not options.get("json", False):
        print(f"\n{written_files(written)}")


def _report(
    title: str,
    estimator: Fitted,
    estimate: Estimate | None,
    detector: str,
    about: Mapping[str, str],
) -> tuple[str, dict[str, Any], Callable[[], Page]]:
    """Return text, JSON and what draws the page, of the default method or of a published one."""
    from autoeval.estimation.estimator import AccuracyEstimator
    from autoeval.report.estimate import estimate_page, estimate_text, estimate_values
    from autoeval.report.fit import fit_page, fit_text, fit_values
    from autoeval.stability.reports.method_page import method_page, method_text, method_values

    named: dict[str, Any] = {"detector": detector, "about": about}
    if not isinstance(estimator, AccuracyEstimator):
        other_estimates = {}
        if estimate is not None and estimate.site is not None:
            other_estimates = estimator.predict_others(estimate.site)
        values = method_values(estimator, estimate, other_estimates, **named)
        draw = partial(method_page, title, estimator, estimate, other_estimates, **named)
        return method_text(estimator, estimate, other_estimates), values, draw
    if estimate is None:
        draw = partial(fit_page, title, estimator, **named)
        return fit_text(estimator), fit_values(estimator, **named), draw
    values = estimate_values(estimate, estimator, **named)
    draw = partial(estimate_page, title, estimator, estimate, **named)
    return estimate_text(estimate, estimator), values, draw


def _assume(options: MapOptions) -> None:
    """Let the road world take the place of a task that is not given; name all that is missing."""
    if not road_world.serves(options):
        meta_set_options.check_complete(options, COMMAND)
        return
    values: dict[str, Any] = {"detector": road_world.DETECTOR, "preset": "paper"}
    if options.get("preset") != LIGHT:
        values |= {"metaset": road_world.METASET, "repeats": road_world.REPEATS}
        if options.get("detector") in (None, road_world.DETECTOR) and not options.get("checkpoint"):
            values["dropout"] = road_world.DROPOUT
    values["images"] = road_world.images_of(road_world.HELD_BACK)
    road_world.assume(cast("dict[str, Any]", options), values, command=COMMAND)


def _is_rendered_later(options: MapOptions) -> bool:
    """Whether the images are those of the road world, which need not be there yet."""
    if not road_world.serves(options):
        return False
    return road_world.FOLDER.resolve() in Path(options["images"]).resolve().parents


def _check(options: MapOptions) -> None:
    """Refuse options that exclude each other, before anything is run."""
    executor_of(options)
    if options.get("target") is not None and options.get("target") not in (
        *AP_TARGETS,
        *COUNT_TARGETS,
    ):
        raise InputError(
            f"Expected --target as one of {', '.join((*AP_TARGETS, *COUNT_TARGETS))} but got "
            f"{options.get('target')}."
        )
    if not options.get("estimator"):
        meta_set_options.check_task_options(options)
        return
    if not options.get("images"):
        raise InputError("--estimator needs --images PATH, the images to estimate on.")
    reason = "is for a fit, and --estimator carries its own: leave it out."
    meta_set_options.refuse_options(options, OF_FIT, reason)
    if not options.get("domain_source"):
        meta_set_options.refuse_options(
            options,
            ["task", "data_root", "max_images"],
            "goes with --estimator where --domain-source does.",
        )


def _estimator(options: MapOptions) -> Fitted:
    """Load the estimator, or fit one on the task."""
    from autoeval.api.options import load_any_estimator

    if options.get("estimator"):
        loaded = cast("Fitted", load_any_estimator(options["estimator"]))
        return loaded
    return _fit_detector(options)


def _fit_detector(options: MapOptions) -> Fitted:
    from autoeval.estimation.observation.kept_observer import Keeping
    from autoeval.estimation.observation.observing import Observer
    from autoeval.stability.commands.running_time import warn_of_long_run
    from autoeval.stability.fitting.fit_task import fit_task
    from autoeval.stability.fitting.kept_domain import reference_domain
    from autoeval.stability.metasets import load_metaset_config
    from autoeval.stability.methods import make_method
    from autoeval.stability.passes.presets import as_perturbable
    from autoeval.stability.scores.base import of_domain

    run = meta_set_options.named_detector(options)
    with road_world.offering_the_shipped_detector(COMMAND, options):
        run.loaded  # noqa: B018  (before a world is rendered for a detector that is not there)
    assumed = options.get("preset") is None
    if assumed:
        options["preset"] = (
            PAPER if _can_drop(run.loaded, meta_set_options.named_stages(options)) else LIGHT
        )
    if options.get("target") in COUNT_TARGETS and options.get("preset") == LIGHT:
        options["preset"] = PAPER
    if assumed and options.get("preset") == LIGHT:
        reason = as_perturbable(run.loaded).why_no_dropout
        print(f"note: without box stability, as --preset light: {reason}", file=sys.stderr)
    settings = replace(
        meta_set_options.pass_settings(options),
        measures=meta_set_options.counting_measures(options),
    )
    methods = METHODS if settings.repeats else WITHOUT_DROPOUT
    if options.get("target") in COUNT_TARGETS:
        methods = COUNT_METHODS
    methods = tuple(options.get("method") or methods)
    meta_set = None
    if options.get("preset") != LIGHT or options.get("metaset") or options.get("n_sets"):
        meta_set = load_metaset_config(
            options.get("metaset"), n_sets=options.get("n_sets"), n_images=options.get("n_images")
        )
    else:
        meta_set_options.refuse_options(
            options, ["n_images"], "is of sample sets: give --n-sets, too."
        )
    task = meta_set_options.named_task(options)
    folder = meta_set_options.work_dir(
        options, task.name, str(options.get("detector")), options.get("target")
    )
    if options.get("dropout"):
        meta_set_options.note_sources_of_search(options["dropout"], task)
    if options.get("ray") is None and not (folder / "rows").exists():
        # Where rows of a former run are kept, nobody knows how much is left.
        timed: Observer = Observer(run.loaded, task, settings, reading=run.reading)
        warn_of_long_run(timed, task.load_seed_sets(), meta_set)
    settings = replace(settings, reference=run.loaded_reference)
    observer: Observer = Observer(run.loaded, task, settings, reading=run.reading)
    source = options.get("domain_source")
    if source is not None:
        if not of_domain(column for name in methods for column in make_method(name).features):
            print(
                f"note: {listed(methods)} compares with no training domain: --domain-source only "
                "adds the scores that do to scores.parquet",
                file=sys.stderr,
            )
        domain = reference_domain(observer, source, folder)
        observer = observer.with_settings(replace(settings, domain=domain))
    with road_world.naming_the_number_of_images(options):
        return fit_task(
            observer,
            task.load_seed_sets(),
            Keeping(folder, run.executor, run.spec),
            meta_set=meta_set,
            methods=methods,
            target=options.get("target") or AP_TARGETS[0],
            loading=run.loading,
        )


def _can_drop(detector: Any, stages: Sequence[str]) -> bool:
    """Whether features can be dropped: in mmdet's networks, in others at named stages."""
    from autoeval.detectors.black_box import BlackBoxDetector

    return bool(stages) or not isinstance(detector, BlackBoxDetector)


def _estimate(
    options: MapOptions, estimator: Fitted, new_images: Any, folder: Path
) -> Estimate | None:
    """Estimate the new images, where there are any; `new_images` are those found before a fit."""
    from autoeval.estimation.estimator import AccuracyEstimator
    from autoeval.estimation.given import named_categories
    from autoeval.estimation.observation.kept_observer import Keeping
    from autoeval.estimation.run_detector import Detector
    from autoeval.runtime.jobs import LocalExecutor

    if not options.get("images"):
        return None
    running: dict[str, Any] = {}
    if options.get("estimator") and options.get("repeats") is not None:
        running["repeats"] = options.get("repeats")
    _check_running(estimator, options, running)
    run = meta_set_options.given_detector(options, estimator.loading_.get("detector"))
    spec = run.spec if run else None
    detector = estimator.detector_ or (spec() if spec else None)
    # Where it was fitted here and no method reads the domain, that was for scores.parquet alone.
    takes_domain = not isinstance(estimator, AccuracyEstimator) and (
        estimator.reads_domain or options.get("estimator")
    )
    if options.get("domain_source") and takes_domain:
        detector = detector or estimator.load_detector()
        running["domain"] = _domain(options, estimator, detector, folder)
    observed = None
    if detector is not None:
        observed = Detector(detector, reference=run.reference if run else None)
        observed.reading = run.reading if run else observed.reading
    executor = executor_of(options) or LocalExecutor()
    estimate: Estimate = estimator.predict(
        observed,
        images=found_images(options) if new_images is None else new_images,
        categories=named_categories(options.get("categories")),
        keep=Keeping(folder, executor, spec),
        **running,
    )
    if estimate.site is None or estimator.fit_result_ is None:
        return estimate
    from autoeval.io.tasks.inspection import shared_with_sources

    paths = [image.path for image in estimate.site.images if hasattr(image, "path")]
    shared = shared_with_sources(estimator.fit_result_.seed_sets, paths)
    return replace(estimate, warnings=(*estimate.warnings, *shared))


def _check_running(estimator: Fitted, options: MapOptions, running: dict[str, Any]) -> None:
    """Refuse what the default method does not read of how a detector is run."""
    from autoeval.estimation.estimator import AccuracyEstimator

    if not isinstance(estimator, AccuracyEstimator):
        return
    if options.get("estimator") and options.get("domain_source"):
        raise InputError(
            "No score of the default method compares with a training domain: leave out "
            "--domain-source."
        )
    if "repeats" in running:
        raise InputError(
            "The default method makes as many perturbed passes as it was fitted with: leave out "
            "--repeats."
        )


def _domain(options: MapOptions, estimator: Fitted, detector: Any, folder: Path) -> object:
    """Observe the training domain again, for a saved estimator that compares with it."""
    from autoeval.estimation.observation.observing import Observer
    from autoeval.estimation.observation.samples import ImageLoading
    from autoeval.stability.fitting.kept_domain import reference_domain
    from autoeval.stability.methods.scored_pass import named_stages
    from autoeval.stability.passes.presets import ScoredSettings
    from autoeval.stability.scores.base import needs_of

    settings = ScoredSettings.from_dict(
        estimator.context_["pass"],
        repeats=1,
        wants=tuple(sorted(needs_of(estimator.table_))),  # prototypes, where the fit had them
        stages=named_stages(estimator.loading_),
    )
    reading = ImageLoading(options.get("batch_size"), options.get("num_workers"))
    observer: Observer = Observer(
        detector, meta_set_options.named_task(options), settings, reading=reading
    )
    return reference_domain(observer, str(options.get("domain_source")), folder)
