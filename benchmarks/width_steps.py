"""Measure how far the half-width moves when one image is added to the site or the labelled set.

    python -m benchmarks.width_steps DATA PREDICTIONS [--out FILE]

Each labelled set of `PAIRS` estimates a site of another group, with the shipped prior: once as the
labelled set grows image by image from 40 to 64 (the calibration is fitted again each time) and the
site is whole, once as the site does and the labelled set is whole. Possible spreads of the
regression are those that it averages over by default, seven, or the nodes of a Gauss-Hermite rule
for their prior (`autoeval.model.Prior.nodes`).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

from autoeval.estimation.bayesian_regression import BayesianRegression
from autoeval.estimation.calibrating import calibrated_rows
from autoeval.estimation.category_scores import site_rows, site_scores
from autoeval.estimation.panel_prior import FULL, calibration_prior, regression_prior
from autoeval.model.calibrated_features import FEATURES
from autoeval.model.calibration import ScoreCalibration
from autoeval.report.tables import to_markdown
from autoeval.sites.labelled_set import LabelledSet
from benchmarks.panel import read_sets
from benchmarks.panel_widths import NODES

PAIRS = (
    ("coco_mini", "bdd_day"),
    ("bdd_day", "trafficcam_day"),
    ("trafficcam_day", "dashcam_india"),
)
IMAGES = range(40, 65)
FLOORS = (FULL, 0.3)  # of scores in the files
TARGETS = ("mAP", "mAP50")
RULES = {"seven": 0, "rule": NODES}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("predictions", type=Path, help="of one detector")
    parser.add_argument("--out", type=Path, help="CSV of every half-width")
    args = parser.parse_args()
    sets = {of.name: of for of in read_sets(args.data, args.predictions)}
    parts = [
        row
        for labelled, site in tqdm(PAIRS)
        for floor in FLOORS
        for row in widths(above(sets[labelled], floor), above(sets[site], floor), floor)
    ]
    found = pd.DataFrame(parts)
    if args.out:
        found.to_csv(args.out, index=False)
    print(to_markdown(steps(found).round(2).reset_index()))


def above(labelled: LabelledSet, floor: float) -> LabelledSet:
    """Return a set without the boxes under a score; as it comes at `FULL`."""
    return labelled.above(floor) if floor > FULL else labelled


def widths(labelled: LabelledSet, site: LabelledSet, floor: float) -> Iterator[dict]:
    """Yield the half-width at each number of images, in points."""
    usual = calibration_prior(floor)
    orders = [np.random.default_rng(0).permutation(len(of)) for of in (labelled, site)]
    whole = calibrated_rows([labelled], prior=usual)
    for n in IMAGES:
        part = calibrated_rows([first(labelled, orders[0], n)], prior=usual)
        smaller = first(site, orders[1], n)
        for grown, (known, calibration), new in (
            ("labelled set", part, site),
            ("site", whole, smaller),
        ):
            rows = scores_of(new, calibration)
            named = {"labelled": labelled.name, "grown": grown, "floor": floor, "images": n}
            for target in TARGETS:
                for rule, nodes in RULES.items():
                    half = half_width(known, rows, target, floor, nodes)
                    yield {**named, "target": target, "rule": rule, "half_width": half}


def first(labelled: LabelledSet, order: np.ndarray, n: int) -> LabelledSet:
    """Return the first n images of an order."""
    return labelled.on_images(np.sort(order[:n]))


def scores_of(site: LabelledSet, calibration: ScoreCalibration) -> pd.DataFrame:
    """Score the categories of a site without its labels."""
    boxes = replace(site.boxes, calibration=calibration)
    presence = boxes.presence(site.truth.categories)
    return site_rows(site_scores(boxes, FEATURES, presence), presence)


def half_width(
    known: pd.DataFrame, rows: pd.DataFrame, target: str, floor: float, nodes: int
) -> float:
    """Return that of the mean over categories before it is cut at 0 and 100, in points."""
    scaling, prior = regression_prior(FEATURES, target, floor)
    prior = replace(prior, nodes=nodes)
    fitted = BayesianRegression(target=target, scaling=scaling, prior=prior).fit(known)
    predicted = fitted.distribution(rows, np.full((1, len(rows)), 1 / len(rows)))
    return 50 * float((predicted.quantile(0.95) - predicted.quantile(0.05))[0])


def steps(found: pd.DataFrame) -> pd.DataFrame:
    """Tabulate the mean half-width and the largest step by one image, by both rules.

    Examples
    --------
    >>> rows = pd.DataFrame({"labelled": "a", "grown": "site", "floor": 0.0, "target": "mAP"} | {
    ...     "rule": ["seven"] * 3 + ["rule"] * 3, "images": [40, 41, 42] * 2,
    ...     "half_width": [10.0, 10.1, 12.0, 10.0, 10.4, 10.8]})
    >>> steps(rows).round(2).to_numpy().tolist()
    [[10.7, 1.9, 10.4, 0.4]]
    """
    by = ["grown", "floor", "target", "rule"]
    rows = found.sort_values(["labelled", *by, "images"])
    step = rows.groupby(["labelled", *by])["half_width"].diff().abs()
    table = rows.assign(step=step).groupby(by)
    both = table.agg(half_width=("half_width", "mean"), step=("step", "max")).unstack()
    columns = {
        f"{name}_{rule}": both[name, rule] for rule in RULES for name in ("half_width", "step")
    }
    return pd.DataFrame(columns)


if __name__ == "__main__":
    main()
