"""Search the feature dropout under which box stability says most about a detector's mAP.

285 dropouts (15 sets of backbone stages, 19 rates) compete for the largest R² between the score and
mAP over the sample sets of a task. Writes the table, heat maps, and the winner as a configuration
file for estimate-map --preset dropout=WORK_DIR/dropout.py. An interrupted search goes on where it
was stopped. Without a task, a small greedy search on the rendered road world.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoeval.commands.given_input import Detail
from autoeval.commands.run_options import (
    add_batch_size,
    add_detector_options,
    add_work_dir,
    load_named_detector,
    required_detector,
)
from autoeval.commands.task_options import add_data_options
from autoeval.stability.commands import road_world
from autoeval.stability.commands.meta_set_options import (
    STAGES,
    add_preset_option,
    check_complete,
    named_stages,
    named_task,
)
from autoeval.targets import AP_TARGETS

if TYPE_CHECKING:
    from autoeval.io.tasks.task import Task
    from autoeval.stability.dropout_search.workbench import Workbench

STRATEGY_NAMES = ("coordinate", "full", "halving")
COMMAND = "search-dropout"
# Two minutes of one core.
ON_ROAD_WORLD = {
    "detector": road_world.DETECTOR,
    "strategy": ["coordinate"],
    "rates": [0.05, 0.1, 0.15, 0.2, 0.3, 0.5],
    "n_sets": 1,
    "n_images": 24,
}
SCORE_NAMES = ("bos", "bos_strict", "confidence_stability")  # as `image_stabilities` lists them


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_detector_options(parser, (STAGES,))
    add_data_options(parser)
    search = parser.add_argument_group("search")
    search.add_argument(
        "--strategy",
        nargs="+",
        choices=STRATEGY_NAMES,
        help="default: halving; on the road world coordinate, which is greedy. Of several, later "
        "ones take over what earlier ones have measured; the configuration is that of the first",
    )
    search.add_argument("--position", default="after", choices=("after", "before"))
    search.add_argument(
        "--rates",
        nargs="+",
        type=float,
        metavar="P",
        help="default: 0.05 to 0.95 by 0.05; on the road world six of them",
    )
    repeats = Detail("repeats", "dropout seeds (1)", read=int, default=1)
    add_preset_option(search, "of box stability", repeats)
    search.add_argument("--score", default="bos", choices=SCORE_NAMES, help="default: %(default)s")
    search.add_argument("--target", default="mAP", choices=AP_TARGETS)
    search.add_argument("--seed", type=int, default=0, help="of every draw (default: %(default)s)")
    add_batch_size(parser)
    add_work_dir(parser, None, "default: work_dirs/dropout_TASK_DETECTOR")


def run(args: argparse.Namespace) -> int:
    """Search, write, print."""
    from autoeval.stability.dropout_search.search import search_dropout
    from autoeval.stability.reports.dropout_outcome import DropoutOutcome

    if road_world.serves(args):
        road_world.assume(args, ON_ROAD_WORLD, command=COMMAND)
    else:
        check_complete(args, COMMAND)
    with road_world.offering_the_shipped_detector(COMMAND, args):
        detector = load_named_detector(args)
    task = named_task(args)
    name = Path(required_detector(args).name).stem
    work_dir = args.work_dir or Path("work_dirs") / f"dropout_{task.name}_{name}"
    bench = _bench(args, detector, task, work_dir)
    results = search_dropout(bench, list(dict.fromkeys(args.strategy or ["halving"])))
    for warning in bench.warnings:
        print(f"note: {warning}", file=sys.stderr)
    outcome = DropoutOutcome(name, task.name, bench, results)
    print(outcome.text(outcome.write(work_dir, work_dir / "dropout.py")))
    return 0


def _bench(args: argparse.Namespace, detector: Any, task: Task, work_dir: Path) -> Workbench:
    from dataclasses import asdict, replace

    from autoeval.estimation.observation.observing import Observer
    from autoeval.runtime.store import RowStore
    from autoeval.stability.dropout_search.search import grid
    from autoeval.stability.dropout_search.workbench import Workbench
    from autoeval.stability.fitting.meta_set import sample_set_jobs
    from autoeval.stability.metasets import draw_recipes, load_metaset_config
    from autoeval.stability.passes.presets import preset

    settings = preset(args.preset, repeats=args.repeats, seed=args.seed, least=1)
    meta_set = load_metaset_config(args.metaset, n_sets=args.n_sets, n_images=args.n_images)
    seed_sets = task.load_seed_sets()
    settings = replace(settings, stages=named_stages(args))
    observer = Observer(detector, task, settings, batch_size=args.batch_size)
    recipes = [r for s in seed_sets for r in draw_recipes(s, **asdict(meta_set), seed=args.seed)]
    return Workbench(
        observer,
        sample_set_jobs(observer, seed_sets, recipes),
        grid(args.position, args.rates),
        RowStore(work_dir / "rows"),
        score=args.score,
        target=args.target,
    )
