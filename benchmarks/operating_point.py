"""Precision, recall and F1 at a threshold, label-free: the prior, and what it is worth.

    python -m benchmarks.operating_point table DATA NAME=PREDICTIONS ...
    python -m benchmarks.operating_point prior
    python -m benchmarks.operating_point evaluate [--out FILE]

`table` takes true and expected values of the panel's labelled sets at several thresholds (DATA and
PREDICTIONS as in ``benchmarks/panel.py``) and writes ``meta_sets/panel/operating_points.csv``.
`prior` fits ``configs/operating_point_prior.json`` on them. `evaluate` fits it for each detector on
the others, without a quarter of the families in turn, and prints the errors there.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

from autoeval.estimation.bayesian_regression import BayesianRegression
from autoeval.estimation.calibrating import calibrated_rows
from autoeval.estimation.category_scores import labelled_rows
from autoeval.estimation.pair_table import CATEGORY, FEATURES, features_at, with_target
from autoeval.regression import Prior, Scaling
from autoeval.report.tables import to_markdown
from autoeval.targets import MEASURES, points_at
from benchmarks.panel import (
    FOLDER,
    GROUPS,
    LABELLED,
    ROOT,
    WIDE,
    described,
    enough,
    fit_prior,
    read_sets,
)

TABLE, PRIOR = FOLDER / "operating_points.csv", ROOT / "configs/operating_point_prior.json"
FITTED = (0.2, 0.3, 0.5)  # thresholds that the prior is fitted on, together
THRESHOLDS = (0.1, *FITTED, 0.7)
NARROWER = 1.0  # than the spread that intervals of average precision ask for
FEWEST_BOXES, FEWEST_IMAGES = 8, 5


def parse_args() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    table = commands.add_parser("table")
    table.add_argument("data", type=Path)
    table.add_argument("detectors", nargs="+", metavar="NAME=PREDICTIONS")
    commands.add_parser("prior")
    commands.add_parser("evaluate").add_argument("--out", type=Path, help="CSV of every estimate")
    return parser.parse_args()


def main() -> None:
    """Run one of the steps."""
    args = parse_args()
    if args.command == "table":
        named = [of.partition("=") for of in args.detectors]
        parts = [pairs_of(name, args.data, Path(folder)) for name, _, folder in tqdm(named)]
        pd.concat(parts).to_csv(TABLE, index=False, float_format="%.4f")
    elif args.command == "prior":
        rows = pd.read_csv(TABLE)
        content = [
            {"target": measure, **described(*prior_of(measure, rows))} for measure in MEASURES
        ]
        PRIOR.write_text(json.dumps({"regressions": content}, indent=1) + "\n", encoding="utf-8")
    else:
        estimates = nested(pd.read_csv(TABLE))
        if args.out:
            estimates.to_csv(args.out, index=False)
        print(to_markdown(summary(estimates).round(1).reset_index()))


def pairs_of(name: str, data: Path, predictions: Path) -> pd.DataFrame:
    """Return true and expected values of every pair, calibrated on the labelled set."""
    sets = list(read_sets(data, predictions))
    own = [of for of in sets if of.name == LABELLED]
    known, calibration = calibrated_rows(own, prior=WIDE)
    others = [labelled_rows(of, calibration) for of in sets if of.name != LABELLED]
    rows = pd.concat([known, *others], ignore_index=True).assign(detector=name)
    held = {
        (of.name, category): int(np.sum(ranking.n_true > 0))
        for of in sets
        for category, ranking in zip(of.truth.categories, of.rankings, strict=True)
    }
    rows["n_held"] = [held[pair] for pair in zip(rows["source"], rows["category"], strict=True)]
    rows = rows[(rows["n_boxes"] >= FEWEST_BOXES) & (rows["n_held"] >= FEWEST_IMAGES)]
    columns = ["detector", "kind", "family", "source", "category", "n_images", "n_held", "n_boxes"]
    columns += FEATURES[1:]
    for target in (name for threshold in THRESHOLDS for name in points_at(threshold)):
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
    return features, scaling, replace(prior, spread=NARROWER * prior.spread)


def nested(rows: pd.DataFrame) -> pd.DataFrame:
    """Estimate every site by a prior that has seen neither the detector nor its family."""
    families = sorted(set(rows["family"]) - {"coco"})
    np.random.default_rng(0).shuffle(families)
    parts = []
    folds = [(name, k) for name in dict.fromkeys(rows["detector"]) for k in range(GROUPS)]
    for name, k in tqdm(folds, "leaving detectors and families out"):
        held_out = rows["family"].isin(families[k::GROUPS])
        kin = rows["detector"].str.split("_").str[0] == name.split("_")[0]
        own = rows[rows["detector"] == name]
        labelled, asked = own[own["kind"] == CATEGORY], own[held_out & enough(rows)]
        for measure in MEASURES:
            _, scaling, prior = prior_of(measure, rows[~kin & ~held_out])
            for threshold in THRESHOLDS:
                target = f"{measure}@{threshold:g}"
                known = asked.dropna(subset=[target])
                if len(known):
                    found = evaluated(target, labelled, known, scaling, prior)
                    parts.append(found.assign(measure=measure, threshold=threshold, detector=name))
    return pd.concat(parts, ignore_index=True)


def evaluated(
    target: str, known: pd.DataFrame, asked: pd.DataFrame, scaling: Scaling, prior: Prior
) -> pd.DataFrame:
    """Fit on some pairs and estimate others, each as a site of its own."""
    fitted = BayesianRegression(
        target=target, features=features_at(target), scaling=scaling, prior=prior
    ).fit(known)
    predicted = [fitted.predict(asked.iloc[[k]])[0] for k in range(len(asked))]
    group = np.where(asked["category"].isin(["person", "vehicle"]), asked["category"], "other")
    return pd.DataFrame(
        {
            "group": group,
            "source": asked["source"].to_numpy(),
            "category": asked["category"].to_numpy(),
            "true": asked[target].to_numpy(),
            "carried": float(known[target].mean()),
            "estimate": [of.value for of in predicted],
            "lower": [of.lower for of in predicted],
            "upper": [of.upper for of in predicted],
        }
    )


def summary(estimates: pd.DataFrame) -> pd.DataFrame:
    """Tabulate errors of what was estimated, in points, with those of two constants.

    ``constant`` is the mean of the group, ``carried`` the mean of the labelled set. ``none`` counts
    the pairs that got no estimate because the interval would be too wide.
    """
    by = ["measure", "threshold", "group", "detector"]
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
