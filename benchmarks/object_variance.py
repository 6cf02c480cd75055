"""How much the average precision of a few labelled objects varies, by the law of its variance.

    python -m benchmarks.object_variance DATA PREDICTIONS [--draws N] [--work-dir DIR]

Draws as in `benchmarks/many_categories.py`. The factor of `autoeval/labels/object_variance.py` is
the sum of the squared errors of the difference estimates of single categories over the sum of the
law without its factor, on the pool of `--swapped`. The last table, of both pools, compares the
squared errors with what is stated: of a category, a detector and a number of labels the mean error
over draws is the bias, and the rest is the variance.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from autoeval.accuracy.coco_matching import rank_categories
from autoeval.labels.estimators import LEVELS
from autoeval.labels.label_sampling import match_labels
from autoeval.labels.labelled_categories import on_labelled_categories
from autoeval.labels.object_variance import PER_OBJECT, UNKNOWN_VALUE, object_variance
from autoeval.report.tables import format_cells, to_markdown
from benchmarks.many_categories import CLASSES, DETECTORS, SET, SIZES, Pool, estimates, read_pools

TARGET = "mAP"
IN_IMAGE = {"": 0.0, "1 object": 1.0, "to 2 objects": 2.0, "to 4": 4.0, "over 4": np.inf}
"""Upper ends of classes of the objects in an image that holds the category."""


def true_values(pool: Pool, target: str) -> dict[str, float]:
    """Return the average precision of each category by all labels."""
    plan, _ = on_labelled_categories(pool.plan, pool.labels)
    subset = match_labels(pool.labels, plan.found)
    rankings = rank_categories(plan.found.on_images(subset.images), subset.truth)
    return {
        name: float(ranking.average_precision()[LEVELS[target]].mean())
        for name, ranking in zip(plan.found.categories, rankings, strict=True)
        if ranking.n_true.any()
    }


def errors(pool: Pool, target: str, draws: int) -> Iterator[dict[str, Any]]:
    """Yield the error of each category in each draw, and the law without its factor."""
    true = true_values(pool, target)
    for k in SIZES[pool.name]:
        for plan, found in estimates(pool, k, draws, target):
            finite = 1 - k / plan.n_pool
            for name, of in found.each.items():
                if name not in true or not of.difference.known:
                    continue
                free = of.prior.value if of.prior.known else UNKNOWN_VALUE
                law = object_variance(1.0, of.sample.value, free, of.n_true, of.n_holding)
                error = of.difference.value - true[name]
                yield {
                    "target": target,
                    "detector": pool.detector,
                    "category": name,
                    "labels": k,
                    "held": next(c for c, (a, b) in CLASSES.items() if a <= of.n_holding <= b),
                    "objects": of.n_true / of.n_holding,
                    "error": error,
                    "square": error**2,
                    "law": finite * float(law),
                    "stated": of.difference.error**2,
                }


def factors(rows: pd.DataFrame) -> dict[str, Any]:
    """Return the factor of one target: of all, without each detector, by images and objects."""
    left = [_factor(rows[rows["detector"] != name]) for name in rows["detector"].unique()]
    in_image = pd.cut(rows["objects"], list(IN_IMAGE.values()), labels=list(IN_IMAGE)[1:])
    target = rows["target"].iloc[0]
    return {
        "target": target,
        "used": PER_OBJECT[target],
        "all": _factor(rows),
        "lowest": min(left),
        "highest": max(left),
        **{name: _factor(rows[rows["held"] == name]) for name in list(CLASSES)[1:]},
        **{name: _factor(part) for name, part in rows.groupby(in_image, observed=True)},
    }


def _factor(rows: pd.DataFrame) -> float:
    return float(rows["square"].sum() / rows["law"].sum())


def causes(rows: pd.DataFrame) -> pd.DataFrame:
    """Compare squared errors, in points, with what is stated, by images that hold the category."""
    groups = rows.groupby(["detector", "category", "labels", "held"])["error"]
    n, mean = groups.transform("size"), groups.transform("mean")
    several = rows[n > 1].assign(
        bias=mean**2 - groups.transform("var") / n, variance=groups.transform("var")
    )
    parts = several.groupby("held")[["square", "bias", "variance", "stated", "law"]].mean()
    parts["law"] *= PER_OBJECT[TARGET]
    names = {"square": "squared error", "bias": "squared bias"}
    return (1e4 * parts).reindex(list(CLASSES)[1:]).rename(columns=names).reset_index()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("predictions", type=Path)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--work-dir", type=Path, default=Path("work_dirs/many_categories"))
    args = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for name in DETECTORS:
        for swapped in (True, False):
            folder = args.work_dir / f"{name}{'_swapped' if swapped else ''}"
            pools = read_pools(args.data, args.predictions, name, folder, swapped=swapped)
            pool = next(pool for pool in pools if pool.name == SET)
            for target in PER_OBJECT if swapped else (TARGET,):
                found = errors(pool, target, args.draws)
                rows += [{**row, "swapped": swapped} for row in found]
    table = pd.DataFrame(rows)
    chosen = table[table["swapped"]]
    each = pd.DataFrame([factors(chosen[chosen["target"] == target]) for target in PER_OBJECT])
    print(to_markdown(format_cells(each, dict.fromkeys(each.columns[1:], "{:.2f}"))), end="\n\n")
    parts = [
        causes(part).assign(pool="the 164 images" if swapped else "the 190 images")
        for swapped, part in table[table["target"] == TARGET].groupby("swapped")
    ]
    both = pd.concat(parts)
    numbers = list(both.columns[1:-1])
    print(
        to_markdown(
            format_cells(both[["pool", "held", *numbers]], dict.fromkeys(numbers, "{:.0f}"))
        )
    )


if __name__ == "__main__":
    main()
