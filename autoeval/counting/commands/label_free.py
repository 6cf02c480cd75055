"""Estimate how far a detector miscounts on unlabelled images, and judge it source by source.

A detector counts by its boxes above --count-thr. Its counting error on sample sets of labelled
sources is regressed on label-free scores, each source is left out in turn, and the result stands
beside a constant predictor. Writes held_out.md, held_out.csv, the score table and the estimator
into the work directory; what is scored there already is not scored again, so that other methods and
targets cost little.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from autoeval.commands.detector_options import (
    add_detector_options,
    detector_name,
    load_named_detector,
)
from autoeval.commands.image_options import named_images
from autoeval.commands.meta_set_options import (
    add_data_options,
    add_pass_options,
    make_observer,
    named_task,
)
from autoeval.counting.binning import load_bins
from autoeval.counting.label_free import EDGES, CountingErrorSettings
from autoeval.errors import InputError
from autoeval.report.tables import format_cells, to_markdown, to_terminal
from autoeval.results.held_out_tables import formats_of, method_table, source_table
from autoeval.runtime.files import atomic_path, write_text
from autoeval.targets import TARGETS, find_target

if TYPE_CHECKING:
    from autoeval.estimation.estimator import MapEstimator
    from autoeval.estimation.fitting import Fit
    from autoeval.estimation.observing import Observer
    from autoeval.estimation.protocol import LeaveOneSourceOut

METHODS = ("count_stability", "bos", "bos_strict", "ac", "boxes_per_image", "median")
COUNT_TARGETS = tuple(name for name in TARGETS if name.startswith("count_"))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_detector_options(parser)
    add_data_options(parser, images="estimate the counting error on")
    counting = parser.add_argument_group("counting")
    counting.add_argument(
        "--count-thr",
        type=float,
        default=CountingErrorSettings.score_thr,
        metavar="S",
        help="a box counts where its score exceeds this (default: %(default)s)",
    )
    counting.add_argument(
        "--bins",
        type=Path,
        metavar="FILE",
        help="JSON with the edges for pooled errors; default: as published, for counts to 1000",
    )
    counting.add_argument("--bins-name", metavar="NAME", help="which of several lists in --bins")
    counting.add_argument(
        "--target",
        nargs="+",
        default=["count_mae", "count_relative_mae"],
        choices=COUNT_TARGETS,
        metavar="NAME",
        help=f"out of {', '.join(COUNT_TARGETS)} (default: the first and the third)",
    )
    counting.add_argument(
        "--method",
        nargs="+",
        default=list(METHODS),
        metavar="NAME",
        help="regressors to judge; the first, for the first target, is kept as the estimator",
    )
    counting.add_argument("--estimator", metavar="FILE", help="use a saved one instead of fitting")
    add_pass_options(parser)


def run(args: argparse.Namespace) -> int:
    """Fit and judge an estimator, or load one; estimate; tell."""
    from autoeval.estimation.estimator import MapEstimator
    from autoeval.estimation.observing import Observer

    if args.estimator and not args.images:
        raise InputError("--estimator needs --images PATH, the images to estimate on.")
    edges = load_bins(args.bins, args.bins_name).edges if args.bins else EDGES
    task = named_task(args)
    files = named_images(args)
    saved = MapEstimator.load(args.estimator) if args.estimator else None
    plain = make_observer(args, load_named_detector(args), task)
    settings = replace(plain.settings, measures=(CountingErrorSettings(args.count_thr, edges),))
    observer = Observer(plain.detector, task, settings, batch_size=args.batch_size)
    estimator = saved or _fit(args, observer)
    if files is not None:
        estimate, _ = estimator.estimate(observer, files)
        print(estimate)
    return 0


def _fit(args: argparse.Namespace, observer: Observer) -> MapEstimator:
    """Fit, leave sources out, tell, and return the estimator."""
    from autoeval.estimation.fitting import fit_task
    from autoeval.metasets import load_metaset_config

    task = observer.task
    name = f"{task.name}_{Path(detector_name(args)).stem}_counting"
    work_dir = args.work_dir or Path("work_dirs") / name
    fit = fit_task(
        observer,
        task.load_seed_sets(),
        meta_set=load_metaset_config(args.metaset, n_sets=args.n_sets, n_images=args.n_images),
        work_dir=work_dir,
        methods=args.method,
        target=args.target[0],
    )
    for problem in fit.problems:
        print(f"note: {problem}", file=sys.stderr)
    if fit.held_out:
        _tell([*fit.held_out, *_judge_others(fit, args)], work_dir)
    else:
        print(f"{len(fit.estimator.regression_.sources_)} sources: too few to leave one out.\n")
    return fit.estimator


def _judge_others(fit: Fit, args: argparse.Namespace) -> list[LeaveOneSourceOut]:
    """Judge the targets after the first, by the methods of the first."""
    from autoeval.estimation.protocol import leave_one_source_out

    methods = [result.method for result in fit.held_out]
    return [
        leave_one_source_out(fit.table, method, target=target)
        for target in dict.fromkeys(args.target[1:])
        for method in methods
    ]


def _tell(results: Sequence[LeaveOneSourceOut], folder: Path) -> None:
    """Print the held-out tables of each target; write them as Markdown and as CSV."""
    parts = []
    for name in dict.fromkeys(result.target for result in results):
        target = find_target(name)
        mine = [result for result in results if result.target == name]
        first_and_constant = {result.method: result.per_source for result in (mine[0], mine[-1])}
        scale, digits = target.scale, target.digits
        tables = (
            source_table(first_and_constant, target=name, scale=scale, digits=digits),
            method_table([result.summary() for result in mine], scale=scale),
        )
        cells = [format_cells(table, formats_of(table, digits=digits)) for table in tables]
        print(
            "\n\n".join(
                [f"{target.title}, each source left out in turn:", *map(to_terminal, cells)]
            )
        )
        print()
        parts += [f"## {target.title}", *map(to_markdown, cells)]
    write_text(folder / "held_out.md", "\n\n".join(parts) + "\n")
    rows = [r.per_source.assign(target=r.target, method=r.method) for r in results]
    with atomic_path(folder / "held_out.csv") as temporary:
        pd.concat(rows).to_csv(temporary, index=False)
    print(f"written: {folder / 'held_out.md'}, held_out.csv, scores.parquet, estimator.parquet\n")
