"""Precision, recall and F1 at a threshold, label-free: the prior, and what it is worth.

    python -m benchmarks.operating_point table DATA NAME=PREDICTIONS ...
    python -m benchmarks.operating_point prior
    python -m benchmarks.operating_point evaluate [--out FILE]
    python -m benchmarks.operating_point thresholds DATA NAME=PREDICTIONS ...

`table` takes true and expected values of the panel's labelled sets at several thresholds (DATA and
PREDICTIONS as in ``benchmarks/panel.py``) and puts them into
``meta_sets/panel/operating_points.csv``; those of files cut at the floors of the panel into
``operating_points_floors.csv``.
`prior` fits ``configs/operating_point_prior.json`` on them. `evaluate` fits it for each detector on
the others, without a quarter of the groups in turn, and prints the errors there. `thresholds`
compares the score threshold that is chosen at each site, without labels and with 20, with that of
the labelled set.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from autoeval.accuracy.average_precision import RankedDetections
from autoeval.accuracy.operating_point import image_counts, influence_on, value_of
from autoeval.estimation.calibrating import calibrated_rows
from autoeval.estimation.category_scores import labelled_rows
from autoeval.estimation.operating_curve import exact_curve
from autoeval.estimation.threshold_choice import choose_threshold
from autoeval.labels.fit_assistance import MOST_IMAGES, fit_assistance
from autoeval.model import Prior, Scaling
from autoeval.model.calibrated_features import FEATURES
from autoeval.model.pair_table import CATEGORY, features_at, with_target
from autoeval.model.regression import Regression
from autoeval.report.tables import to_markdown
from autoeval.sites.labelled_set import LabelledSet
from autoeval.targets import MEASURES, points_at
from benchmarks.panel import (
    FLOORS,
    FOLDER,
    LABELLED,
    LOWEST,
    ROOT,
    WIDE,
    add_detectors,
    described,
    enough,
    evaluable,
    evaluated,
    fit_prior,
    left_out,
    read_sets,
)

TABLE, PRIOR = FOLDER / "operating_points.csv", ROOT / "configs/operating_point_prior.json"
TABLE_ABOVE = FOLDER / "operating_points_floors.csv"
FITTED = (0.2, 0.3, 0.5)  # thresholds that the prior is fitted on, together
THRESHOLDS = (0.1, *FITTED, 0.7)
USED = (0.3, 0.5)  # shown by detector
NARROWER = {"precision": 1.0, "recall": 0.85, "f1": 1.0}
"""The spread relative to that for average precision, by the coverage on detectors left out."""
CURVE = tuple(float(of) for of in np.arange(1, 20) / 20)
COLUMNS = ["threshold", "measure", "value", "lower", "upper"]
WANTED_RECALL, LABELS = 0.5, 20
FEWEST_OF_SITE, FEWEST_HOLDING = 30, 10  # images of a site, and those that hold the category


def parse_args() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("table", "thresholds"):
        add_detectors(commands.add_parser(name))
    commands.add_parser("prior")
    commands.add_parser("evaluate").add_argument("--out", type=Path, help="CSV of every estimate")
    return parser.parse_args()


def main() -> None:
    """Run one of the steps."""
    args = parse_args()
    if args.command == "table":
        for name, folder in tqdm(args.detectors):
            sets = list(read_sets(args.data, folder))
            replace_rows(TABLE, name, pairs_of(name, sets))
            above = [
                pairs_of(name, [of.above(floor) for of in sets], FITTED).assign(floor=floor)
                for floor in FLOORS[1:]
            ]
            replace_rows(TABLE_ABOVE, name, pd.concat(above))
    elif args.command == "prior":
        content = {"floors": [*map(fit_floor, FLOORS)]}
        PRIOR.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    elif args.command == "thresholds":
        found = [chosen(name, args.data, folder) for name, folder in tqdm(args.detectors)]
        rows = pd.concat(found)
        groups = rows.groupby(["wanted", "category_group", "detector", "by"], sort=False)
        print(to_markdown(groups["lost"].mean().unstack("by").round(1).reset_index()))
    else:
        estimates = nested(pd.read_csv(TABLE))
        if args.out:
            estimates.to_csv(args.out, index=False)
        every = summary(estimates)
        by_group = (
            every.groupby(["measure", "threshold", "category_group"]).mean().drop(columns=["n"])
        )
        used = every[every.index.get_level_values("threshold").isin(USED)]
        for table in (used.loc[["recall"]], by_group):
            print(to_markdown(table.round(1).reset_index()) + "\n")


def replace_rows(path: Path, name: str, rows: pd.DataFrame) -> None:
    """Put the rows of a detector into a table."""
    if path.exists():
        known = pd.read_csv(path)
        rows = pd.concat([known[known["detector"] != name], rows])
    rows.to_csv(path, index=False, float_format="%.4f")


def fit_floor(floor: float) -> dict[str, Any]:
    """Fit what the prior knows of files with boxes from a score on."""
    rows = pd.read_csv(TABLE)
    thresholds: Sequence[float] = FITTED
    if floor != LOWEST:
        rows = pd.read_csv(TABLE_ABOVE)
        rows = rows[rows["floor"] == floor]
        thresholds = tuple(of for of in FITTED if of >= floor)
    regressions = [
        {"target": measure, **described(*prior_of(measure, rows, thresholds))}
        for measure in MEASURES
    ]
    return {"floor": floor, "regressions": regressions}


def pairs_of(
    name: str, sets: Sequence[LabelledSet], thresholds: Sequence[float] = THRESHOLDS
) -> pd.DataFrame:
    """Return true and expected values of every pair, calibrated on the labelled set."""
    own = [of for of in sets if of.name == LABELLED]
    known, calibration = calibrated_rows(own, prior=WIDE)
    rows = pd.concat(
        [
            evaluable(of, known if of.name == LABELLED else labelled_rows(of, calibration))
            for of in (*own, *(of for of in sets if of.name != LABELLED))
        ],
        ignore_index=True,
    ).assign(detector=name)
    columns = ["detector", "kind", "group", "source", "category", "n_images", "n_held", "n_boxes"]
    columns += FEATURES[1:]
    for target in (name for threshold in thresholds for name in points_at(threshold)):
        rows = with_target(rows, target)
        columns += [target, features_at(target)[0]]
    return rows[columns]


def prior_of(
    measure: str, rows: pd.DataFrame, thresholds: Sequence[float] = FITTED
) -> tuple[Sequence[str], Scaling, Prior]:
    """Fit one prior on several thresholds, each detector at each of them one draw."""
    expected = f"expected_{measure}"
    features = (expected, *FEATURES[1:])
    parts = [
        rows.assign(
            detector=rows["detector"] + f"@{threshold:g}",
            **{measure: rows[f"{measure}@{threshold:g}"]},
            **{expected: rows[f"{expected}@{threshold:g}"]},
        )
        for threshold in thresholds
    ]
    known = pd.concat(parts, ignore_index=True).dropna(subset=[measure])
    _, scaling, prior = fit_prior(known, target=measure, features=features)
    return features, scaling, replace(prior, spread=NARROWER[measure] * prior.spread)


def nested(rows: pd.DataFrame) -> pd.DataFrame:
    """Estimate every site by a prior that has seen neither the detector nor its group."""
    parts = []
    for name, kin, held_out in left_out(rows):
        own = rows[rows["detector"] == name]
        labelled, requested = own[own["kind"] == CATEGORY], own[held_out & enough(rows)]
        for measure in MEASURES:
            _, scaling, prior = prior_of(measure, rows[~kin & ~held_out])
            for threshold in THRESHOLDS:
                target = f"{measure}@{threshold:g}"
                known = requested.dropna(subset=[target])
                if len(known):
                    read = features_at(target)
                    found = evaluated(labelled, known, scaling, prior, target=target, features=read)
                    keys = {"measure": measure, "threshold": threshold, "detector": name}
                    parts.append(found.assign(carried=float(labelled[target].mean()), **keys))
    return pd.concat(parts, ignore_index=True)


def chosen(name: str, data: Path, predictions: Path) -> pd.DataFrame:
    """Choose thresholds at every site by several curves, and measure what they lose there.

    ``lost`` is, in points, the best F1 that a threshold has there less that of the chosen one; for
    a wanted recall the distance of the true one to it, at sites where some threshold reaches it.
    """
    panel = pd.read_csv(TABLE)
    panel = panel[panel["detector"].str.split("_").str[0] != name.split("_")[0]]
    sets = list(read_sets(data, predictions))
    own = [of for of in sets if of.name == LABELLED]
    known, calibration = calibrated_rows(own, prior=WIDE)
    regressions = {}
    for measure in ("recall", "f1"):
        _, scaling, prior = prior_of(measure, panel)
        for threshold in CURVE:
            target = f"{measure}@{threshold:g}"
            regressions[target] = Regression(
                target=target, features=features_at(target), scaling=scaling, prior=prior
            ).fit(known)
    box_model = fit_assistance([own[0]]).box_model
    curves = {"labelled set": exact_curve([of for of in own[0].rankings if of.n_true.any()])}
    rows = []
    for of in (of for of in sets if of.name != LABELLED and len(of.boxes) >= FEWEST_OF_SITE):
        table, site = labelled_rows(of, calibration), of.at_most(MOST_IMAGES)
        for row in table.index:
            category = str(table.loc[row, "category"])
            k = of.truth.categories.index(category)
            if np.sum(site.rankings[k].n_true > 0) < FEWEST_HOLDING:
                continue
            curves["no labels"] = without_labels(table.loc[[row]], regressions)
            curves["20 labels"] = with_labels(site.rankings[k], box_model.rankings(site.pool)[k])
            truth = exact_curve([of.rankings[k]])
            group = category if category in ("person", "vehicle") else "other"
            rows += [
                {"detector": name, "category_group": group, "by": by, **lost}
                for by, curve in curves.items()
                for lost in losses(curve, truth)
            ]
    return pd.DataFrame(rows)


def without_labels(row: pd.DataFrame, regressions: dict[str, Regression]) -> pd.DataFrame:
    """Estimate the curve of one pair."""
    found = []
    for target, regression in regressions.items():
        measure, _, threshold = target.partition("@")
        (of,) = regression.predict(row)
        found.append((float(threshold), measure, of.value, of.lower, of.upper))
    return pd.DataFrame(found, columns=COLUMNS)


def with_labels(true: RankedDetections, expected: RankedDetections) -> pd.DataFrame:
    """Estimate the curve of one pair from simply drawn labels, by the difference estimator."""
    n = len(true)
    images = np.random.default_rng(0).choice(n, min(LABELS, n // 2), replace=False)
    found = []
    for threshold in CURVE:
        counts, predicted = (image_counts(of, threshold) for of in (true, expected))
        for measure in ("recall", "f1"):
            own, every = counts[:, images], influence_on(measure, predicted)
            value = value_of(measure, own) - np.nan_to_num(every)[images].mean()
            found.append((threshold, measure, value, value, value))
    return pd.DataFrame(found, columns=COLUMNS)


def losses(curve: pd.DataFrame, truth: pd.DataFrame) -> list[dict[str, Any]]:
    """Measure what the thresholds that a curve chooses lose by the true one."""
    at = truth.pivot(index="threshold", columns="measure", values="value")
    best = choose_threshold(curve).threshold
    lost = at["f1"].max() - at["f1"].iloc[_nearest(at, best)]
    found = [{"wanted": "best F1", "lost": 100 * lost}]
    if at["recall"].max() >= WANTED_RECALL:
        chosen = choose_threshold(curve, recall=WANTED_RECALL).threshold
        chosen = at.index[0] if chosen != chosen else chosen
        reached = at["recall"].iloc[_nearest(at, chosen)]
        wanted = f"recall {100 * WANTED_RECALL:g}"
        found.append({"wanted": wanted, "lost": 100 * abs(reached - WANTED_RECALL)})
    return found


def _nearest(table: pd.DataFrame, threshold: float) -> int:
    return int(np.abs(table.index.to_numpy() - threshold).argmin())


def summary(estimates: pd.DataFrame) -> pd.DataFrame:
    """Tabulate errors of what was estimated, in points, with those of two constants.

    ``constant`` is the mean of the group, ``carried`` the mean of the labelled set. ``none`` counts
    the pairs that got no estimate because the interval would be too wide.
    """
    by = ["measure", "threshold", "category_group", "detector"]
    mean = estimates.groupby(by)["true"].transform("mean")
    given = estimates["estimate"].notna()
    rows = estimates.assign(
        mae=100 * (estimates["estimate"] - estimates["true"]).abs(),
        bias=100 * (estimates["estimate"] - estimates["true"]),
        constant=100 * (mean - estimates["true"]).abs().where(given),
        carried=100 * (estimates["carried"] - estimates["true"]).abs().where(given),
        coverage=(100.0 * estimates["true"].between(estimates["lower"], estimates["upper"])).where(
            given
        ),
        half_width=50 * (estimates["upper"] - estimates["lower"]),
        n=1,
        none=~given,
    )
    names = ["mae", "bias", "constant", "carried", "coverage", "half_width"]
    return rows.groupby(by)[names].mean().join(rows.groupby(by)[["n", "none"]].sum())


if __name__ == "__main__":
    main()
