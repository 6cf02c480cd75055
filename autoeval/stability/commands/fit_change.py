"""Fit how changes of scores and of the camera's signals go with changes of mAP.

The detector observes labelled sites as they come and under corruptions; the fitted slopes are
written to changes.json in the work dir, for autoeval monitor --changes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.commands.given_input import Detail
from autoeval.commands.run_options import (
    add_batch_size,
    add_detector_options,
    add_work_dir,
    load_named_detector,
    required_detector,
)
from autoeval.commands.task_options import add_metaset_option, add_task_option
from autoeval.errors import InputError

if TYPE_CHECKING:
    from autoeval.stability.change_slopes.known_changes import ChangedImages
    from autoeval.stability.metasets.transforms import TransformStep

FILE = "changes.json"
META_SET, EVERY = "configs/metasets/corruptions.py", "all"
N_SETS, N_IMAGES, UNTOUCHED = 14, 24, 64


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_site_options(parser, required=True)
    parser.add_argument(
        "--everywhere",
        nargs="+",
        default=(),
        metavar="NAME[=SEVERITY]",
        help="corruptions that every site gets, on the same of its images: defocus_blur=4, "
        "defocus_blur for each of its severities, all or all=3 for each corruption",
    )
    parser.add_argument(
        "--untouched",
        type=int,
        default=UNTOUCHED,
        metavar="N",
        help="images of each site that are observed as they come, at most (%(default)s)",
    )
    parser.add_argument(
        "--no-calibration",
        action="store_true",
        help="read confidences as they are, rather than true-positive probabilities",
    )
    add_batch_size(parser)
    about = "for what is written, and keeps what was observed (%(default)s)"
    add_work_dir(parser, "work_dirs/changes", about)
    parser.add_argument("--seed", type=int, default=0, help="of every draw (default: %(default)s)")


def run(args: argparse.Namespace) -> int:
    """Observe, fit, write, and print the errors on groups and kinds left out."""
    from autoeval.monitoring.changes.change_model import write_change_model
    from autoeval.report.terminal import written_files
    from autoeval.stability.change_slopes.fit_change import (
        CLEAN_BOXES,
        change_figures,
        evaluated_changes,
        fit_change,
    )
    from autoeval.stability.change_slopes.known_changes import known_changes

    observed, categories, warnings = observe_named_changes(
        args, everywhere=args.everywhere, untouched=args.untouched, batch_size=args.batch_size
    )
    changes, levels = known_changes(observed, categories, calibrate=not args.no_calibration)
    rows = changes.rows
    n_kinds, n_sites = rows["kind"].nunique(), len(rows[["site", "category"]].drop_duplicates())
    origin = (
        f"{Path(required_detector(args).name).stem} under {n_kinds} kinds of corruption at "
        f"{n_sites} labelled sites of {rows['group'].nunique()} groups"
    )
    model = fit_change(changes, origin=origin)
    clean_boxes = fit_change(changes, CLEAN_BOXES, origin=origin)
    figures = {
        "boxes at full and half size": change_figures(evaluated_changes(changes, levels)),
        "boxes at full size alone": change_figures(
            evaluated_changes(changes, levels, CLEAN_BOXES.slopes)
        ),
    }
    for warning in warnings:
        print(f"note: {warning}", file=sys.stderr)
    print(f"fitted on {origin}\nchanges of mAP, group and kind of change left out:")
    for name, measured in figures.items():
        print(
            f"  {name}: MAE {100 * measured['error']:.1f} points ('no change': "
            f"{100 * measured['nothing']:.1f}), sign right in {measured['sign']:.0%} of "
            f"those over 3 points, coverage {measured['coverage']:.0%} (nominal 90 %)"
        )
    print(f"\n{written_files([write_change_model(args.work_dir / FILE, model, clean_boxes)])}")
    return 0


def add_site_options(
    parser: argparse.ArgumentParser, *, required: bool, more: Sequence[Detail] = ()
) -> None:
    """Declare the detector, the tasks with labelled sites, and how these are changed.

    `more` are facts about the detector of one command.
    """
    add_detector_options(parser, more)
    data = parser.add_argument_group("data")
    add_task_option(
        data, "; of several, shared images are observed once", required=required, several=True
    )
    add_metaset_option(data)


def observe_named_changes(
    args: argparse.Namespace, *, everywhere: Sequence[str], untouched: int, batch_size: int
) -> tuple[list[ChangedImages], tuple[str, ...], tuple[str, ...]]:
    """Run the detector over the sites; return what it left, the categories, and warnings."""
    from autoeval.estimation.observation.observing import Observer
    from autoeval.estimation.observation.pass_settings import PassSettings
    from autoeval.io.tasks.task import load_task
    from autoeval.stability.change_slopes.known_changes import observe_changes
    from autoeval.stability.change_slopes.merged_tasks import merge_tasks
    from autoeval.stability.metasets import load_metaset_config

    task = merge_tasks([load_task(file, args.data_root) for file in args.task])
    meta_set = load_metaset_config(
        args.metaset or META_SET,
        n_sets=N_SETS if args.n_sets is None else args.n_sets,
        n_images=N_IMAGES if args.n_images is None else args.n_images,
    )
    settings = PassSettings(args.seed)
    observer = Observer(load_named_detector(args), task, settings, batch_size=batch_size)
    named = (step for text in everywhere for step in _steps(text, meta_set.transforms))
    observed, warnings = observe_changes(
        observer,
        folder=args.work_dir,
        meta_set=meta_set,
        everywhere=list(dict.fromkeys(named)),
        untouched=untouched,
    )
    return observed, task.categories, warnings


def _steps(text: str, transforms: Sequence[str]) -> list[TransformStep]:
    from autoeval.stability.metasets.transforms import TransformStep, get_transform

    name, equals, severity = text.partition("=")
    if name == EVERY:
        return [
            step
            for transform in transforms
            for step in _steps(transform + equals + severity, transforms)
        ]
    transform = get_transform(name)
    if not equals:
        severities = map(transform.magnitude, range(transform.n_magnitudes))
        return [TransformStep(transform.name, magnitude) for magnitude in severities]
    if not severity.isdigit():
        raise InputError(
            f"Expected a corruption with its severity, such as defocus_blur=4, but got {text!r}."
        )
    return [TransformStep(transform.name, float(severity))]
