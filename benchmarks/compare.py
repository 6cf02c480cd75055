"""Fit the prior of differences between detectors, and measure it on detectors and sites left out.

    python -m benchmarks.compare table DATA NAME=PREDICTIONS ...
    python -m benchmarks.compare prior
    python -m benchmarks.compare evaluate [--out DIR]
    python -m benchmarks.compare labels DATA NAME=PREDICTIONS ... [--draws N] [--out DIR]

`table` compares every two detectors at the labelled sites under DATA, each estimated by a prior
that has seen neither the detector nor the site's family (`benchmarks/panel.py`), and writes
``meta_sets/panel/pairs.csv``. `prior` fits ``configs/compare_prior.json`` on it. `evaluate` fits it
for each pair of detectors on pairs of others, without a quarter of the families in turn, and prints
the errors there without labels; `labels` does so with 5 to 50 labelled images. Detectors whose
names begin alike up to ``_`` are kin: left out together.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.stats import t as student
from tqdm import tqdm

from autoeval.calibration import ScoreCalibration
from autoeval.comparison.disagreement import disagreement
from autoeval.comparison.pair_model import PairPrior, differences, log_odds_on_labels
from autoeval.estimation.label_assistance import site_of_set
from autoeval.estimation.training_set import TrainingSet
from autoeval.labels.fit_assistance import fit_assistance
from autoeval.labels.labelled_site import true_influence
from autoeval.labels.value_with_error import ValueWithError
from autoeval.labels.variance_prior import fit_variance_prior
from autoeval.report.tables import to_markdown
from autoeval.studies.comparisons import ComparedPair, backtest, summary
from benchmarks.panel import (
    FOLDER,
    GROUPS,
    LABELLED,
    ROOT,
    WIDE,
    WORDS,
    calibrated_rows,
    enough,
    evaluated,
    fit_prior,
    labelled_rows,
    read_panel,
    read_sets,
)

PAIRS, PRIOR = FOLDER / "pairs.csv", ROOT / "configs/compare_prior.json"
FEWEST_IMAGES = 60  # of a site with labels drawn
USUAL = PairPrior()
RIDGE = 0.1  # standard deviation of slopes around the usual ones
DOF = 8.0
INFLUENCE = ("cross", "predicted", "true", "noise")


@dataclass(frozen=True, eq=False)
class Scored:
    """One detector on all sites.

    Parameters
    ----------
    name : str
    sites : dict of str to TrainingSet
    rows : DataFrame
        Its pairs on the labelled set.
    calibration : ScoreCalibration
    estimates : DataFrame
        Of each site and category, by a prior that has seen neither.
    influences : dict of str to list of ndarray
        Predicted influence (N,) of the images of each site, by category.
    """

    name: str
    sites: Mapping[str, TrainingSet]
    rows: pd.DataFrame
    calibration: ScoreCalibration
    estimates: pd.DataFrame
    influences: Mapping[str, list[np.ndarray]]


def parse_args() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("table", "prior", "evaluate", "labels"):
        own = commands.add_parser(name)
        if name in ("table", "labels"):
            own.add_argument("data", type=Path)
            own.add_argument("detectors", nargs="+", metavar="NAME=PREDICTIONS")
        if name in ("evaluate", "labels"):
            own.add_argument("--out", type=Path, help="folder for CSV files of every pair")
        if name == "labels":
            own.add_argument("--draws", type=int, default=40)
    return parser.parse_args()


def main() -> None:
    """Run one of the steps."""
    args = parse_args()
    if args.command == "table":
        table = pd.concat(pair_rows(read_detectors(args)), ignore_index=True)
        table.to_csv(PAIRS, index=False, float_format="%.6g")
    elif args.command == "prior":
        text = json.dumps(fit(pd.read_csv(PAIRS)).to_dict(), indent=1)
        PRIOR.write_text(text + "\n", encoding="utf-8")
    else:
        rows, predicted = left_out(pd.read_csv(PAIRS))
        if args.command == "evaluate":
            found = backtest([*without_labels(rows, predicted)], sizes=(0,))
        else:
            pairs = with_labels(rows, predicted, read_detectors(args))
            found = backtest([*tqdm(pairs, "pairs")], draws=args.draws)
        if args.out:
            args.out.mkdir(parents=True, exist_ok=True)
            found.to_csv(args.out / f"compare_{args.command}.csv", index=False)
        print(to_markdown(summary(found).round(3)))


def kin(name: str) -> str:
    """Return what detectors of one origin have in common."""
    return name.split("_")[0]


def read_detectors(args: argparse.Namespace) -> list[Scored]:
    """Score and estimate all sites by each detector."""
    panel = read_panel()[0]
    named = [of.partition("=") for of in args.detectors]
    return [read_detector(name, args.data, Path(folder), panel) for name, _, folder in tqdm(named)]


def read_detector(name: str, data: Path, predictions: Path, panel: pd.DataFrame) -> Scored:
    """Score and estimate all sites by one detector."""
    every = {of.name: of for of in read_sets(data, predictions)}
    labelled = every.pop(LABELLED)
    rows, calibration = calibrated_rows([labelled], prior=WIDE)
    assistance = fit_assistance([site_of_set(labelled)])
    parts, influences = [], {}
    for site in every.values():
        table = labelled_rows(site, calibration)
        held = dict(zip(site.truth.categories, site.rankings, strict=True))
        n_held = [int(np.sum(held[c].n_true > 0)) for c in table["category"]]
        parts.append(table.assign(n_held=n_held))
        pool = site_of_set(replace(site, boxes=site.boxes)).pool
        influences[site.name] = [of.mean(axis=0) for of in assistance.predict(pool)]
    asked = pd.concat(parts, ignore_index=True)
    asked = asked[(asked["n_boxes"] >= 8) & (asked["n_held"] >= 5) & enough(asked)]
    estimates = []
    for fold in folds(panel):
        own = asked[asked["family"].isin(fold)]
        if len(own):
            _, scaling, prior = panel_prior(kin(name), tuple(fold))
            values = evaluated(rows, own, scaling, prior)
            columns = ["family", "n_images", "n_boxes"]
            estimates.append(values.assign(**{c: own[c].to_numpy() for c in columns}))
    return Scored(name, every, rows, calibration, pd.concat(estimates), influences)


def folds(rows: pd.DataFrame) -> list[list[str]]:
    """Divide the families as `benchmarks/panel.py` does."""
    families = sorted(set(rows["family"]) - {"coco"})
    np.random.default_rng(0).shuffle(families)
    return [families[k::GROUPS] for k in range(GROUPS)]


@cache
def panel_prior(without: str, families: tuple[str, ...]) -> tuple:
    """Fit the prior of single detectors without kin and families."""
    rows = read_panel()[0]
    return fit_prior(rows[(rows["detector"].map(kin) != without) & ~rows["family"].isin(families)])


def pair_rows(detectors: Sequence[Scored]) -> Iterator[pd.DataFrame]:
    """Compare every two detectors at every site and category that both are evaluated on."""
    for a, b in tqdm(list(itertools.combinations(detectors, 2)), "pairs"):
        key = ["source", "category"]
        columns = [*key, "family", "group", "n_images", "n_boxes", "true", "estimate"]
        both = a.estimates[columns].merge(
            b.estimates[[*key, "true", "estimate"]], on=key, suffixes=("_a", "_b")
        )
        carried = [carried_over(a.rows, b.rows) for _ in range(len(both))]
        both = both.assign(a=a.name, b=b.name, carried=carried)
        words = [words_of(category) for category in both["category"]]
        both["log_odds"] = [log_odds_on_labels(a.rows, b.rows, "mAP", of) for of in words]
        differ = {name: disagreement(*calibrated(a, b, name)) for name in set(both["source"])}
        found = []
        for source, category in zip(both["source"], both["category"], strict=True):
            k = a.sites[source].truth.categories.index(category)
            found.append((differ[source][k], *influence_sums(a, b, source, k)))
        both[["disagreement", *INFLUENCE]] = np.array(found)
        yield both


def carried_over(a: pd.DataFrame, b: pd.DataFrame) -> float:
    """Return the difference of the means over the categories of the labelled set."""
    both = a.merge(b, on=["source", "category"])
    return float((both["mAP_x"] - both["mAP_y"]).mean())


def words_of(category: str) -> tuple[str, ...]:
    """Return what a category is called on the labelled set."""
    words = tuple(word for word, name in WORDS.items() if name == category)
    return words or (category,)


def calibrated(*detectors: Scored | str) -> tuple:
    """Return the calibrated boxes of both at a site."""
    a, b, name = detectors
    return tuple(replace(of.sites[name].boxes, calibration=of.calibration) for of in (a, b))


def influence_sums(a: Scored, b: Scored, source: str, k: int) -> tuple[float, ...]:
    """Return the moments of the predicted and the true influence on a difference."""
    true = true_influence(a.sites[source].rankings[k]) - true_influence(b.sites[source].rankings[k])
    predicted = a.influences[source][k] - b.influences[source][k]
    centred = true - true.mean()
    noise = np.mean(centred**4) / max(np.mean(centred**2) ** 2, 1e-30) - 1
    cross = float(np.cov(true, predicted)[0, 1])
    return cross, float(predicted.var(ddof=1)), float(true.var(ddof=1)), float(noise / len(true))


def fit(rows: pd.DataFrame) -> PairPrior:
    """Fit the prior of differences by maximum likelihood, each pair of detectors alike."""
    carried, moved, level = differences(rows)
    y = (rows["true_a"] - rows["true_b"]).to_numpy()
    u = rows["disagreement"].to_numpy()
    sizes = rows.groupby(["a", "b"])["a"].transform("size").to_numpy()
    weights = len(rows) / sizes / rows.groupby(["a", "b"]).ngroups

    def loss(values: np.ndarray, known: bool) -> float:
        first, second, log_std, exponent, log_floor = values
        prior = replace(
            USUAL,
            std=np.exp(log_std),
            std_alone=np.exp(log_std),
            exponent=exponent,
            floor=np.exp(log_floor),
        )
        error = y - (first * carried + second * moved if known else second * moved)
        scale = prior.errors(level, u, np.full(len(y), known)) * np.sqrt((DOF - 2) / DOF)
        pull = ((first - USUAL.labelled) / RIDGE) ** 2 + ((second - USUAL.predicted) / RIDGE) ** 2
        pull += ((exponent - USUAL.exponent) / 0.25) ** 2 + (
            (log_floor - np.log(USUAL.floor)) / 0.5
        ) ** 2
        return float(
            -weights @ student.logpdf(error / scale, DOF) + weights @ np.log(scale) + 0.5 * pull
        )

    start = [
        USUAL.labelled,
        USUAL.predicted,
        np.log(USUAL.std),
        USUAL.exponent,
        np.log(USUAL.floor),
    ]
    bounds = [(0, 1.5), (0, 1.5), (-4, 0), (0, 2), (-8, -3)]
    found = minimize(loss, start, (True,), method="L-BFGS-B", bounds=bounds).x
    alone = minimize(loss, start, (False,), method="L-BFGS-B", bounds=bounds).x
    return replace(
        USUAL,
        labelled=float(found[0]),
        predicted=float(found[1]),
        std=float(np.exp(found[2])),
        exponent=float(found[3]),
        floor=float(np.exp(found[4])),
        alone=float(alone[1]),
        std_alone=float(np.exp(alone[2])),
        **fit_influence(rows),
    )


def fit_influence(rows: pd.DataFrame) -> dict[str, float]:
    """Fit how the predicted influence on a difference is used, and what it leaves."""
    rows = rows[(rows["predicted"] > 0) & (rows["true"] > 0)]
    size = rows["predicted"] + rows["true"]
    slope = float((rows["cross"] / size).sum() / (rows["predicted"] / size).sum())
    left = rows["true"] - 2 * slope * rows["cross"] + slope**2 * rows["predicted"]
    ratios = (left / (slope**2 * rows["predicted"])).clip(lower=1e-3)
    prior = fit_variance_prior(ratios.tolist(), float(rows["noise"].mean()))
    return {"influence": slope, "residual": prior.variance, "residual_dof": prior.dof}


def left_out(
    rows: pd.DataFrame,
) -> tuple[pd.DataFrame, list[tuple[ValueWithError, float, PairPrior]]]:
    """Predict every row by a prior that has seen neither detectors nor families of it."""
    predicted: dict[int, tuple[ValueWithError, float, PairPrior]] = {}
    y = rows["true_a"] - rows["true_b"]
    for (a, b), own in rows.groupby(["a", "b"]):
        seen = rows["a"].map(kin).isin({kin(a), kin(b)}) | rows["b"].map(kin).isin({kin(a), kin(b)})
        for fold in folds(read_panel()[0]):
            asked = own[own["family"].isin(fold)]
            known = rows[~seen & ~rows["family"].isin(fold)]
            if len(asked):
                prior = fit(known)
                spread = float(np.sqrt(np.mean((y - rows["carried"])[known.index] ** 2)))
                free = zip(asked.index, prior.predict(asked), strict=True)
                predicted |= {k: (of, spread, prior) for k, of in free}
    kept = sorted(predicted)
    return rows.loc[kept], [predicted[k] for k in kept]


def without_labels(rows: pd.DataFrame, predicted: Sequence) -> Iterator[ComparedPair]:
    """Yield every pair without its boxes."""
    for (_, row), (free, spread, _) in zip(rows.iterrows(), predicted, strict=True):
        yield ComparedPair(
            row["a"],
            row["b"],
            row["source"],
            row["category"],
            row["true_a"] - row["true_b"],
            free,
            ValueWithError(row["carried"], spread),
        )


def with_labels(
    rows: pd.DataFrame, predicted: Sequence, detectors: Sequence[Scored]
) -> Iterator[ComparedPair]:
    """Yield the pairs of the large sites with their boxes and labels."""
    by_name = {of.name: of for of in detectors}
    every = zip(without_labels(rows, predicted), predicted, strict=True)
    for one, (_, _, prior) in every:
        a, b = (by_name.get(name) for name in (one.a, one.b))
        if a is None or b is None:
            continue
        sites = a.sites[one.site], b.sites[one.site]
        if len(sites[0].boxes) >= FEWEST_IMAGES and sites[0].everywhere:
            k = sites[0].truth.categories.index(one.category)
            influence = a.influences[one.site][k] - b.influences[one.site][k]
            yield replace(
                one,
                rankings=tuple(of.rankings[k] for of in sites),
                predicted=prior.influence * influence,
                mixing=prior.mixing,
            )


if __name__ == "__main__":
    main()
