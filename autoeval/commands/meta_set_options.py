"""The options of a task and its sample sets, of what is done to each image, and of counting."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.commands import road_world
from autoeval.commands.given_input import Detail, add_input
from autoeval.commands.run_options import NO_DETECTOR, add_work_dir, required_detector
from autoeval.commands.site_options import add_image_options
from autoeval.errors import InputError
from autoeval.targets import TARGETS

if TYPE_CHECKING:
    from autoeval.estimation.observation.presets import MeasureSettings, PassSettings
    from autoeval.metasets.task import Task

TASK_HELP = {
    True: "such as configs/tasks/vehicle.py",
    False: "such as configs/tasks/vehicle.py (default: the road world, rendered on first use)",
}
PRESET_NAMES = ("paper", "paper_skip_empty", "released", "replication")
LIGHT = "light"
BELONG_TO_TASK = ("data_root", "predictions", "estimator")
N_SETS, N_IMAGES = 50, 250  # as in `MetaSetConfig`, which takes a second to import
REPEATS = 10
COUNT_THR = 0.3  # as in `CountingErrorSettings`, which takes a second to import
COUNT_TARGETS = tuple(name for name in TARGETS if name.startswith("count_"))
COUNT_METHODS = ("count_stability", "bos", "bos_strict", "ac", "boxes_per_image", "median")


def add_data_options(
    parser: argparse.ArgumentParser, *, images: str | None = None, required: bool = False
) -> None:
    """Declare where images come from; `images` is what is done with ``--images``, if there is.

    `required` is whether a task has to be given; the road world serves where it has not.
    """
    data = parser.add_argument_group("data")
    data.add_argument("--task", metavar="FILE", required=required, help=TASK_HELP[required])
    data.add_argument("--data-root", metavar="DIR", help="folder with the data of the task")
    if images is not None:
        add_image_options(data, images)
    add_metaset_option(data)


def named_task(args: argparse.Namespace) -> Task:
    """Load the task that the options name, or render the road world where they name none."""
    from autoeval.metasets import load_task

    if args.task:
        return load_task(args.task, args.data_root)
    if road_world.serves(args):
        return road_world.road_world_task(args)
    given = [name for name in BELONG_TO_TASK if getattr(args, name, None)]
    beside = f" with --{given[0].replace('_', '-')}" if given else ""
    raise InputError(f"Expected --task FILE{beside}, such as configs/tasks/vehicle.py.")


def check_complete(args: argparse.Namespace, command: str) -> None:
    """Name everything that a run on a task lacks in one `InputError`, with a command that runs."""
    lacking = []
    if not args.detector and not getattr(args, "predictions", None):
        lacking.append(NO_DETECTOR)
    try:
        named_task(args)
    except InputError as error:
        lacking.append(str(error))
    if lacking:
        raise InputError(f"{' '.join(lacking)} {road_world.without_download(command)}")


def add_metaset_option(group: argparse._ActionsContainer) -> None:
    """Declare which sample sets are made, how many, and of how many images."""
    add_input(
        group,
        "--metaset",
        (
            Detail("n_sets", f"for each seed set (those of the file, else {N_SETS})", read=int),
            Detail(
                "n_images", f"of each sample set (those of the file, else {N_IMAGES})", read=int
            ),
        ),
        metavar="FILE",
        help="sample sets, as configs/metasets/mild.py",
    )


def add_pass_options(parser: argparse.ArgumentParser, *, light: bool = False) -> None:
    """Declare how the detector is perturbed, and how the work is done.

    `light`: the default is a run without dropout and without sample sets.
    """
    run = parser.add_argument_group("run")
    run.add_argument(
        "--preset",
        default=None if light else "paper",
        choices=(LIGHT, *PRESET_NAMES) if light else PRESET_NAMES,
        help="light: each image once, and once at half size; paper: 50 sample sets of 250 images "
        f"for each source, ten passes under dropout (default: {LIGHT}; on the road world paper)"
        if light
        else "how boxes are perturbed and compared (default: %(default)s)",
    )
    run.add_argument(
        "--dropout",
        metavar="FILE",
        help="such as configs/dropout/yolox_nano.py, from search-dropout: replaces the preset's "
        "position, stages and rate",
    )
    without = ", none where --preset is light and no method asks" if light else ""
    run.add_argument(
        "--repeats",
        type=int,
        help="dropout seeds; 0 leaves the scores that need none "
        f"(default: {REPEATS}{without}, or those of a saved estimator)",
    )
    run.add_argument("--seed", type=int, default=0, help="of every draw (default: %(default)s)")
    run.add_argument(
        "--class-aware", action="store_true", help="match boxes within a category only"
    )
    run.add_argument(
        "--reference",
        metavar="SEED_SET",
        help="seed set of the task that stands for the detector's training domain: "
        "adds the Fréchet distance and the original ATC",
    )
    run.add_argument(
        "--views", action="store_true", help="three more clean passes: adds view consistency"
    )
    run.add_argument(
        "--das",
        action="store_true",
        help="one more pass, with perturbed weights: adds the Detection Adaptation Score",
    )
    run.add_argument("--batch-size", type=int, default=4, help="changes no number")
    add_work_dir(run, None, "default: work_dirs/TASK_DETECTOR...")


def pass_settings(args: argparse.Namespace) -> PassSettings:
    """Return the settings of the pass that the options of `add_pass_options` name."""
    from autoeval.detectors.forward.dropout_spec import load_dropout
    from autoeval.estimation.observation import presets

    dropout = load_dropout(args.dropout) if args.dropout else None
    needs = _needs(args)
    none = args.preset == LIGHT and "perturbed" not in needs
    repeats = (0 if none else REPEATS) if args.repeats is None else args.repeats
    if args.preset == LIGHT:
        settings = presets.light(repeats=repeats, seed=args.seed, dropout=dropout)
        by_products = tuple(name for name in presets.BY_PRODUCTS if name in needs)
        settings = replace(settings, wants=(*by_products, *settings.wants))
    else:
        settings = presets.preset(args.preset, repeats=repeats, seed=args.seed, dropout=dropout)
    if args.class_aware:
        stability = replace(settings.stability, class_aware=True)
        settings = replace(settings, stability=stability)
    if args.views:
        settings = replace(settings, wants=(*settings.wants, "views"))
    if args.das:
        settings = replace(settings, wants=(*settings.wants, "reweighted", "prototypes"))
    return settings


def _needs(args: argparse.Namespace) -> frozenset[str]:
    """Return the evidence that the methods named read, and what a training domain is for."""
    from autoeval.estimation.methods import make_method
    from autoeval.scores.registry import needs_of

    methods = getattr(args, "method", None) or ()
    columns = [column for name in methods for column in make_method(name).features]
    return needs_of(columns) | ({"features"} if args.reference else frozenset())


def work_dir(args: argparse.Namespace, task: str) -> Path:
    """Return the folder of a run on a task: the one named, or one by task and detector."""
    if args.work_dir:
        return args.work_dir
    what = "_counting" if args.target in COUNT_TARGETS else ""
    return Path("work_dirs") / f"{task}_{Path(required_detector(args).name).stem}{what}"


def add_counting_options(parser: argparse.ArgumentParser) -> None:
    """Declare how a detector counts, for the targets of `COUNT_TARGETS`."""
    group = parser.add_argument_group("counting", f"with --target {', '.join(COUNT_TARGETS)}")
    group.add_argument(
        "--count-thr",
        type=float,
        metavar="S",
        help=f"a box counts where its score exceeds this (default: {COUNT_THR})",
    )
    group.add_argument(
        "--bins",
        metavar="FILE|NAME",
        help="edges for pooled errors: JSON, or published ones such as nwpu; default: those of the "
        "published algorithm for counts to 1000",
    )
    group.add_argument("--bins-name", metavar="NAME", help="which of several lists in --bins")


def check_counting_options(args: argparse.Namespace) -> None:
    """Raise `InputError` where they are given for another target, or cannot be served."""
    given = [name for name in ("count_thr", "bins", "bins_name") if getattr(args, name) is not None]
    if given and args.target not in COUNT_TARGETS:
        raise InputError(
            f"--{given[0].replace('_', '-')} is for a counting error, and --target is "
            f"{args.target}: give a target such as {COUNT_TARGETS[0]}, or leave it out."
        )
    if args.predictions and args.target in COUNT_TARGETS:
        raise InputError(
            f"--target {args.target} needs a detector: from --predictions only the mAP can be "
            "estimated."
        )


def counting_measures(args: argparse.Namespace) -> tuple[MeasureSettings, ...]:
    """Return what measures counting errors, where the target is one."""
    if args.target not in COUNT_TARGETS:
        return ()
    from autoeval.counting.binning import find_bins
    from autoeval.counting.label_free import EDGES, CountingErrorSettings

    edges = find_bins(args.bins, args.bins_name).edges if args.bins else EDGES
    threshold = COUNT_THR if args.count_thr is None else args.count_thr
    return (CountingErrorSettings(threshold, edges),)
