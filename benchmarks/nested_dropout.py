"""The error of box stability where each left-out group has a dropout that it did not choose.

For each group of sources in turn: the greedy search of the dropout on the sample sets of all other
groups, a line of mAP against box stability under that dropout on the same sample sets, and the
estimate for the group's own images. Beside it the paper's fixed dropout and a constant, on the same
images. One dropout seed. `autoeval reproduce bos --search` does the same with all scores and
repeats, in a pass of its own for each dropout that is chosen.

    python -m benchmarks.nested_dropout --detector yolox_nano --checkpoint yolox_nano_coco.pth \
        --task configs/tasks/vehicle_22.py --data-root DATA --n-sets 1 --n-images 12 --max-images 40
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pandas as pd

from autoeval.detectors.loading import load_detector
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.protocol import spearman
from autoeval.estimation.score_table import SEED
from autoeval.io.tasks.task import load_task
from autoeval.runtime.store import RowStore
from autoeval.stability.commands.search_dropout import RATES
from autoeval.stability.dropout_search.nested_search import nested_search
from autoeval.stability.dropout_search.search import grid
from autoeval.stability.dropout_search.trial import correlation, scores_of
from autoeval.stability.dropout_search.workbench import Workbench, list_stages
from autoeval.stability.fitting.meta_set import sample_set_jobs
from autoeval.stability.metasets import draw_recipes, load_metaset_config, own_images
from autoeval.stability.network.forward.dropout_spec import DropoutSpec
from autoeval.stability.passes.presets import preset


def score(bench: Workbench, sets: np.ndarray, spec: DropoutSpec) -> np.ndarray:
    """Return the score of some sets of images under a dropout; NaN where none has one."""
    (column,) = bench.columns([spec])
    of_sets = [np.asarray(a[sets][..., [column]]) for a in (bench.sums, bench.counts)]
    return scores_of(*of_sets)[:, 0]


def estimate(bench: Workbench, training: np.ndarray, own: int, spec: DropoutSpec) -> float:
    """Fit a line on sample sets, and read it at a source's own images."""
    x, y = score(bench, training, spec), bench.accuracy[training]
    usable = np.isfinite(x) & np.isfinite(y)
    slope, start = np.polyfit(x[usable], y[usable], 1)
    return float(np.clip(start + slope * score(bench, np.array([own]), spec)[0], 0, 1))


def evaluate(bench: Workbench, groups: dict[str, str], usual: DropoutSpec) -> pd.DataFrame:
    """Leave each group out: one row a source, with its estimate by either dropout."""
    chosen = nested_search(bench, groups)
    columns = [job.columns for job in bench.sample_sets]
    names = np.array([str(of["source"]) for of in columns])
    group = np.array([groups.get(name, name) for name in names])
    is_own = np.array([of["kind"] == SEED for of in columns])
    for own in np.flatnonzero(is_own).tolist():
        specs = list(dict.fromkeys([chosen[group[own]].best, usual]))
        bench.measure(specs, np.where(np.arange(len(names)) == own, bench.sizes, 0))
    rows = []
    for own in np.flatnonzero(is_own).tolist():
        best, others = chosen[group[own]].best, group != group[own]
        training = np.flatnonzero(others & ~is_own)
        training = training[np.isin(training, bench.usable())]
        rows.append(
            {
                "source": names[own],
                "group": group[own],
                "stages": list_stages(best.stages),
                "rate": best.rate,
                "mAP": bench.accuracy[own],
                "searched": estimate(bench, training, own, best),
                "the paper's": estimate(bench, training, own, usual),
                "constant": float(np.nanmean(bench.accuracy[is_own & others])),
            }
        )
    return pd.DataFrame(rows).dropna(subset=["mAP"])


def falling(bench: Workbench) -> str:
    """Count the dropouts under which stability falls with accuracy over all sample sets."""
    is_own = np.array([job.columns["kind"] == SEED for job in bench.sample_sets])
    sets = bench.usable()[~is_own[bench.usable()]]
    counts = bench.counts[sets].sum(1)
    r = correlation(scores_of(bench.sums[sets], bench.counts[sets]), bench.accuracy[sets])
    r = r[(counts > 0).all(0)]
    return f"{(r < 0).sum()} of {len(r)} dropouts measured on all sample sets have a falling line"


def figures(table: pd.DataFrame, name: str) -> dict[str, object]:
    """Return one row: errors in points, over sources and with each group counting once."""
    error = 100 * (table[name] - table["mAP"]).abs()
    return {
        "dropout": name,
        "MAE of sources": error.mean(),
        "MAE of groups": error.groupby(table["group"]).mean().mean(),
        "spearman": spearman(table[name].to_numpy(), table["mAP"].to_numpy()),
    }


def main() -> None:
    """Search, estimate, and print."""
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
    parser.add_argument("--preset", default="paper_skip_empty")
    parser.add_argument("--batch-size", type=int, default=8, metavar="N")
    parser.add_argument("--work-dir", type=Path, default=Path("work_dirs/nested"), metavar="DIR")
    args = parser.parse_args()
    task = replace(load_task(args.task, args.data_root), max_images=args.max_images)
    detector = load_detector(args.detector, checkpoint=args.checkpoint)
    settings = replace(preset(args.preset, repeats=1), wants=())
    observer: Observer = Observer(detector, task, settings, batch_size=args.batch_size)
    meta_set = load_metaset_config(args.metaset, n_sets=args.n_sets, n_images=args.n_images)
    seed_sets = task.load_seed_sets()
    recipes = [r for seed_set in seed_sets for r in draw_recipes(seed_set, **asdict(meta_set))]
    recipes += [own_images(seed_set) for seed_set in seed_sets]
    jobs = sample_set_jobs(observer, seed_sets, recipes)
    usual = settings.dropout
    specs = dict.fromkeys([*grid(usual.position, args.rates), usual])
    bench = Workbench(observer, jobs, tuple(specs), RowStore(args.work_dir / "search" / "rows"))
    table = evaluate(bench, task.groups, usual)
    print(table.round(3).to_string(index=False))
    names = ("searched", "the paper's", "constant")
    rows = pd.DataFrame([figures(table, name) for name in names])
    print(rows.round(2).to_string(index=False))
    print("\n".join([falling(bench), *bench.warnings]))


if __name__ == "__main__":
    main()
