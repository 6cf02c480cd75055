"""Fit an estimator for a detector on labelled seed sets; estimate its mAP on unlabelled images.

With --target count_mae and the like, its counting error instead: how far it miscounts by its boxes.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from autoeval.commands.counting_options import (
    COUNT_METHODS,
    COUNT_TARGETS,
    add_counting_options,
    check_counting_options,
    counting,
)
from autoeval.commands.detector_options import (
    add_detector_options,
    detector_name,
    load_named_detector,
)
from autoeval.commands.estimate_map_labels import check_labels, tell_with_labels
from autoeval.commands.estimate_map_predictions import run_on_predictions
from autoeval.commands.execution_options import add_execution_options, launched, make_executor
from autoeval.commands.image_options import named_images
from autoeval.commands.label_options import (
    add_labels_options,
    add_pseudo_label_options,
    translation,
)
from autoeval.commands.meta_set_options import (
    LIGHT,
    add_data_options,
    add_pass_options,
    make_observer,
    named_task,
    saved_observer,
    work_dir,
)
from autoeval.commands.predictions_options import add_predictions_options
from autoeval.commands.remembered_detector import recall_detector, remember_detector
from autoeval.commands.teacher_options import add_teacher_options
from autoeval.errors import InputError
from autoeval.runtime.shards import Shards

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pandas import DataFrame

    from autoeval.data.film import FilmFrame
    from autoeval.data.image_folder import ImageFile
    from autoeval.estimation.estimator import MapEstimator
    from autoeval.estimation.fitting import Fit
    from autoeval.estimation.labels.aid import LabelAid
    from autoeval.estimation.observation.observing import Observer
    from autoeval.metasets.seed_set import SeedSet

OF_FIT = (
    *("metaset", "n_sets", "n_images", "method", "target"),
    *("preset", "dropout", "seed", "class_aware", "views", "count_thr", "bins", "bins_name"),
    *("pseudo_labels", "pseudo_words"),
)
METHODS: tuple[str, ...] = ("bayes",)
WITH_DROPOUT: tuple[str, ...] = ("bayes", "fused", "bos")
MAP_TARGETS = ("mAP", "mAP50", "mAP75")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_detector_options(parser)
    add_teacher_options(parser)
    add_data_options(parser, images="estimate mAP on")
    method = parser.add_argument_group("method")
    method.add_argument(
        "--method",
        nargs="+",
        metavar="NAME",
        help=f"regressor (default: {METHODS[0]}; of counting errors {COUNT_METHODS[0]}); more "
        "names are judged beside the first",
    )
    targets = (*MAP_TARGETS, *COUNT_TARGETS)
    method.add_argument(
        "--target",
        default="mAP",
        choices=targets,
        metavar="NAME",
        help=f"out of {', '.join(targets)} (default: %(default)s)",
    )
    method.add_argument(
        "--estimator",
        metavar="FILE",
        help="use a saved one instead of fitting, with the detector that it remembers; needs "
        "--images alone",
    )
    add_counting_options(parser)
    add_pass_options(parser, light=True)
    add_execution_options(parser)
    add_predictions_options(parser, "folder with NAME.json for each source, instead of a detector")
    parser.add_argument(
        "--images-predictions", metavar="FILE", help="with --predictions: those of the new images"
    )
    labels = parser.add_argument_group(
        "labels", "of some of the images, taken as a simple random draw (see `label plan`)"
    )
    add_labels_options(labels, required=False)
    add_pseudo_label_options(
        labels, "a folder with SOURCE.json in COCO; for `label plan --pseudo-labels`"
    )
    parser.add_argument(
        "--report", type=Path, metavar="FILE", help="default: report.html in the work dir"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> int:
    """Load the detector, fit or load the estimator, estimate, and tell."""
    check_counting_options(args)
    check_labels(args)
    if args.predictions:
        return run_on_predictions(args)
    if args.estimator:
        args = _remembering(args)
    with launched(args) as shards:
        return _run(args, shards)


def _run(args: argparse.Namespace, shards: Shards) -> int:
    from autoeval.estimation.observation.kept_observer import keeping
    from autoeval.metasets.overlap import shared_with_sources
    from autoeval.report.sections import told
    from autoeval.results.estimate.map_report import map_report
    from autoeval.results.estimate.new_images import observe_unlabelled
    from autoeval.results.estimate.shared_out import share_out

    used = _saved(args) if args.estimator else _fitted(args)
    name, task = detector_name(args), used.observer.task.name
    if args.labels:
        if shards.leads:
            folder, detector = work_dir(args, task), used.observer.detector
            title, images = f"{name} on {task}, with labels", used.images or ()
            tell_with_labels(
                args,
                title,
                used.estimator,
                images,
                detector,
                teacher=used.observer.settings.teacher,
                fit=used.fit,
                folder=folder,
            )
        return 0
    observed = None
    if used.images is not None:
        shared = shared_with_sources(used.seed_sets, [image.path for image in used.images])
        observer = used.observer
        if args.executor == "local":
            observer = keeping(observer, work_dir(args, task))
        else:
            load = partial(load_named_detector, args)
            shards = share_out(observer, used.images, make_executor(args), load=load)
        observed = observe_unlabelled(observer, used.estimator, used.images, shards=shards)
        observed = observed.cautioned(shared)
    if not shards.leads:
        return 0
    report = map_report(
        f"{name} on {task}", used.estimator, detector=name, fit=used.fit, observed=observed
    )
    files = report.write(work_dir(args, task), args.report)
    written = [*(used.fit.files if used.fit else ()), *files]
    print(told(report, written, as_json=args.json))
    return 0


class _Used(NamedTuple):
    """What an estimate starts from."""

    images: Sequence[ImageFile | FilmFrame] | None
    observer: Observer
    estimator: MapEstimator
    seed_sets: Sequence[SeedSet] = ()
    fit: Fit | None = None


def _remembering(args: argparse.Namespace) -> argparse.Namespace:
    """Refuse what a saved estimator carries itself, and load the detector that it remembers."""
    if not args.images:
        raise InputError("--estimator needs --images PATH, the images to estimate on.")
    fresh = argparse.ArgumentParser()
    add_arguments(fresh)
    given = [name for name in OF_FIT if getattr(args, name) != fresh.get_default(name)]
    if given:
        option = f"--{given[0].replace('_', '-')}"
        raise InputError(f"{option} is for a fit, and --estimator carries its own: leave it out.")
    loading = recall_detector(Path(args.estimator), args)
    return argparse.Namespace(**{**vars(args), **loading})


def _saved(args: argparse.Namespace) -> _Used:
    """Load an estimator, which brings everything but the detector and the images."""
    from autoeval.estimation.estimator import MapEstimator

    images = named_images(args)
    estimator = MapEstimator.load(args.estimator)
    observer = saved_observer(args, load_named_detector(args), estimator)
    return _Used(images, observer, estimator)


def _fitted(args: argparse.Namespace) -> _Used:
    from autoeval.estimation.fitting import fit_task
    from autoeval.metasets import load_metaset_config

    executor, task, images = make_executor(args), named_task(args), named_images(args)
    if args.target in COUNT_TARGETS and args.preset == LIGHT:
        args.preset = "paper"
    observer = counting(args, make_observer(args, load_named_detector(args), task))
    methods: tuple[str, ...] = WITH_DROPOUT if observer.settings.repeats else METHODS
    if args.target in COUNT_TARGETS:
        methods = COUNT_METHODS
    seed_sets = task.load_seed_sets()
    meta_set = None
    if args.preset != LIGHT or args.metaset or args.n_sets:
        meta_set = load_metaset_config(args.metaset, n_sets=args.n_sets, n_images=args.n_images)
    fit = fit_task(
        observer,
        seed_sets,
        meta_set=meta_set,
        work_dir=work_dir(args, task.name),
        methods=args.method or list(methods),
        target=args.target,
        executor=executor,
        load=partial(load_named_detector, args),
        learn=_learning(args),
    )
    for saved in (file for file in fit.files if file.name == "estimator.parquet"):
        remember_detector(saved, args)
    for problem in fit.problems:
        print(f"note: {problem}", file=sys.stderr)
    return _Used(images, observer, fit.estimator, seed_sets, fit)


def _learning(args: argparse.Namespace) -> Callable[[DataFrame], LabelAid | None]:
    """Say how few labels are to be helped: also by a second detector, where one is named."""
    from autoeval.estimation.labels.recording import learn_from

    if not args.pseudo_labels:
        return learn_from
    words = translation(args.pseudo_words, "--pseudo-words")
    return partial(learn_from, pseudo_labels=Path(args.pseudo_labels), words=words)
