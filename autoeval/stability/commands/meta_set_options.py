"""The options of a task and its sample sets, of what is done to each image, and of counting."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.commands.given_input import Detail, add_input
from autoeval.commands.run_options import (
    NO_DETECTOR,
    add_batch_size,
    add_work_dir,
    required_detector,
)
from autoeval.commands.task_options import LIGHT
from autoeval.commands.typed_options import refuse_beside
from autoeval.errors import InputError
from autoeval.stability.commands import road_world
from autoeval.targets import TARGETS

if TYPE_CHECKING:
    from autoeval.io.tasks.task import Task
    from autoeval.stability.passes.presets import MeasureSettings, ScoredSettings

PRESET_NAMES = ("paper", "paper_skip_empty", "released", "replication")
BELONG_TO_TASK = ("data_root", "predictions", "estimator")
REPEATS = 10
COUNT_THR = 0.3  # as in `CountingErrorSettings`, which takes a second to import
COUNT_TARGETS = tuple(name for name in TARGETS if name.startswith("count_"))
COUNT_METHODS = ("count_stability", "bos", "bos_strict", "ac", "boxes_per_image", "median")
COUNTING_DETAILS = (
    Detail(
        "count_thr",
        f"of a count_ target: a box counts where its score exceeds this ({COUNT_THR})",
        float,
        metavar="S",
    ),
    Detail(
        "bins",
        "of a count_ target: edges for pooled errors, FILE.json, or published ones such as nwpu "
        "(default: those of the published algorithm for counts to 1000)",
        metavar="FILE|NAME",
    ),
    Detail("bins_name", "which of several lists in --bins", metavar="NAME"),
)
"""Options of the targets of `COUNT_TARGETS`."""

STAGES = Detail(
    "stages", "modules of the backbone at which features are dropped", metavar="NAME,..."
)
"""Of ``--detector`` where it is perturbed."""


def named_task(args: argparse.Namespace) -> Task:
    """Load the task that the options name, or render the road world where they name none."""
    from dataclasses import replace

    from autoeval.io.tasks.task import load_task

    if args.task:
        task = load_task(args.task, args.data_root)
        return replace(task, max_images=getattr(args, "max_images", None))
    if road_world.serves(args):
        return road_world.road_world_task(args)
    beside = " with --estimator" if getattr(args, "estimator", None) else ""
    raise InputError(f"Expected --task FILE{beside}, such as configs/tasks/vehicle.py.")


def check_complete(args: argparse.Namespace, command: str) -> None:
    """Name everything that a run on a task lacks in one `InputError`, with a command that runs."""
    lacking = []
    if not args.detector:
        lacking.append(NO_DETECTOR)
    try:
        named_task(args)
    except InputError as error:
        lacking.append(str(error))
    if lacking:
        raise InputError(f"{' '.join(lacking)} {road_world.without_download(command)}")


def named_stages(args: argparse.Namespace) -> tuple[str, ...]:
    """Return the stages that the options name, none by default."""
    named = getattr(args, "stages", None)  # a parser of passes alone has no detector
    return tuple(named.split(",")) if named else ()


def add_preset_option(
    group: argparse._ActionsContainer,
    about: str,
    *details: Detail,
    default: str | None = "paper",
    choices: Sequence[str] = PRESET_NAMES,
) -> None:
    """Declare how boxes are perturbed and compared; `about` is the help.

    `default` is None where details that are given without a name must be recognised by it.
    """
    add_input(
        group,
        "--preset",
        details,
        alone=True,
        metavar="NAME",
        default=default,
        choices=choices,
        help=f"{', '.join(choices)}: {about}",
    )


def add_pass_options(parser: argparse.ArgumentParser, *, light: bool = False) -> None:
    """Declare how the detector is perturbed, and how the work is done.

    `light`: a preset without dropout and without sample sets may be named.
    """
    run = parser.add_argument_group("run")
    without = ", none where the preset is light and no method asks" if light else ""
    about = (
        "paper has 50 sample sets of 250 images for each source and ten passes under dropout, "
        f"{LIGHT} each image once (default: paper)"
    )
    add_preset_option(
        run,
        about if light else "how boxes are perturbed and compared (default: paper)",
        Detail(
            "repeats",
            f"dropout seeds; 0 leaves the scores that need none (default: {REPEATS}{without}, or "
            "those of a saved estimator)",
            int,
            metavar="N",
        ),
        Detail(
            "dropout",
            "dropout to use, such as configs/dropout/yolox_nano.py from search-dropout: replaces "
            "the preset's position, stages and rate",
            metavar="FILE",
        ),
        Detail("class_aware", "match boxes within a category only", bool, False),
        Detail("box_score", "boxes from this score on are matched (0.05)", float, metavar="S"),
        Detail(
            "domain_source",
            "seed set of the task that stands for the detector's training domain: adds the Fréchet "
            "distance and the original ATC",
            metavar="NAME",
        ),
        Detail("views", "three more clean passes, which add view consistency", bool, False),
        Detail(
            "das",
            "one more pass, with perturbed weights, which adds the Detection Adaptation Score",
            bool,
            False,
        ),
        default=None if light else "paper",
        choices=(LIGHT, *PRESET_NAMES) if light else PRESET_NAMES,
    )
    run.add_argument("--seed", type=int, default=0, help="of every draw (default: %(default)s)")
    add_batch_size(run)
    add_work_dir(run, None, "default: work_dirs/TASK_DETECTOR...")


def pass_settings(args: argparse.Namespace) -> ScoredSettings:
    """Return the settings of the pass that the options of `add_pass_options` name."""
    from autoeval.stability.network.forward.dropout_spec import load_dropout
    from autoeval.stability.passes import presets

    dropout = load_dropout(args.dropout) if args.dropout else None
    needs = _needs(args)
    none = args.preset == LIGHT and "perturbed" not in needs
    repeats = (0 if none else REPEATS) if args.repeats is None else args.repeats
    if args.preset == LIGHT:
        settings = presets.light(repeats=repeats, seed=args.seed, dropout=dropout)
        by_products = tuple(name for name in presets.BY_PRODUCTS if name in needs)
        settings = replace(settings, wants=by_products)
    else:
        settings = presets.preset(args.preset, repeats=repeats, seed=args.seed, dropout=dropout)
    if args.class_aware:
        stability = replace(settings.stability, class_aware=True)
        settings = replace(settings, stability=stability)
    if args.box_score is not None:
        if not 0 <= args.box_score < 1:
            raise InputError(f"Expected --box-score from 0 to under 1, got {args.box_score}.")
        stability = replace(settings.stability, score_thr=args.box_score)
        settings = replace(settings, stability=stability)
    if args.views:
        settings = replace(settings, wants=(*settings.wants, "views"))
    if args.das:
        settings = replace(settings, wants=(*settings.wants, "reweighted", "prototypes"))
    return replace(settings, stages=named_stages(args))


def note_sources_of_search(path: str, task: Task) -> None:
    """Name the sources of a task that a dropout was chosen on: their errors come out too small."""
    from autoeval.io.wording import listed
    from autoeval.stability.network.forward.dropout_spec import sources_of_search

    seen = [name for name in sources_of_search(path) if name in {f.name for f in task.seed_sets}]
    if seen:
        print(
            f"note: {path} was chosen on {listed(seen)}, which are evaluated here: their errors "
            "come out too small. Search without them: search-dropout --task FILE --leave-out NAME",
            file=sys.stderr,
        )


def _needs(args: argparse.Namespace) -> frozenset[str]:
    """Return the evidence that the methods named read, and what a training domain is for."""
    from autoeval.stability.methods import make_method
    from autoeval.stability.scores.registry import needs_of

    methods = getattr(args, "method", None) or ()
    columns = [column for name in methods for column in make_method(name).features]
    return needs_of(columns) | ({"features"} if args.domain_source else frozenset())


def work_dir(args: argparse.Namespace, task: str) -> Path:
    """Return the folder of a run on a task: the one named, or one by task and detector."""
    if args.work_dir:
        return args.work_dir
    what = "_counting" if args.target in COUNT_TARGETS else ""
    return Path("work_dirs") / f"{task}_{Path(required_detector(args).name).stem}{what}"


def check_counting_options(args: argparse.Namespace) -> None:
    """Raise `InputError` where they are given for another target, or do not go together."""
    if args.target not in COUNT_TARGETS:
        refuse_beside(
            args,
            [detail.name for detail in COUNTING_DETAILS],
            f"is for a counting error, and --target is {args.target}: give a target such as "
            f"{COUNT_TARGETS[0]}, or leave it out.",
        )
    if args.bins is None:
        refuse_beside(args, ["bins_name"], "names a list in --bins, which is missing: give both.")


def counting_measures(args: argparse.Namespace) -> tuple[MeasureSettings, ...]:
    """Return what measures counting errors, where the target is one."""
    if args.target not in COUNT_TARGETS:
        return ()
    from autoeval.counting.binning import find_bins
    from autoeval.counting.label_free import EDGES, CountingErrorSettings

    edges = find_bins(args.bins, args.bins_name).edges if args.bins else EDGES
    threshold = COUNT_THR if args.count_thr is None else args.count_thr
    return (CountingErrorSettings(threshold, edges),)
