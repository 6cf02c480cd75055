"""Search the feature dropout under which box stability says most about a detector's mAP."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from typing_extensions import Unpack

from autoeval.accuracy.measures import AP_TARGETS
from autoeval.api.options import check_names
from autoeval.errors import InputError
from autoeval.stability.commands import road_world
from autoeval.stability.commands.meta_set_options import (
    PAPER,
    StagedDetector,
    TaskOptions,
    check_complete,
    check_rates,
    check_task_options,
    named_detector,
    named_stages,
    named_task,
    refuse_options,
)

if TYPE_CHECKING:
    from autoeval.io.tasks.task import Task
    from autoeval.stability.dropout_search.workbench import Workbench

RATES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
# With these rates ten minutes of two cores for three sources
N_SETS = 6
N_IMAGES = 40
LONG_S = 600.0
COMMAND = "search-dropout"
ON_ROAD_WORLD = {"detector": road_world.DETECTOR, "metaset": road_world.METASET}


class SearchOptions(TaskOptions, StagedDetector, total=False):
    """What is searched; and as `TaskOptions` and `StagedDetector`.

    Parameters
    ----------
    leave_out : sequence of str
        Sources that the search does not see, such as those that are evaluated later, as NAME,....
    strategy : sequence of str
        Strategies (default: greedy, the paper's). Of several, later ones take over what earlier
        ones have measured; the configuration is that of the first.
    position : str
        Of the dropout (default: after).
    rates : sequence of float
        Rates (default: 0.05 0.1 0.15 0.2 0.3 0.5); the paper's are 0.05 to 0.95 by 0.05.
    preset : str
        How boxes are perturbed and compared (default: paper).
    repeats : int
        Dropout seeds (default: 1).
    score : str
        Whose R² with the target is the largest (default: bos).
    target : str
        mAP, mAP50 or mAP75 (default: mAP).
    seed : int
        Of every draw (default: 0).
    batch_size : int
        Images at once; changes no number (default: as many as the device takes).
    num_workers : int
        Threads that decode and prepare images while the network runs, 0 for none; changes no number
        (default: one a core, 8 at most).
    work_dir : path-like
        Where to write (default: work_dirs/dropout_TASK_DETECTOR).
    """

    leave_out: Sequence[str]
    strategy: Sequence[Literal["greedy", "full", "halving"]]
    position: Literal["after", "before"]
    rates: Sequence[float]
    preset: Literal["paper", "paper_skip_empty", "released", "replication"]
    repeats: int
    score: Literal["bos", "bos_strict", "confidence_stability"]  # as `image_stabilities` lists them
    target: str
    seed: int
    batch_size: int
    num_workers: int
    work_dir: str


def search_dropout(**options: Unpack[SearchOptions]) -> None:
    """Search the feature dropout under which box stability says most about a detector's mAP.

    Dropouts (15 sets of backbone stages, several rates) compete for the largest R² between the
    score and mAP over the sample sets of a task. Writes the table, heat maps, and the winner as a
    configuration file for estimate-map --dropout WORK_DIR/dropout.py, with the same --stages if
    any. Leave out the sources that are evaluated with it later (--leave-out NAME,NAME). An
    interrupted search goes on where it was stopped. Without a task, a search on eight environments
    of the rendered road world that estimate-map does not read.

    Parameters
    ----------
    **options
        See `SearchOptions`.
    """
    from autoeval.stability.dropout_search.search import search_dropout as search
    from autoeval.stability.network.forward.dropout_spec import N_STAGES
    from autoeval.stability.reports.dropout_outcome import DropoutOutcome

    check_names(options, SearchOptions)
    if options.get("target") not in (None, *AP_TARGETS):
        raise InputError(
            f"Expected --target as one of {', '.join(AP_TARGETS)} but got {options.get('target')}."
        )
    check_task_options(options)
    check_rates(options.get("rates"), "--rates")
    if len(named_stages(options)) > N_STAGES:
        raise InputError(
            f"Expected --stages of one to {N_STAGES} modules, whose sets the search tries, but got "
            f"{len(named_stages(options))}."
        )
    if road_world.serves(options):
        refuse_options(options, ["leave_out"], "goes with --task: give that, too.")
        road_world.assume(cast("dict[str, Any]", options), ON_ROAD_WORLD, command=COMMAND)
    else:
        check_complete(options, COMMAND)
    run = named_detector(options)
    with road_world.offering_the_shipped_detector(COMMAND, options):
        detector = run.loaded
    task = road_world.search_task() if road_world.serves(options) else named_task(options)
    name = Path(str(options.get("detector"))).stem
    work_dir = Path(options.get("work_dir") or Path("work_dirs") / f"dropout_{task.name}_{name}")
    task = _without(task, options.get("leave_out") or [])
    resumed = (work_dir / "rows").exists()  # nobody knows how much of a former run is left
    bench = _bench(options, detector, task, work_dir)
    strategies = list(dict.fromkeys(options.get("strategy") or ["greedy"]))
    if not resumed:
        print(_cost(bench, strategies), file=sys.stderr)
    results = search(bench, strategies)
    for warning in bench.warnings:
        print(f"note: {warning}", file=sys.stderr)
    outcome = DropoutOutcome(name, task.name, bench, results)
    print(outcome.text(outcome.write(work_dir, work_dir / "dropout.py")))


def _without(task: Task, names: Sequence[str]) -> Task:
    """Leave sources out of a task, or raise `InputError` where it has none of such a name."""
    source_names = [files.name for files in task.seed_sets]
    unknown = [name for name in names if name not in source_names]
    left = tuple(files for files in task.seed_sets if files.name not in names)
    if unknown or not left:
        wrong = f"no source {unknown[0]}" if unknown else "no source left"
        raise InputError(
            f"Expected --leave-out with some of the sources {', '.join(source_names)}, but there "
            f"is {wrong}."
        )
    return replace(task, seed_sets=left)


def _cost(bench: Workbench, strategies: Sequence[str]) -> str:
    """Say how long the search will take, before anything is measured."""
    from autoeval.runtime.progress import duration
    from autoeval.stability.commands.running_time import on_device
    from autoeval.stability.dropout_search.search import expected_work

    sample = bench.sample_sets[0].payload
    least, most = 0.0, 0.0
    a_pass = _seconds_of_a_pass(bench, sample)
    for name in strategies:
        low, high = expected_work(bench, name)
        least, most = least + low * a_pass, most + high * a_pass
    long = most > LONG_S
    return (
        f"note: searching by {', '.join(strategies)} will take about {duration(least)}"
        + (f" to {duration(most)}" if most > 1.1 * least else "")
        + f"{on_device(bench.observer.detector)}: {int(bench.sizes.sum())} images of "
        f"{len(bench.sizes)} sample sets, {len(bench.specs)} dropouts to choose from."
        + (" Shorter: fewer of --n-sets, --n-images and --rates." if long else "")
    )


def _seconds_of_a_pass(bench: Workbench, samples: Any) -> float:
    """Measure one clean pass over an image, the second one: the first is slow for other reasons."""
    from autoeval.io.images import UnreadableImageError

    detector = bench.observer.detector
    for number in range(len(samples)):
        try:
            image = samples[number].image
        except UnreadableImageError:
            continue
        detector.observe([image], ["0"])
        started = time.perf_counter()
        detector.observe([image], ["0"])
        return time.perf_counter() - started
    return 0.0


def _bench(options: SearchOptions, detector: Any, task: Task, work_dir: Path) -> Workbench:
    from autoeval.estimation.observation.observing import Observer
    from autoeval.estimation.observation.samples import ImageLoading
    from autoeval.runtime.store import RowStore
    from autoeval.stability.dropout_search.search import grid, stages_of
    from autoeval.stability.dropout_search.workbench import Workbench
    from autoeval.stability.fitting.meta_set import sample_set_jobs
    from autoeval.stability.metasets import draw_recipes, load_metaset_config
    from autoeval.stability.passes.presets import preset

    seed, repeats = options.get("seed") or 0, options.get("repeats")
    repeats = 1 if repeats is None else repeats
    settings = preset(options.get("preset") or PAPER, repeats=repeats, seed=seed, least=1)
    n_sets, n_images = options.get("n_sets"), options.get("n_images")
    if not options.get("metaset"):
        n_sets = N_SETS if n_sets is None else n_sets
        n_images = N_IMAGES if n_images is None else n_images
    meta_set = load_metaset_config(options.get("metaset"), n_sets=n_sets, n_images=n_images)
    seed_sets = task.load_seed_sets()
    settings = replace(settings, stages=named_stages(options))
    reading = ImageLoading(options.get("batch_size"), options.get("num_workers"))
    observer = Observer(detector, task, settings, reading=reading)
    recipes = [r for s in seed_sets for r in draw_recipes(s, meta_set, seed=seed)]
    return Workbench(
        observer,
        sample_set_jobs(observer, seed_sets, recipes),
        grid(
            options.get("position", "after"),
            options.get("rates") or RATES,
            n_stages=stages_of(observer.detector),
        ),
        RowStore(work_dir / "rows"),
        score=options.get("score", "bos"),
        target=options.get("target") or AP_TARGETS[0],
    )
