"""Images to label drawn by a plan, simply, and with more weight on rare categories.

    python -m benchmarks.label_designs DATA PREDICTIONS [--detectors NAME ...] [--draws N]
        [--large FOLDER] [--work-dir DIR]

DATA and PREDICTIONS/<detector> are laid out as `benchmarks/panel.py` reads them. Pools of many
categories are those of `benchmarks/many_categories.py`, and with `--large` one of 4,920 images with
80 categories, from the files that `benchmarks/coco_scale.py` writes into its `--folder`; pools of
one category are the sites of `benchmarks/labels_from_files.py`. Of each pool k images are drawn
again and again. The ratios are of root mean squared errors, over those of simple random draws.

``rare`` draws an image with a probability that is half the same for all and half in proportion to
its predicted influence on the mean over categories, where boxes of rare categories weigh most:
systematically in the order of that influence, with inverse probabilities as weights.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import brentq

import autoeval
from autoeval.accuracy.coco_matching import rank_categories
from autoeval.io.coco import read_coco
from autoeval.labels.estimators import LabelEstimates, LabelledSample, measure_sample
from autoeval.labels.joint_sample import CategorySample, estimate_categories
from autoeval.labels.label_sampling import balanced_order, match_labels
from autoeval.labels.labelled_categories import on_labelled_categories
from autoeval.labels.value_with_error import NOTHING
from autoeval.labels.with_labels import estimate_with_labels
from autoeval.report.tables import format_cells, to_markdown
from autoeval.stability.studies.label_backtest import backtest
from benchmarks.coco_scale import DETECTORS as OF_SCALE
from benchmarks.low_accuracy import coco_fits, pairs_of_detector
from benchmarks.many_categories import DETECTORS, HOME, SET, Pool, labelled, read_pools

LARGE = "4,920 images"
SIZES = {SET: (20, 50), HOME: (20,), LARGE: (500,)}
OF_ONE = (10, 20)
DRAWS_OF_ONE = 15
TARGET = "mAP"
SIMPLE, PLANNED, RARE = "simple", "by plan", "rare"
SHARE = 0.5  # of the probability that goes by the predicted influence
FORMATS = {
    **dict.fromkeys(("sample", "combined", "bias", "half-width", "label-free"), "{:.1f}"),
    **dict.fromkeys(("ratio, sample", "ratio, combined", "ratio"), "{:.2f}"),
    "held": "{:.0f}",
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


def probabilities(influence: np.ndarray, k: int) -> np.ndarray:
    """Return the probability of each image to be among k, half by its influence, (M,)."""
    size, n = np.abs(influence), len(influence)
    shares = (1 - SHARE) / n + SHARE * size / size.sum() if size.any() else np.full(n, 1 / n)
    factor = brentq(lambda of: np.minimum(of * shares, 1).sum() - k, 0, 1 / shares.min())
    return np.minimum(factor * shares, 1)


def draw(influence: np.ndarray, k: int, seed: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the images of each design, (k,), and the inverse probabilities of all, (M,)."""
    across, n = np.argsort(influence, kind="stable"), len(influence)
    rng, alike = np.random.default_rng([seed, k]), np.ones(n)
    simple = rng.permutation(n)[:k]
    each = probabilities(influence, k)
    places = np.searchsorted(np.cumsum(each[across]), rng.random() + np.arange(k))
    return {
        SIMPLE: (simple, alike),
        PLANNED: (balanced_order(across, seed=seed)[:k], alike),
        RARE: (across[np.unique(places.clip(0, n - 1))], 1 / each),
    }


def estimate(pool: Pool, images: np.ndarray, weights: np.ndarray) -> tuple[LabelEstimates, int]:
    """Estimate the mean from the labels of some images, as the program does but with weights.

    Returns with it how many categories these images hold.
    """
    names = {pool.plan.found.images[i].file_name for i in images}
    labels = labelled(pool.labels, names)
    plan, _ = on_labelled_categories(pool.plan, labels, None)
    subset = match_labels(labels, plan.found)
    own = weights[subset.images]
    sample = LabelledSample(subset.images, plan.n_pool, own, plan.blocks[subset.images])
    rankings = rank_categories(plan.found.on_images(subset.images), subset.truth)
    of = CategorySample(
        sample,
        [measure_sample(ranking, TARGET, own) for ranking in rankings],
        list(plan.predicted(TARGET)[:-1]),
        plan.small_sample_bias,
        [plan.label_free(TARGET, name) for name in plan.found.categories],
        plan.priors.get(TARGET, NOTHING),
        plan.expected_holding.in_pool(plan.n_pool),
    )
    return estimate_categories(of).whole, len(of.used)


def measured(pool: Pool, k: int, draws: int) -> pd.DataFrame:
    """Return one row a draw and design: errors of the mean over categories, in points."""
    rows, influence = [], pool.plan.predicted(TARGET)[-1]
    for seed in range(draws):
        for design, drawn in draw(influence, k, seed).items():
            of, held = estimate(pool, *drawn)
            combined = of.combined.estimate
            half = combined.half_width()
            error = combined.value - pool.true
            rows.append(
                {
                    "detector": pool.detector,
                    "pool": pool.name,
                    "labels": k,
                    "drawn": design,
                    "sample": 100 * (of.sample.value - pool.true),
                    "combined": 100 * error,
                    "half-width": 100 * half,
                    "coverage": abs(error) <= half,
                    "held": held,
                }
            )
    return pd.DataFrame(rows)


def summary(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Tabulate root mean squared errors, and their ratios to those of simple draws."""
    groups = rows.assign(bias=rows["combined"]).groupby([*by, "drawn"])
    table = groups[["sample", "combined"]].agg(lambda of: np.sqrt(np.mean(of**2)))
    table = table.join(groups[["bias", "half-width", "coverage", "held"]].mean()).reset_index()
    simple = table[table["drawn"] == SIMPLE].set_index(by)
    for name in ("sample", "combined"):
        reference = table.set_index(by).index.map(simple[name])
        table[f"ratio, {name}"] = table[name] / np.asarray(reference, float)
    return table


def of_one_category(data: Path, folders: list[Path]) -> pd.DataFrame:
    """Tabulate the sample estimates of sites with one category, by a plan over simple draws."""
    parts = []
    for name, known, sites in coco_fits(data, folders):
        pairs = pairs_of_detector(known, sites)
        parts.append(backtest(pairs, sizes=OF_ONE, draws=DRAWS_OF_ONE).assign(detector=name))
    rows = pd.concat(parts).assign(square=lambda of: of["rmse"] ** 2)
    rows = rows[rows["estimator"].str.startswith("sample")]
    table = rows.pivot_table(index=["detector", "k"], columns="estimator", values="square")
    table = 100 * np.sqrt(table)
    ratio = table["sample, drawn by plan"] / table["sample"]
    pairs = rows[rows["estimator"] == "sample"].groupby(["detector", "k"]).size()
    return table.assign(ratio=ratio, pairs=pairs).reset_index()


def parse_args() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("predictions", type=Path)
    parser.add_argument("--detectors", nargs="*", default=DETECTORS, metavar="NAME")
    parser.add_argument("--draws", type=int, default=40)
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
    if parts:
        rows = pd.concat(parts, ignore_index=True)
        for by in (["detector", "pool", "labels"], ["pool", "labels"]):
            print(to_markdown(format_cells(summary(rows, by), FORMATS)), end="\n\n")
    if args.detectors:
        table = of_one_category(args.data, [args.predictions / name for name in args.detectors])
        formats = {**FORMATS, "sample, drawn by plan": "{:.1f}"}
        print(to_markdown(format_cells(table, formats)), end="\n\n")


if __name__ == "__main__":
    main()
