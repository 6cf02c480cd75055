"""The draw of a plan against a simple random draw, and 500 labels of 4,920 images.

    python -m benchmarks.label_designs DATA PREDICTIONS [--detectors NAME ...] [--draws N]
        [--large FOLDER] [--work-dir DIR]

DATA and PREDICTIONS are laid out as `benchmarks/panel.py` reads them. Pools are those of
`benchmarks/many_categories.py`: the second part of coco_mini and robot_home. With `--large` also a
pool of 4,920 images with 80 categories, from the files that `benchmarks/coco_scale.py` writes into
its `--folder`. Of each pool k images are drawn again and again, by a plan and simply. The ratio is
that of root mean squared errors, by a plan over simple.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

import autoeval
from autoeval.data.coco import read_coco
from autoeval.labels.estimators import LabelEstimates
from autoeval.labels.label_sampling import balanced_order
from autoeval.labels.with_labels import estimate_targets, estimate_with_labels
from autoeval.report.tables import format_cells, to_markdown
from benchmarks.coco_scale import DETECTORS as OF_SCALE
from benchmarks.many_categories import DETECTORS, HOME, SET, Pool, labelled, read_pools

LARGE = "4,920 images"
SIZES = {SET: (20, 50), HOME: (20,), LARGE: (500,)}
TARGET = "mAP"
SIMPLE, PLANNED = "simple", "by plan"
FORMATS = {
    **dict.fromkeys(("sample", "difference", "combined", "bias", "half-width"), "{:.2f}"),
    **dict.fromkeys(("ratio, sample", "ratio, combined"), "{:.2f}"),
    "coverage": "{:.0%}",
}


def read_large(folder: Path) -> Iterator[Pool]:
    """Fit on the labelled images of `benchmarks/coco_scale.py`, and plan for its new ones."""
    old, new = folder / "old.json", folder / "new.json"
    for detector in OF_SCALE:
        estimator = autoeval.fit(old, folder / f"old_{detector}.json")
        estimate = estimator.predict(folder / f"new_{detector}.json", images=new)
        labels = read_coco(new)
        plan = estimator.plan_labels(estimate, n=SIZES[LARGE][0])
        whole = estimate_with_labels(replace(plan, n=plan.n_pool), labels)
        each = {k: of.combined.estimate.value for k, of in whole.by_category.items()}
        yield Pool(detector, LARGE, plan, labels, each, plan.priors[TARGET].half_width())


def drawn(pool: Pool, k: int, draws: int) -> Iterator[tuple[str, LabelEstimates]]:
    """Draw k images again and again by both designs, and estimate with their labels."""
    across = np.argsort(pool.plan.predicted(TARGET)[-1], kind="stable")
    for seed in range(draws):
        by_chance = np.random.default_rng([seed, k]).permutation(pool.plan.n_pool)
        for design, sequence in {
            SIMPLE: by_chance,
            PLANNED: balanced_order(across, seed=seed),
        }.items():
            plan = replace(pool.plan, sequence=sequence, n=k)
            names = {plan.found.images[i].file_name for i in plan.drawn}
            labels = labelled(pool.labels, names)
            yield design, estimate_targets(plan, labels, [TARGET])[TARGET]


def measured(pool: Pool, k: int, draws: int) -> pd.DataFrame:
    """Return one row a draw: errors of the mean over categories, in points."""
    rows = []
    for design, of in drawn(pool, k, draws):
        combined = of.combined.estimate
        rows.append(
            {
                "detector": pool.detector,
                "pool": pool.name,
                "labels": k,
                "drawn": design,
                "sample": 100 * (of.sample.value - pool.true),
                "difference": 100 * (of.difference.value - pool.true),
                "combined": 100 * (combined.value - pool.true),
                "half-width": 100 * combined.half_width(),
                "coverage": abs(combined.value - pool.true) <= combined.half_width(),
            }
        )
    return pd.DataFrame(rows)


def summary(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Tabulate root mean squared errors, and those of a plan over those of simple draws."""
    errors = ["sample", "difference", "combined"]
    groups = rows.assign(bias=rows["combined"]).groupby([*by, "drawn"])
    table = groups[errors].agg(lambda of: np.sqrt(np.mean(of**2)))
    table = table.join(groups[["bias", "half-width", "coverage"]].mean()).reset_index()
    simple = table[table["drawn"] == SIMPLE].set_index(by)
    for name in ("sample", "combined"):
        reference = table.set_index(by).index.map(simple[name])
        table[f"ratio, {name}"] = table[name] / np.asarray(reference, float)
    return table


def parse_args() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("predictions", type=Path)
    parser.add_argument("--detectors", nargs="*", default=DETECTORS, metavar="NAME")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--large", type=Path, metavar="FOLDER", help="of coco_scale.py")
    parser.add_argument("--work-dir", type=Path, default=Path("work_dirs/many_categories"))
    return parser.parse_args()


def main() -> None:
    """Print the tables."""
    args = parse_args()
    parts = []
    for detector in args.detectors:
        for pool in read_pools(args.data, args.predictions, detector, args.work_dir / detector):
            parts += [measured(pool, k, args.draws) for k in SIZES[pool.name]]
    for pool in read_large(args.large) if args.large else ():
        parts += [measured(pool, k, args.draws) for k in SIZES[pool.name]]
    rows = pd.concat(parts, ignore_index=True)
    for by in (["detector", "pool", "labels"], ["pool", "labels"]):
        print(to_markdown(format_cells(summary(rows, by), FORMATS)), end="\n\n")


if __name__ == "__main__":
    main()
