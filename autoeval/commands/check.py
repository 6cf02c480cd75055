"""Read everything a task names once, without the network, and say what a run would meet."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from autoeval.commands.meta_set_options import LIGHT, add_data_options
from autoeval.commands.site_options import named_images

if TYPE_CHECKING:
    from autoeval.data.find_images import UnlabelledImage
    from autoeval.metasets.inspection import Look
    from autoeval.metasets.seed_set import SeedSet
    from autoeval.results.check_report import Plan


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_data_options(parser, images="check beside the sources")
    parser.add_argument(
        "--preset",
        default=LIGHT,
        choices=(LIGHT, "paper"),
        help="of the run to come: light has no sample sets but those asked for (%(default)s)",
    )
    parser.add_argument(
        "--rate", type=float, metavar="R", help="images a second of a run, to say how long it takes"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> int:
    """Read, then print; 1 where a source cannot be used."""
    from autoeval.metasets import load_metaset_config, load_task
    from autoeval.metasets.inspection import load_each, look_at_each
    from autoeval.report.sections import Report
    from autoeval.results.check_report import Sources
    from autoeval.runtime.progress import progress_bar

    task = load_task(args.task, args.data_root)
    meta_set = load_metaset_config(args.metaset, n_sets=args.n_sets, n_images=args.n_images)
    files, sources = named_images(args) or (), load_each(task)
    usable = [source.seed_set for source in sources if source.seed_set is not None]
    total = len(files) + sum(len(seed_set.images) for seed_set in usable)
    start = time.perf_counter()
    with progress_bar(total, "reading images") as bar:
        sources = look_at_each(sources, advance=bar.update)
        new = _new_images(files, bar.update) if files else None
    seconds = time.perf_counter() - start
    light = args.preset == LIGHT and not (args.metaset or args.n_sets)
    families = {task.families[seed_set.name] for seed_set in usable}
    plan = _plan(
        args,
        usable,
        None if light else asdict(meta_set),
        n_families=len(families),
        n_new=len(files),
        n_read=total,
        read_s=seconds,
    )
    report = Report(f"check of {task.name}", [plan, Sources(sources, new)])
    print(json.dumps(report.to_dict(), indent=2) if args.json else report.text())
    return int(any(source.why_not for source in sources))


def _new_images(files: Sequence[UnlabelledImage], advance: Callable[[int], object]) -> Look:
    from autoeval.estimation.observation.samples import UnlabelledSamples
    from autoeval.metasets.inspection import look_at

    return look_at("new images", UnlabelledSamples(files), advance=advance)


def _plan(
    args: argparse.Namespace,
    seed_sets: Sequence[SeedSet],
    options: Mapping[str, Any] | None,
    *,
    n_families: int,
    n_new: int,
    n_read: int,
    read_s: float,
) -> Plan:
    from autoeval.metasets import draw_recipes
    from autoeval.results.check_report import Plan

    drawn = []
    if options is not None:
        drawn = [recipe for seed_set in seed_sets for recipe in draw_recipes(seed_set, **options)]
    own = sum(len(seed_set.images) for seed_set in seed_sets)
    observed = own + sum(len(recipe.image_ids) for recipe in drawn) + n_new
    n_sets = len(seed_sets) + len(drawn)
    return Plan(n_families, n_sets, observed, n_read, read_s, args.rate)
