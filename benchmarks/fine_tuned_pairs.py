"""Compare detectors that were trained on different sites, at other sites.

    python -m benchmarks.fine_tuned_pairs table DATA NAME=PREDICTIONS ... --boxes OUT
    python -m benchmarks.fine_tuned_pairs evaluate [--declared]
    python -m benchmarks.fine_tuned_pairs labels DATA NAME=PREDICTIONS ... --boxes OUT [--draws N]
    python -m benchmarks.fine_tuned_pairs seen

`table` compares every two detectors, those of `benchmarks/trained_detectors.py` in OUT and
others that were trained on COCO alone (NAME=PREDICTIONS as in `benchmarks/panel.py`), on each home
in turn as the labelled set: both are fitted on its images that nobody was trained on, and estimated
at the sites of other groups, but at the home of neither. Estimates are by priors that have seen
neither the kin of the detector nor the group of the home nor a quarter of the groups. Writes
``meta_sets/panel/fine_tuned_pairs.csv``.

`evaluate` predicts the differences of that table by priors of which neither detector was a part
(`benchmarks/compare.py`), with one at home declared (``--trained-here``) and without, and prints
the errors; `labels` does so with 10 and 20 labelled images of the sites of 60 images and more.

`seen` measures whether it shows that a detector was trained at the labelled site, if it is not
declared: of the same table, the detectors that were trained on one site, each labelled at home, and
detectors of COCO's images labelled at the same homes, estimated at sites of other groups. What is
seen is the accuracy on the labelled set and by how much the log-odds of the estimate lie below it.
A logistic regression on both predicts which detector is at home; a linear one on the estimate, and
on its product with either, predicts the true value. Both kinds count alike. Each is fitted without
the home, the detector's kin and a quarter of the groups. Prints the area under the curve of the
first and the errors of the second beside those of the estimate.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score
from tqdm import tqdm

from autoeval.comparison.train_differences import (
    OF_PANEL,
    TUNED,
    TUNED_PAIRS,
    accuracies_at_home,
    left_out_with,
    read_rows,
    undeclared,
)
from autoeval.comparison.unlabelled_difference import pair_features
from autoeval.errors import InputError
from autoeval.estimation.calibrating import calibrated_rows
from autoeval.estimation.category_scores import labelled_rows
from autoeval.io.coco import read_coco
from autoeval.labels.values import ValueWithError
from autoeval.model.train_prior import enough, kin
from autoeval.report.page import format_cells, to_markdown
from autoeval.sites.site import Site
from benchmarks.compare import (
    Scored,
    at_home_left_out,
    backtest,
    estimates_of,
    labelled_pair,
    left_out,
    pair_rows,
    summary,
    without_labels,
)
from benchmarks.fine_tuned import by_fold, labelled, prior_without, read_sets
from benchmarks.panel import (
    LEVEL,
    PARENT,
    add_detectors,
    calibration_without,
    common,
    group_of,
    with_held,
)
from benchmarks.trained_detectors import HOMES, home_categories

USUAL = ("vehicle", "person")
SIZES = (0, 10, 20)  # labelled images
FEWEST_SITES = 12  # of a pair whose coverage is stated for itself
KEY = ["source", "category", "fold", "category_group"]
SMALL = 0.02  # added where log-odds are taken
SURE = 0.9  # probability from which on a sign is stated
COLUMNS = (
    "mae",
    "difference of 0",
    "carried over",
    "coverage",
    "half_width",
    "sure",
    "sure and wrong",
)


def parse_args() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("seen")
    table = commands.add_parser("table")
    evaluate = commands.add_parser("evaluate")
    evaluate.add_argument("--declared", action="store_true", help="only pairs with one at home")
    labels = commands.add_parser("labels")
    for of in (table, labels):
        add_detectors(of)
        of.add_argument("--boxes", type=Path, required=True, help="of trained_detectors.py")
    labels.add_argument("--draws", type=int, default=5)
    labels.add_argument("--out", type=Path, help="CSV of every draw")
    return parser.parse_args()


def main() -> None:
    """Run one of the steps."""
    args = parse_args()
    if args.command == "seen":
        print_what_is_seen()
        return
    if args.command == "evaluate":
        found = evaluated_pairs(read_rows(), declared_only=args.declared)
        print(to_markdown(found.reset_index()))
        return
    if args.command == "labels":
        found = pd.concat(labelled_pairs(args), ignore_index=True)
        if args.out:
            found.to_csv(args.out, index=False)
        for (kind, declared), own in found.groupby(["kind", "declared"]):
            table = summary(own)
            formats = dict.fromkeys(table.columns[3:], "{:.1f}") | {"Brier": "{:.3f}"}
            print(f"{kind}, declared: {declared}\n\n{to_markdown(format_cells(table, formats))}\n")
        return
    rows = [pair_rows(a, b).assign(labelled=home) for a, b, home in pairs(args)]
    found = pd.concat(rows, ignore_index=True)
    found.drop(columns=["noise"]).to_csv(TUNED_PAIRS, index=False, float_format="%.5g")


def evaluated_pairs(rows: pd.DataFrame, *, declared_only: bool = False) -> pd.DataFrame:
    """Return the errors of predicted differences by kind of comparison, in points of 100.

    Each by a prior without both detectors, their kin and parent, and its quarter of groups; how
    far detectors fall is distributed as shipped.
    """
    rows = rows.assign(kind=kinds(rows))
    of_one = pair_features(rows).one_at_home & (rows["labelled"] != OF_PANEL)
    at_home = rows[of_one].reset_index(drop=True)
    parts = [errors(at_home, at_home_left_out(at_home)).assign(declared="yes")]
    if not declared_only:
        _, priors = left_out(rows)
        forgotten = [
            prior.predict(undeclared(rows.iloc[[k]]))[0]
            for k, prior in enumerate(tqdm(priors, "rows"))
        ]
        found = errors(rows, forgotten).assign(declared="no")
        parts.append(found[rows["labelled"] != OF_PANEL])
    every = pd.concat(parts)
    groups = every.groupby(["kind", "declared"])
    table = groups[list(COLUMNS)].mean().join(of_pairs(every))
    return table.round(1).assign(n=groups.size()).sort_index()


def of_pairs(found: pd.DataFrame) -> pd.DataFrame:
    """Return the lowest coverage of two detectors, and how many are covered under 70 and 80 %."""
    by = found.groupby(["kind", "declared", "pair"])["coverage"]
    coverage = by.mean()[by.size() >= FEWEST_SITES].groupby(level=[0, 1])
    return pd.DataFrame(
        {
            "lowest": coverage.min(),
            "pairs": coverage.size(),
            "under 70": coverage.apply(lambda of: (of < 70).sum()),
            "under 80": coverage.apply(lambda of: (of < 80).sum()),
        }
    )


def labelled_pairs(args: argparse.Namespace) -> Iterator[pd.DataFrame]:
    """Estimate the differences with labels of images drawn at random."""
    rows = read_rows()
    predicted, priors = left_out(rows)
    rows = rows.assign(kind=kinds(rows), place=np.arange(len(rows)))
    known = dict(iter(rows.groupby(["labelled", "a", "b"])))
    for a, b, home in pairs(args):
        for row in known.get((home, a.name, b.name), rows[:0]).to_dict("records"):
            site = a.sites.get(row["source"])
            if site is None or row["category"] not in site.boxes.categories:
                continue  # in the turn of another category
            own, prior = rows.iloc[[row["place"]]], priors[row["place"]]
            cases = [("no", prior.predict(undeclared(own))[0])]
            if pair_features(own).one_at_home[0]:
                cases.append(("yes", predicted[row["place"]]))
            for declared, free in cases:
                (one,) = without_labels(own, [free])
                pair = labelled_pair(row, one, prior, a, b)
                if pair is not None:
                    found = backtest([pair], sizes=SIZES, draws=args.draws)
                    yield found.assign(kind=row["kind"], declared=declared, labelled=home)


def errors(rows: pd.DataFrame, predicted: Sequence[ValueWithError]) -> pd.DataFrame:
    """Return the errors of each row, in points and per cent; see `COLUMNS`."""
    value, half_width, positive = np.array(
        [(of.value, of.half_width(LEVEL), of.probability_positive) for of in predicted]
    ).T
    true = (rows["true_a"] - rows["true_b"]).to_numpy()
    sure = np.maximum(positive, 1 - positive) > SURE
    columns = (
        100 * np.abs(value - true),
        100 * np.abs(true),
        100 * (rows["carried"] - true).abs(),
        100.0 * (np.abs(value - true) <= half_width),
        100 * half_width,
        100.0 * sure,
        np.where(sure, 100.0 * ((value > 0) != (true > 0)), np.nan),
    )
    found = pd.DataFrame(dict(zip(COLUMNS, columns, strict=True)), index=rows.index)
    pair = rows["a"] + " " + rows["b"] + " " + rows["labelled"]
    return found.assign(kind=rows["kind"], pair=pair)


def kinds(rows: pd.DataFrame) -> np.ndarray:
    """Name how many of two detectors were trained on one site, and whether one is at home."""
    home = TUNED + rows["labelled"].str.partition("/")[2]
    tuned = rows["a"].str.startswith(TUNED).astype(int) + rows["b"].str.startswith(TUNED)
    where = np.where((rows["a"] == home) | (rows["b"] == home), "one at home", "at a third site")
    names = np.array(["none", "one", "both"])[tuned]
    return np.where(
        tuned == 0, "none trained on one site", names + " trained on one site, " + where
    )


def pairs(args: argparse.Namespace) -> Iterator[tuple[Scored, Scored, str]]:
    """Yield every two detectors with the labelled set that they are fitted on."""
    for names, homes in compared(args.data):
        detectors = dict(read_detectors(args, names, homes))
        for home in tqdm(homes, ", ".join(names)):
            scored = [fitted(name, sets, home) for name, sets in detectors.items()]
            for a, b in itertools.combinations([of for of in scored if of], 2):
                away = {group_of(of.name.removeprefix(TUNED)) for of in (a, b)}
                kept = a.estimates[~a.estimates["group"].isin(away)]
                yield replace(a, estimates=kept), b, home


def compared(data: Path) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Yield the categories that are compared together, with the homes that hold them."""
    known = {home: home_categories(read_coco(data / home / "annotations.json")) for home in HOMES}
    for name in USUAL:
        yield (name,), [home for home, of in known.items() if name in of]
    for home, names in known.items():
        if not set(names) & set(USUAL):
            yield names, [home]


def read_detectors(
    args: argparse.Namespace, names: Sequence[str], homes: Sequence[str]
) -> Iterator[tuple[str, dict[str, Site]]]:
    """Read the sites with the boxes of each detector, in some categories."""
    folders = {
        f"{TUNED}{Path(home).name}": args.boxes / "predictions" / Path(home).name for home in homes
    }
    for name, folder in {**folders, **dict(args.detectors)}.items():
        yield name, {of.name: of for of in read_sets(args.data, folder, names)}


def fitted(name: str, sets: dict[str, Site], home: str) -> Scored | None:
    """Fit a detector on a labelled set, and estimate the sites of other groups."""
    if Path(home).name not in sets:
        return None
    own = sets[Path(home).name]
    without = PARENT if name.startswith(TUNED) else kin(name)
    try:
        rows, calibration = calibrated_rows([labelled(own)], prior=calibration_without(without))
    except InputError as error:
        print(f"{name} on {home}: {error}")
        return None
    rows = rows.dropna(subset=["mAP"])
    others = {k: of for k, of in sets.items() if of.group != own.group}
    scored = [with_held(of, labelled_rows(of, calibration)) for of in others.values()]
    table = pd.concat(scored, ignore_index=True)
    table = table[common(table) & enough(table)]
    parts = [
        (asked, prior_without(own.group, fold, kind=without)) for fold, asked in by_fold(table)
    ]
    return Scored(name, sets, rows, calibration, estimates_of(rows, parts))


def print_what_is_seen() -> None:
    """Print the area under the curve, and the errors of estimates corrected by what is seen."""
    rows = single_estimates()
    seen = {
        "accuracy on the labelled set": rows[["home"]],
        "fall of the estimate below it": rows[["gap"]],
        "both": rows[["home", "gap"]],
    }
    curves = {
        name: round(
            100 * roc_auc_score(rows["at_home"], without_home(rows, x.to_numpy(), which=True)), 0
        )
        for name, x in seen.items()
    }
    print(to_markdown(pd.Series(curves, name="area under the curve").reset_index()) + "\n")
    estimate = rows["estimate"].to_numpy()
    products = rows[["home", "gap"]].clip(-2, 2).to_numpy() * estimate[:, None]
    corrected = without_home(rows, np.column_stack([estimate, products]), which=False)
    plain = without_home(rows, estimate[:, None], which=False)
    values = {"as it is": estimate, "scaled": plain, "by what is seen": corrected}
    table = []
    for name, value in values.items():
        error = 100 * (np.clip(value, 0, 1) - rows["true"])
        own = pd.DataFrame({"mae": error.abs(), "bias": error, "kind": rows["kind"]})
        table.append(
            own.groupby("kind").mean().round(1).assign(estimate=name, n=rows.groupby("kind").size())
        )
    print(to_markdown(pd.concat(table).reset_index()))


def single_estimates() -> pd.DataFrame:
    """Return the estimates of detectors at home, and of COCO's at the same homes."""
    rows = read_rows()
    rows = rows[(rows["labelled"] != OF_PANEL) & rows["usual"]]
    parts = []
    for (home, _), own in rows.groupby(["labelled", "category_group"]):
        name = TUNED + str(home).rpartition("/")[2]
        at_home = float(accuracies_at_home()[name])
        for of, other, sign in (("a", "b", 1), ("b", "a", -1)):
            pairs = own[own[other] == name]  # the difference on the labelled set is known
            found = pairs[KEY].assign(
                detector=pairs[of],
                estimate=pairs[f"estimate_{of}"],
                true=pairs[f"true_{of}"],
                home=at_home + sign * pairs["carried"],
            )
            itself = pairs[KEY].assign(
                detector=name,
                estimate=pairs[f"estimate_{other}"],
                true=pairs[f"true_{other}"],
                home=at_home,
            )
            parts.append(pd.concat([found, itself]).assign(labelled=home))
    found = pd.concat(parts).drop_duplicates(["labelled", "detector", "source", "category"])
    found["at_home"] = found["detector"] == TUNED + found["labelled"].str.rpartition("/")[2]
    found = found[found["at_home"] | ~found["detector"].str.startswith(TUNED)]
    found["kind"] = np.where(found["at_home"], "trained at the labelled site", "COCO")
    found["gap"] = log_odds(found["home"]) - log_odds(found["estimate"])
    return found.reset_index(drop=True)


def log_odds(accuracy: pd.Series) -> pd.Series:
    """Return log-odds that stay finite."""
    p = accuracy.clip(0, 1)
    return np.log((p + SMALL) / (1 + SMALL - p))


def without_home(rows: pd.DataFrame, x: np.ndarray, *, which: bool) -> np.ndarray:
    """Predict each row without its home and kin: which detector is at home, or its true value."""
    kin = rows["detector"].map(left_out_with)
    at_home, true = rows["at_home"].to_numpy(), rows["true"].to_numpy()
    predicted = np.full(len(rows), np.nan)
    for _, own in rows.groupby(["labelled", kin, "fold"]):
        first = own.index[0]
        others = (rows["labelled"] != rows["labelled"][first]) & (kin != kin[first])
        others = (others & (rows["fold"] != rows["fold"][first])).to_numpy()
        shares = np.where(at_home[others], 1 / at_home[others].sum(), 1 / (~at_home[others]).sum())
        weights = shares / shares.mean()
        if which:
            model = LogisticRegression().fit(x[others], at_home[others], sample_weight=weights)
            predicted[own.index] = model.predict_proba(x[own.index])[:, 1]
        else:
            line = LinearRegression().fit(x[others], true[others], sample_weight=weights)
            predicted[own.index] = line.predict(x[own.index])
    return predicted


if __name__ == "__main__":
    main()
