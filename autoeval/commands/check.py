"""Read everything a task names once, without the network, and say what a run would meet."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from autoeval.commands.run_options import above_zero, add_json
from autoeval.commands.site_options import named_images
from autoeval.commands.task_options import LIGHT, add_data_options
from autoeval.commands.typed_options import refuse_beside

if TYPE_CHECKING:
    from autoeval.io.tasks.seed_set import SeedSet

SIZES = ("autoeval.stability.metasets.recipe", "sample_set_sizes")  # of published methods, by name


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_data_options(parser, images="check beside the sources", required=True)
    parser.add_argument(
        "--preset",
        default=LIGHT,
        choices=(LIGHT, "paper"),
        help="of the run to come: light has no sample sets but those asked for (%(default)s)",
    )
    parser.add_argument(
        "--rate",
        type=above_zero,
        metavar="R",
        help="images a second of a run, to say how long it takes",
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Read, then print; 1 where a source cannot be used."""
    from autoeval.estimation.observation.samples import UnlabelledSamples
    from autoeval.io.tasks.inspection import load_each, look_at, look_at_each
    from autoeval.io.tasks.task import load_task
    from autoeval.report.check import RunSize, check_text, check_values
    from autoeval.runtime.json_values import plain
    from autoeval.runtime.progress import progress_bar

    light = args.preset == LIGHT and not (args.metaset or args.n_sets)
    if light:
        refuse_beside(args, ["n_images"], "is of sample sets: give --n-sets, too.")
    task = load_task(args.task, args.data_root)
    files, sources = named_images(args) or (), load_each(task)
    usable = [source.seed_set for source in sources if source.seed_set is not None]
    total = len(files) + sum(len(seed_set.images) for seed_set in usable)
    start = time.perf_counter()
    with progress_bar(total, "reading images") as bar:
        sources = look_at_each(sources, advance=bar.update)
        new = look_at("new images", UnlabelledSamples(files), advance=bar.update) if files else None
    seconds = time.perf_counter() - start
    groups = {task.groups[seed_set.name] for seed_set in usable}
    sizes = [] if light else _sample_set_sizes(usable, args)
    n_sets, observed = len(usable) + len(sizes), total + sum(sizes)
    size = RunSize(len(groups), n_sets, observed, total, seconds, args.rate)
    if args.json:
        print(json.dumps(plain(check_values(sources, new, size)), indent=2))
    else:
        print(check_text(sources, new, size))
    return int(any(source.why_not for source in sources))


def _sample_set_sizes(seed_sets: Sequence[SeedSet], args: argparse.Namespace) -> list[int]:
    """Return how many images each sample set has that a run by a published method would make."""
    module, name = SIZES
    sizes = getattr(import_module(module), name)
    return sizes(seed_sets, args.metaset, n_sets=args.n_sets, n_images=args.n_images)
