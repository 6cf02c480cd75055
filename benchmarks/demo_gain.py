"""What the road world's retrained detector and its searched dropout each bring to box stability.

For the weights of the first part of the training, and for those that are shipped: the dropout of
the paper and the one that a greedy search finds on eight environments of its own, each evaluated on
nine other environments, every one left out in turn.

    python tools/train_demo_detector.py --config configs/demo/train_roadworld_nano_first.py \
        --work-dir work_dirs/demo_detector_first \
        --checkpoint work_dirs/demo_detector_first/roadworld_nano.pth
    python -m benchmarks.demo_gain --first work_dirs/demo_detector_first/roadworld_nano.pth
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import pandas as pd

from autoeval.detectors import load_detector
from autoeval.estimation.observation.kept_observer import Keeping
from autoeval.estimation.observation.observing import Observer
from autoeval.io.tasks.task import Task
from autoeval.report.text import format_cells, to_markdown
from autoeval.roadworld import DETECTOR, ENVIRONMENTS
from autoeval.roadworld.environments import SEARCH_ENVIRONMENTS
from autoeval.roadworld.environments_task import environments_task, render_environments
from autoeval.runtime.store import RowStore
from autoeval.stability.commands.road_world import HELD_BACK, METASET
from autoeval.stability.commands.search_dropout import RATES
from autoeval.stability.dropout_search.nested_search import folder_of, search_bench
from autoeval.stability.dropout_search.search import greedy
from autoeval.stability.dropout_search.trial import Trial
from autoeval.stability.dropout_search.workbench import list_stages
from autoeval.stability.fitting.fit_task import fit_task
from autoeval.stability.metasets import MetaSetConfig, load_metaset_config
from autoeval.stability.methods.leave_one_out import leave_one_source_out
from autoeval.stability.passes.presets import preset


def rows_of(
    name: str, detector: object, tasks: tuple[Task, Task], meta_set: MetaSetConfig, folder: Path
) -> list[dict[str, object]]:
    """Search on the second task, evaluate both dropouts on the first: one row a dropout."""
    settings = replace(preset("paper", repeats=2), wants=())
    task, search_task = tasks
    of_search: Observer = Observer(detector, search_task, settings)
    store = RowStore(folder / "search" / "rows")
    sets = search_task.load_seed_sets()
    bench = search_bench(of_search, sets, meta_set, store, rates=RATES)
    found = greedy(Trial(bench)).best
    rows = []
    for label, spec in (("the paper's", settings.dropout), ("searched", found)):
        observer: Observer = Observer(detector, task, replace(settings, dropout=spec))
        keep = Keeping(folder / folder_of(spec))
        fitted = fit_task(observer, task.load_seed_sets(), keep, meta_set=meta_set, methods=["bos"])
        summary = leave_one_source_out(fitted.table_, "bos").summary()
        constant = leave_one_source_out(fitted.table_, "constant").summary()
        rows.append(
            {
                "weights": name,
                "dropout": f"{label}: {list_stages(spec.stages)} at {spec.rate:g}",
                "R² over sample sets": summary["score_r2"],
                "MAE": 100 * summary["mean_absolute_error"],
                "MAE of a constant": 100 * constant["mean_absolute_error"],
                "ratio": summary["mean_absolute_error"] / constant["mean_absolute_error"],
            }
        )
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", required=True, metavar="FILE", help="weights of the first part")
    parser.add_argument("--n-images", type=int, default=60, metavar="N", help="of a site (60)")
    parser.add_argument("--sample", type=int, default=20, metavar="N", help="of a sample set (20)")
    parser.add_argument("--work-dir", type=Path, default=Path("work_dirs/demo_gain"), metavar="DIR")
    args = parser.parse_args()
    world = args.work_dir / "world"
    render_environments(world, args.n_images)
    render_environments(world, args.n_images, names=SEARCH_ENVIRONMENTS)
    sites = [name for name in ENVIRONMENTS if name != HELD_BACK]
    tasks = environments_task(world, sites), environments_task(world, SEARCH_ENVIRONMENTS)
    meta_set = replace(load_metaset_config(METASET), n_images=args.sample)
    rows = []
    for name, checkpoint in (("first part", args.first), ("shipped", None)):
        detector = load_detector(DETECTOR, checkpoint=checkpoint)
        rows += rows_of(name, detector, tasks, meta_set, args.work_dir / name.replace(" ", "_"))
    numbers = dict.fromkeys(("R² over sample sets", "ratio"), "{:.2f}")
    numbers |= dict.fromkeys(("MAE", "MAE of a constant"), "{:.1f}")
    print(to_markdown(format_cells(pd.DataFrame(rows), numbers)))


if __name__ == "__main__":
    main()
