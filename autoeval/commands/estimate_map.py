"""Fit an estimator for a detector on labelled seed sets; estimate its mAP on unlabelled images."""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.commands.detector_options import (
    add_detector_options,
    detector_name,
    load_named_detector,
)
from autoeval.commands.estimate_map_predictions import run_on_predictions
from autoeval.commands.execution_options import add_execution_options, launched, make_executor
from autoeval.commands.image_options import named_images
from autoeval.commands.meta_set_options import (
    add_data_options,
    add_pass_options,
    make_observer,
)
from autoeval.commands.predictions_options import add_predictions_options
from autoeval.errors import InputError
from autoeval.runtime.executors.base import Executor
from autoeval.runtime.shards import Shards

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoeval.estimation.fitting import Fit
    from autoeval.estimation.observing import Observer
    from autoeval.metasets.seed_set import SeedSet


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_detector_options(parser)
    add_data_options(parser, images="estimate mAP on")
    method = parser.add_argument_group("method")
    method.add_argument(
        "--method",
        nargs="+",
        default=["fused", "bos"],
        metavar="NAME",
        help="regressor (default: fused); more names are judged beside the first",
    )
    method.add_argument("--target", default="mAP", choices=("mAP", "mAP50", "mAP75"))
    method.add_argument("--estimator", metavar="FILE", help="use a saved one instead of fitting")
    add_pass_options(parser)
    add_execution_options(parser)
    add_predictions_options(parser, "folder with NAME.json for each source, instead of a detector")
    parser.add_argument(
        "--images-predictions", metavar="FILE", help="with --predictions: those of the new images"
    )
    parser.add_argument(
        "--report", type=Path, metavar="FILE", help="default: report.html in the work dir"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> int:
    """Load the detector, fit or load the estimator, estimate, and tell."""
    if args.predictions:
        return run_on_predictions(args)
    with launched(args) as shards:
        return _run(args, shards)


def _run(args: argparse.Namespace, shards: Shards) -> int:
    from autoeval.estimation.estimator import MapEstimator
    from autoeval.metasets import load_task
    from autoeval.metasets.overlap import shared_with_sources
    from autoeval.report.sections import written_files
    from autoeval.results.estimate.map_report import map_report
    from autoeval.results.estimate.observed import observe_unlabelled

    if args.estimator and not args.images:
        raise InputError("--estimator needs --images PATH, the images to estimate on.")
    executor = make_executor(args)
    task = load_task(args.task, args.data_root)
    files = named_images(args)
    name, observer = detector_name(args), make_observer(args, load_named_detector(args), task)
    work_dir = args.work_dir or Path("work_dirs") / f"{task.name}_{Path(name).stem}"
    fit: Fit | None = None
    seed_sets: Sequence[SeedSet] = ()
    if args.estimator:
        estimator = MapEstimator.load(args.estimator)
    else:
        seed_sets = task.load_seed_sets()
        fit = _fit(args, observer, seed_sets, work_dir, executor)
        estimator = fit.estimator
    observed = None
    if files is not None:
        shared = shared_with_sources(seed_sets, [file.path for file in files])
        observed = observe_unlabelled(observer, estimator, files, shards=shards).cautioned(shared)
    if not shards.leads:
        return 0
    report = map_report(
        f"{name} on {task.name}", estimator, detector=name, fit=fit, observed=observed
    )
    written = [*(fit.files if fit else ()), *report.write(work_dir, args.report)]
    if args.json:
        print(json.dumps(report.to_dict(), indent=2))
    else:
        print(f"{report.text()}\n\n{written_files(written)}")
    return 0


def _fit(
    args: argparse.Namespace,
    observer: Observer,
    seed_sets: Sequence[SeedSet],
    work_dir: Path,
    executor: Executor,
) -> Fit:
    from autoeval.estimation.fitting import fit_task
    from autoeval.metasets import load_metaset_config

    meta_set = load_metaset_config(args.metaset, n_sets=args.n_sets, n_images=args.n_images)
    fit = fit_task(
        observer,
        seed_sets,
        meta_set=meta_set,
        work_dir=work_dir,
        methods=args.method,
        target=args.target,
        executor=executor,
        load=partial(load_named_detector, args),
    )
    for problem in fit.problems:
        print(f"note: {problem}", file=sys.stderr)
    return fit
