"""Fit the prior of differences between detectors, and measure it on detectors and sites left out.

    python -m benchmarks.compare table DATA NAME=PREDICTIONS ... [--held-out NAME=DATA]
    python -m benchmarks.compare prior
    python -m benchmarks.compare evaluate [--out DIR]
    python -m benchmarks.compare labels DATA NAME=PREDICTIONS ... [--held-out NAME=DATA] [--draws N]

`table` compares every two detectors at the labelled sites under DATA, each estimated by a prior
that has seen neither the detector nor the site's family (`benchmarks/panel.py`), and writes
``meta_sets/panel/pairs.csv``. `prior` fits ``configs/compare_prior.json`` on it. `evaluate` fits it
for each pair of detectors on pairs of others, without a quarter of the families in turn, and prints
the errors there without labels; `labels` does so with 5 to 50 labelled images. Detectors whose
names begin alike up to ``_`` are kin: left out together. Of a detector whose name ends in ``_root``
the square roots of the scores are taken, which changes no average precision; it is compared with
the one without that ending alone, and tabulated by itself. A detector whose name ends in ``_e``
and a number is a checkpoint before the last, compared with those of its training run alone.
A detector that was trained on part of DATA is compared with all others on the data root of
``--held-out``, which leaves that part out; its labelled set is there, too.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
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
from autoeval.comparison.common_objects import (
    ExpectedDifference,
    Found,
    agreement,
    disagreement,
    expected_difference,
)
from autoeval.comparison.pair_model import (
    FEWEST_OBJECTS,
    PairPrior,
    contradictions,
    differences,
    log_odds_on_labels,
)
from autoeval.labels.control_variates import true_influence
from autoeval.labels.value_with_error import ValueWithError
from autoeval.labels.variance_prior import fit_variance_prior
from autoeval.published.reports.detector_comparison import ComparedPair, backtest, summary
from autoeval.report.tables import format_cells, to_markdown
from autoeval.sites.labelled_set import LabelledSet
from autoeval.sites.site_boxes import SiteBoxes
from benchmarks.panel import (
    FOLDER,
    GROUPS,
    LABELLED,
    ROOT,
    WIDE,
    WORDS,
    add_detectors,
    calibrated_rows,
    common,
    enough,
    evaluated,
    fit_prior,
    kin,
    labelled_rows,
    read_panel,
    read_sets,
    with_held,
)

PAIRS, PRIOR = FOLDER / "pairs.csv", ROOT / "configs/compare_prior.json"
ROOTS = "_root"
EPOCH = r"_e\d+\b"
TRAINED = ("retinanet",)
"""Detectors in no fit: trained on a part of the data, and so weak elsewhere that the differences of
the others are estimated worse with them (docs/results/compare.md)."""
FEWEST_IMAGES = 60  # of a site with labels drawn
USUAL = PairPrior()
RIDGE = 0.2  # standard deviation of slopes around the usual ones
DOF = 8.0
LEVEL, LIMITS, FEWEST_ROWS = 0.9, (1.0, 3.0), 20
INFLUENCE = ("cross", "predicted", "true", "noise")


@dataclass(frozen=True, eq=False)
class Scored:
    """One detector on all sites."""

    name: str
    sites: Mapping[str, LabelledSet]
    rows: pd.DataFrame  # its pairs on the labelled set
    calibration: ScoreCalibration
    estimates: pd.DataFrame  # of each site and category, by a prior that has seen neither


def parse_args() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("table", "prior", "evaluate", "labels"):
        own = commands.add_parser(name)
        if name in ("table", "labels"):
            add_detectors(own)
            own.add_argument("--held-out", default="", metavar="NAME=DATA")
        if name in ("evaluate", "labels"):
            own.add_argument("--out", type=Path, help="folder for CSV files of every pair")
        if name == "labels":
            own.add_argument("--draws", type=int, default=40)
    return parser.parse_args()


def main() -> None:
    """Run one of the steps."""
    args = parse_args()
    if args.command == "table":
        pairs = read_pairs(args)
        table = pd.concat([pair_rows(a, b) for a, b in tqdm(pairs, "pairs")], ignore_index=True)
        table.to_csv(PAIRS, index=False, float_format="%.6g")
    elif args.command == "prior":
        rows = pd.read_csv(PAIRS)
        kept, predicted = left_out(rows, widen=False)
        wider = widening(kept, [of for of, _, _ in predicted])
        prior = replace(fit(rows), wider=wider)
        prior = replace(prior, trained=trained_widening(rows[of_trained(rows)], prior))
        text = json.dumps(prior.to_dict(), indent=1)
        PRIOR.write_text(text + "\n", encoding="utf-8")
    else:
        rows, predicted = left_out(pd.read_csv(PAIRS))
        if args.command == "evaluate":
            found = backtest([*without_labels(rows, predicted)], sizes=(0,))
        else:
            labelled = with_labels(rows, predicted, read_pairs(args))
            found = backtest([*tqdm(labelled, "pairs")], draws=args.draws)
        if args.out:
            args.out.mkdir(parents=True, exist_ok=True)
            found.to_csv(args.out / f"compare_{args.command}.csv", index=False)
        print_tables(found)


def print_tables(found: pd.DataFrame) -> None:
    """Print the summary over all pairs, and over those of each kind."""
    groups = pd.read_csv(PAIRS).drop_duplicates(["source", "category"])
    of_pair = groups.set_index(["source", "category"])["group"]
    other = (found[["site", "category"]].agg(tuple, axis=1).map(of_pair) == "other").to_numpy()
    same = found["b"].str.endswith(ROOTS)
    related = (found["a"].map(kin) == found["b"].map(kin)) & ~same
    run = related & (found["a"] + " " + found["b"]).str.contains(EPOCH)
    trained = found["a"].map(kin).isin(TRAINED) | found["b"].map(kin).isin(TRAINED)
    kinds = {
        "All": ~same,
        "Different detectors": ~same & ~related,
        "A detector trained on images like the labelled ones, and another": trained & ~related,
        "Checkpoints of one training run": run,
        "One detector at several input sizes": related & ~run,
        "One detector with other scores": same,
        "Persons and vehicles": ~same & ~other,
        "Other categories": ~same & other,
    }
    for title, chosen in kinds.items():
        if chosen.any():
            table = summary(found[chosen])
            formats = dict.fromkeys(table.columns[3:], "{:.1f}") | {"Brier": "{:.3f}"}
            print(f"{title}:\n\n{to_markdown(format_cells(table, formats))}\n")


def read_pairs(args: argparse.Namespace) -> list[tuple[Scored, Scored]]:
    """Score and estimate all sites by each detector; see the module."""
    panel, (trained, _, held_out) = panel_rows(), args.held_out.partition("=")
    untrained = [of for of in args.detectors if kin(of[0]) != trained]
    pairs = pairs_of([read_detector(name, args.data, of, panel) for name, of in tqdm(untrained)])
    if not trained:
        return pairs
    known = [of for of in args.detectors if not of[0].endswith(ROOTS)]
    held = [read_detector(name, Path(held_out), of, panel) for name, of in tqdm(known)]
    return pairs + [(a, b) for a, b in pairs_of(held) if trained in (kin(a.name), kin(b.name))]


def read_detector(name: str, data: Path, predictions: Path, panel: pd.DataFrame) -> Scored:
    """Score and estimate all sites by one detector."""
    every = {of.name: of for of in read_sets(data, predictions)}
    if name.endswith(ROOTS):
        every = {of.name: with_roots(of) for of in every.values()}
    labelled = every.pop(LABELLED)
    rows, calibration = calibrated_rows([labelled], prior=WIDE)
    parts = [with_held(site, labelled_rows(site, calibration)) for site in every.values()]
    pairs = pd.concat(parts, ignore_index=True)
    pairs = pairs[common(pairs) & enough(pairs)]
    estimates = []
    for fold in folds(panel):
        own = pairs[pairs["family"].isin(fold)]
        if len(own):
            _, scaling, prior = panel_prior(kin(name), tuple(fold))
            values = evaluated(rows, own, scaling, prior)
            columns = ["family", "n_images", "n_boxes"]
            estimates.append(values.assign(**{c: own[c].to_numpy() for c in columns}))
    return Scored(name, every, rows, calibration, pd.concat(estimates))


def with_roots(of: LabelledSet) -> LabelledSet:
    """Take the square roots of all scores."""
    clean = of.boxes.clean
    return replace(of, boxes=replace(of.boxes, clean=replace(clean, scores=np.sqrt(clean.scores))))


def pairs_of(detectors: Sequence[Scored]) -> list[tuple[Scored, Scored]]:
    """Return every two detectors that are compared; see the module."""
    return [(a, b) for a, b in itertools.combinations(detectors, 2) if compared(a.name, b.name)]


def compared(a: str, b: str) -> bool:
    """Whether two detectors are compared."""
    if ROOTS in a + b:
        return b == a + ROOTS
    return kin(a) == kin(b) or not re.search(EPOCH, f"{a} {b}")


def folds(rows: pd.DataFrame) -> list[list[str]]:
    """Divide the families as `benchmarks/panel.py` does."""
    families = sorted(set(rows["family"]) - {"coco"})
    np.random.default_rng(0).shuffle(families)
    return [families[k::GROUPS] for k in range(GROUPS)]


@cache
def panel_prior(without: str, families: tuple[str, ...]) -> tuple:
    """Fit the prior of single detectors without kin and families."""
    rows = panel_rows()
    return fit_prior(rows[(rows["detector"].map(kin) != without) & ~rows["family"].isin(families)])


def pair_rows(a: Scored, b: Scored) -> pd.DataFrame:
    """Compare two detectors at every site and category that both are evaluated on."""
    key = ["source", "category"]
    columns = [*key, "family", "group", "n_images", "n_boxes", "true", "estimate"]
    both = a.estimates[columns].merge(
        b.estimates[[*key, "true", "estimate"]], on=key, suffixes=("_a", "_b")
    )
    both = both.assign(n_pool=[len(a.sites[name].boxes) for name in both["source"]])
    both = both.assign(a=a.name, b=b.name, carried=carried_over(a.rows, b.rows))
    words = [words_of(category) for category in both["category"]]
    both["log_odds"] = [log_odds_on_labels(a.rows, b.rows, "mAP", of) for of in words]
    differ, agree = {}, {}
    for name in set(both["source"]):
        first, second = calibrated(a, b, name)
        differ[name] = disagreement(first, second)
        agree[name] = agreement(first, second), agreement(second, first)
    found = []
    for site, category in zip(both["source"], both["category"], strict=True):
        k = a.sites[site].truth.categories.index(category)
        expected = expected_at(a, b, site, category)
        moments = influence_moments(a.sites[site], b.sites[site], k, expected.influence)
        mutual = agree[site][0][k] - agree[site][1][k]
        found.append((differ[site][k], mutual, expected.value, expected.n_true, *moments))
    columns = ["disagreement", "agreement", "expected", "n_true", *INFLUENCE]
    both[columns] = np.array(found)
    return both


def expected_at(a: Scored, b: Scored, site: str, category: str) -> ExpectedDifference:
    """Compare what both detectors find at a site."""
    k = a.sites[site].truth.categories.index(category)
    return expected_difference(*(Found.of(of, k) for of in calibrated(a, b, site)))


def without(row: Mapping) -> str:
    """Name the kin and the fold of a row."""
    fold = next(k for k, of in enumerate(folds(panel_rows())) if row["family"] in of)
    return f"{' '.join(sorted({kin(row['a']), kin(row['b'])}))} {fold}"


def unrelated(row: Mapping, to: Mapping) -> bool:
    """Whether a row shares neither kin nor fold of families with another."""
    fold = next(of for of in folds(panel_rows()) if to["family"] in of)
    kinds = {kin(to["a"]), kin(to["b"])}
    return row["family"] not in fold and not kinds & {kin(row["a"]), kin(row["b"])}


@cache
def panel_rows() -> pd.DataFrame:
    """Read the table of the panel of single detectors."""
    return read_panel()[0]


def carried_over(a: pd.DataFrame, b: pd.DataFrame) -> float:
    """Return the difference of the means over the categories of the labelled set."""
    both = a.merge(b, on=["source", "category"])
    return float((both["mAP_x"] - both["mAP_y"]).mean())


def words_of(category: str) -> tuple[str, ...]:
    """Return what a category is called on the labelled set."""
    words = tuple(word for word, name in WORDS.items() if name == category)
    return words or (category,)


def calibrated(a: Scored, b: Scored, name: str) -> tuple[SiteBoxes, ...]:
    """Return the calibrated boxes of both at a site."""
    return tuple(replace(of.sites[name].boxes, calibration=of.calibration) for of in (a, b))


def influence_moments(
    a: LabelledSet, b: LabelledSet, k: int, predicted: np.ndarray
) -> tuple[float, ...]:
    """Return the moments of the predicted and the true influence on a difference."""
    true = true_influence(a.rankings[k]) - true_influence(b.rankings[k])
    centred = true - true.mean()
    noise = np.mean(centred**4) / max(np.mean(centred**2) ** 2, 1e-30) - 1
    cross = float(np.cov(true, predicted)[0, 1])
    return cross, float(predicted.var(ddof=1)), float(true.var(ddof=1)), float(noise / len(true))


def fit(rows: pd.DataFrame) -> PairPrior:
    """Fit the prior of differences by maximum likelihood, each pair of detectors alike.

    Detectors that differ in their scores alone are left out: next to them no other pair counts.
    So are those of `TRAINED`.
    """
    rows = rows[in_fit(rows)]
    terms, level = differences(rows)
    y = (rows["true_a"] - rows["true_b"]).to_numpy()
    u, n, usual = rows["disagreement"].to_numpy(), objects(rows), is_usual(rows)
    every = np.ones(len(y), bool)
    sizes = rows.groupby(["a", "b"])["a"].transform("size").to_numpy()
    weights = len(rows) / sizes / rows.groupby(["a", "b"]).ngroups
    first = np.array(USUAL.slopes)

    def loss(values: np.ndarray, used: slice) -> float:
        slopes, prior = values[:3][used], of_values(values)
        s = contradictions(terms[used])
        scale = prior.errors(level, u, n, s, every, usual) * np.sqrt((DOF - 2) / DOF)
        of_errors = student.logpdf((y - slopes @ terms[used]) / scale, DOF) - np.log(scale)
        pull = np.sum(((slopes - first[used]) / RIDGE) ** 2)
        pull += ((prior.exponent - USUAL.exponent) / 0.25) ** 2
        pull += (np.log(prior.floor / USUAL.floor) / 0.5) ** 2 + np.log(prior.few / USUAL.few) ** 2
        pull += (np.log(prior.rare / USUAL.rare) / 0.3) ** 2
        pull += (np.log(prior.contradiction / USUAL.contradiction) / 0.5) ** 2
        return float(0.5 * pull - weights @ of_errors)

    logs = np.log([USUAL.std, USUAL.floor, USUAL.few, USUAL.rare, USUAL.contradiction])
    start = [*first, USUAL.exponent, *logs]
    bounds = [(0, 1.5)] * 3 + [(0, 2), (-4, 0), (-8, -3), (-2, 8), (-1, 2), (-4, 1)]
    found, alone = (
        minimize(loss, start, (used,), method="L-BFGS-B", bounds=bounds).x
        for used in (slice(0, 3), slice(1, 3))
    )
    scale = of_values(found)
    stds = scale.errors(level, u, n, contradictions(terms), every, usual)
    errors = (y - found[:3] @ terms) / stds
    return replace(
        scale,
        shared=shared_variance(rows, errors),
        slopes=tuple(found[:3].tolist()),
        alone=tuple(alone[1:3].tolist()),
        std_alone=of_values(alone).std,
        **fit_influence(rows, level * (1 - level) * u),
    )


def in_fit(rows: pd.DataFrame) -> pd.Series:
    """Return which pairs are fitted on."""
    trained = rows["a"].map(kin).isin(TRAINED) | rows["b"].map(kin).isin(TRAINED)
    return ~rows["b"].str.endswith(ROOTS) & ~trained


def of_values(values: np.ndarray) -> PairPrior:
    """Return the prior whose exponent and logarithms of other numbers are optimised."""
    names = ("std", "floor", "few", "rare", "contradiction")
    numbers = dict(zip(names, np.exp(values[4:]).tolist(), strict=True))
    return replace(USUAL, exponent=float(values[3]), **numbers)


def described_pairs(rows: pd.DataFrame) -> pd.DataFrame:
    """Add what `PairPrior.predict` takes."""
    return rows.assign(objects=objects(rows), usual=is_usual(rows), trained=of_trained(rows))


def of_trained(rows: pd.DataFrame) -> pd.Series:
    """Return which rows compare a detector of `TRAINED` with one that is not of its kin.

    Its labelled set is like the images that it was trained on.
    """
    first, second = (rows[of].map(kin).isin(TRAINED) for of in "ab")
    return first ^ second


def trained_widening(rows: pd.DataFrame, prior: PairPrior) -> float:
    """Return by how much errors exceed the stated ones without a labelled difference."""
    predicted = replace(prior, trained=1.0).predict(described_pairs(rows))
    return quantile_ratio(rows, predicted)


def is_usual(rows: pd.DataFrame) -> np.ndarray:
    """Return which rows are of persons or vehicles."""
    return (rows["group"] != "other").to_numpy()


def widening(rows: pd.DataFrame, predicted: Sequence[ValueWithError]) -> tuple[float, float]:
    """Return by how much errors on what was left out exceed the stated ones, by kind of category.

    The quantile of the level relative to that of the stated distribution, each pair of detectors
    alike; of a kind with fewer than `FEWEST_ROWS` rows that of all.
    """
    used = in_fit(rows).to_numpy()
    rows, usual = rows[used], is_usual(rows[used])
    kept = [of for of, own in zip(predicted, used, strict=True) if own]

    def factor(chosen: np.ndarray) -> float:
        chosen = chosen if chosen.sum() >= FEWEST_ROWS else np.ones(len(rows), bool)
        return quantile_ratio(rows[chosen], [kept[k] for k in np.flatnonzero(chosen)])

    return factor(usual), factor(~usual)


def quantile_ratio(rows: pd.DataFrame, predicted: Sequence[ValueWithError]) -> float:
    """Return the quantile `LEVEL` of errors relative to the stated one, each two detectors alike.

    It is inside `LIMITS`.
    """
    y = (rows["true_a"] - rows["true_b"]).to_numpy()
    z = np.abs([(t - of.value) / of.error for t, of in zip(y, predicted, strict=True)])
    order = np.argsort(z)
    sizes = rows.groupby(["a", "b"])["a"].transform("size").to_numpy()
    shares = np.cumsum(1 / sizes[order])
    at = np.searchsorted(shares, LEVEL * shares[-1])
    return float(np.clip(z[order][at] / student.ppf((1 + LEVEL) / 2, DOF), *LIMITS))


def widened(
    rows: pd.DataFrame, predicted: Sequence[ValueWithError], wider: tuple[float, float]
) -> list[ValueWithError]:
    """Multiply errors by a factor for each kind of category."""
    factors = np.where(is_usual(rows), *wider)
    return [replace(of, error=of.error * w) for of, w in zip(predicted, factors, strict=True)]


def objects(rows: pd.DataFrame) -> np.ndarray:
    """Return the objects that two detectors are expected to have at a site."""
    return (rows["n_true"] * rows["n_pool"]).to_numpy()


def shared_variance(rows: pd.DataFrame, errors: np.ndarray) -> float:
    """Return the share of the errors' variance that categories of a site have in common."""
    of_site = rows.assign(sum=errors, squares=errors**2, n=1).groupby(["a", "b", "source"])
    totals = of_site[["sum", "squares", "n"]].sum()
    totals = totals[totals["n"] > 1]
    if totals.empty:
        return USUAL.shared
    cross = (totals["sum"] ** 2 - totals["squares"]).sum()
    return float(np.clip(cross / ((totals["n"] - 1) * totals["squares"]).sum(), 0, 1))


def fit_influence(rows: pd.DataFrame, size: np.ndarray) -> dict[str, float]:
    """Fit how the predicted influence on a difference is used, and what variance it leaves."""
    units = size / np.maximum(rows["n_true"], FEWEST_OBJECTS)
    usable = (rows["predicted"] > 0) & (rows["true"] > 0) & (units > 0)
    rows, units = rows[usable], units[usable]

    def left(slope: float) -> pd.Series:
        return rows["true"] - 2 * slope * rows["cross"] + slope**2 * rows["predicted"]

    slope = min(np.linspace(0, 1, 21), key=lambda of: float(np.log(left(of)).mean()))
    prior = fit_variance_prior((left(slope) / units).tolist(), float(rows["noise"].mean()))
    noise = {"per_image": prior.variance, "per_image_dof": prior.dof}
    return {"influence": float(slope), **noise}


def left_out(
    rows: pd.DataFrame, *, widen: bool = True
) -> tuple[pd.DataFrame, list[tuple[ValueWithError, float, PairPrior]]]:
    """Predict every row by a prior that has seen neither detectors nor families of it.

    widen: multiply its error by the `widening` of rows that share neither with it, which were
        predicted in the same way.
    """
    predicted: dict[int, tuple[ValueWithError, float, PairPrior]] = {}
    y = rows["true_a"] - rows["true_b"]
    for _, own in rows.groupby([without(row) for row in rows.to_dict("records")]):
        one = own.iloc[0].to_dict()
        known = rows[[unrelated(row, one) for row in rows.to_dict("records")]]
        prior = fit(known)
        others = known.index[in_fit(known)]
        spread = float(np.sqrt(np.mean((y - rows["carried"])[others] ** 2)))
        prior = replace(prior, trained=1.0)  # found by `widened_by_others`
        asked = described_pairs(own)
        free = zip(own.index, prior.predict(asked), strict=True)
        predicted |= {k: (of, spread, prior) for k, of in free}
    kept = sorted(predicted)
    rows, found = rows.loc[kept], [predicted[k] for k in kept]
    return rows, widened_by_others(rows, found) if widen else found


def widened_by_others(
    rows: pd.DataFrame, found: Sequence[tuple[ValueWithError, float, PairPrior]]
) -> list[tuple[ValueWithError, float, PairPrior]]:
    """Multiply the errors of each detectors and families by the widening that all others need."""
    values = [of for of, _, _ in found]
    trained = of_trained(rows).to_numpy()
    result = list(found)
    records = rows.to_dict("records")
    cells = np.array([without(row) for row in records])
    for cell in dict.fromkeys(cells):
        own = np.flatnonzero(cells == cell)
        others = np.flatnonzero([unrelated(row, records[own[0]]) for row in records])
        wider = widening(rows.iloc[others], [values[k] for k in others])
        if trained[own[0]]:  # of the same detectors at sites of other families
            fold = cell.rpartition(" ")[2]
            others = np.flatnonzero(trained & [not of.endswith(f" {fold}") for of in cells])
            some = widened(rows.iloc[others], [values[k] for k in others], wider)
            more = quantile_ratio(rows.iloc[others], some)
            wider = wider[0] * more, wider[1] * more
        for k, value in zip(
            own, widened(rows.iloc[own], [values[k] for k in own], wider), strict=True
        ):
            _, spread, prior = found[k]
            result[k] = value, spread, replace(prior, wider=wider)
    return result


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
            ValueWithError(row["agreement"], np.nan),
        )


def with_labels(
    rows: pd.DataFrame, predicted: Sequence, pairs: Sequence[tuple[Scored, Scored]]
) -> Iterator[ComparedPair]:
    """Yield the pairs of the large sites with their boxes and labels."""
    by_name = {(a.name, b.name): (a, b) for a, b in pairs}
    every = zip(rows.to_dict("records"), without_labels(rows, predicted), predicted, strict=True)
    for row, one, (_, _, prior) in every:
        if (one.a, one.b) not in by_name:
            continue
        a, b = by_name[one.a, one.b]
        sites = a.sites[one.site], b.sites[one.site]
        if len(sites[0].boxes) >= FEWEST_IMAGES:
            k = sites[0].truth.categories.index(one.category)
            expected = expected_at(a, b, one.site, one.category)
            level = differences(pd.DataFrame([row]))[1][0]
            yield replace(
                one,
                rankings=tuple(of.rankings[k] for of in sites),
                predicted=prior.influence * expected.influence,
                residual=prior.residual(level, row["disagreement"], expected.n_true),
            )


if __name__ == "__main__":
    main()
