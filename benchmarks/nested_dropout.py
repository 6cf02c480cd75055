"""The error of box stability where each left-out group has a dropout that it did not choose.

For each group of sources in turn: the greedy search of the dropout on the sample sets of all other
groups, a line of mAP against box stability under that dropout on the same sample sets, and the
estimate for the group's own images. Beside it the paper's fixed dropout and a constant, on the same
images.

    python -m benchmarks.nested_dropout --detector yolox_nano --checkpoint yolox_nano_coco.pth \
        --task configs/tasks/vehicle_22.py --data-root DATA --n-sets 1 --n-images 24
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import pandas as pd

from autoeval.detectors.loading import load_detector
from autoeval.estimation.observation.kept_observer import Keeping
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.protocol import LeaveOneSourceOut
from autoeval.io.tasks.task import load_task
from autoeval.stability.commands.search_dropout import RATES
from autoeval.stability.dropout_search.nested_search import folder_of, nested_tables
from autoeval.stability.dropout_search.workbench import list_stages
from autoeval.stability.fitting.fit_task import fit_task
from autoeval.stability.metasets import load_metaset_config
from autoeval.stability.methods.leave_one_out import leave_one_source_out
from autoeval.stability.passes.presets import preset


def figures(result: LeaveOneSourceOut, name: str) -> dict[str, object]:
    """Return one row: errors in points, each group counting once."""
    summary = result.summary()
    return {
        "dropout": name,
        "MAE": 100 * summary["mean_absolute_error"],
        "spearman": summary["spearman"],
        "R2 of sample sets": summary.get("score_r2"),
    }


def main() -> None:
    """Search, fit, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--detector", required=True, metavar="NAME")
    parser.add_argument("--checkpoint", metavar="FILE")
    parser.add_argument("--task", required=True, metavar="FILE")
    parser.add_argument("--data-root", metavar="DIR")
    parser.add_argument("--max-images", type=int, metavar="N", help="own images of a source")
    parser.add_argument("--metaset", metavar="FILE")
    parser.add_argument("--n-sets", type=int, metavar="N")
    parser.add_argument("--n-images", type=int, metavar="N")
    parser.add_argument("--rates", nargs="+", type=float, default=list(RATES), metavar="P")
    parser.add_argument("--repeats", type=int, default=1, metavar="N")
    parser.add_argument("--preset", default="paper_skip_empty")
    parser.add_argument("--batch-size", type=int, default=8, metavar="N")
    parser.add_argument("--work-dir", type=Path, default=Path("work_dirs/nested"), metavar="DIR")
    args = parser.parse_args()
    task = replace(load_task(args.task, args.data_root), max_images=args.max_images)
    detector = load_detector(args.detector, checkpoint=args.checkpoint)
    settings = replace(preset(args.preset, repeats=args.repeats), wants=())
    observer: Observer = Observer(detector, task, settings, batch_size=args.batch_size)
    meta_set = load_metaset_config(args.metaset, n_sets=args.n_sets, n_images=args.n_images)
    seed_sets, keep = task.load_seed_sets(), Keeping(args.work_dir)
    nested = nested_tables(observer, seed_sets, keep, meta_set=meta_set, rates=args.rates)
    print("\n".join([*nested.warnings, *nested.lines()]))
    of_paper = replace(keep, folder=keep.folder / folder_of(settings.dropout))
    fixed = fit_task(observer, seed_sets, of_paper, meta_set=meta_set, methods=["bos"]).table_
    searched = leave_one_source_out(fixed, "bos", by_group=nested.tables)
    stages, rate = list_stages(settings.dropout.stages), settings.dropout.rate
    rows = [
        figures(searched, "searched without each group"),
        figures(leave_one_source_out(fixed, "bos"), f"the paper's: stages {stages}, rate {rate:g}"),
        figures(leave_one_source_out(fixed, "constant"), "none: a constant"),
    ]
    print(
        searched.per_source[["source", "group", "true", "estimate", "error"]].round(3).to_string()
    )
    print(pd.DataFrame(rows).round(2).to_string(index=False))


if __name__ == "__main__":
    main()
