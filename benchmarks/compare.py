"""Measure differences between detectors on detectors and sites left out, and make their table.

    python -m benchmarks.compare table DATA NAME=PREDICTIONS ... [--held-out NAME=DATA]
    python -m benchmarks.compare evaluate [--out DIR]
    python -m benchmarks.compare labels DATA NAME=PREDICTIONS ... [--held-out NAME=DATA] [--out DIR]

`table` compares every two detectors at the labelled sites under DATA, each estimated by a prior
that has seen neither the detector nor the site's group (`benchmarks/panel.py`), and writes
``meta_sets/panel/pairs.csv``, on which `autoeval.comparison.train_differences` fits the shipped
prior. `evaluate` fits it for each pair of detectors on pairs of others, without a quarter of the
groups in turn, and prints the errors there without labels; `labels` does so with 5 to 50 labelled
images. Detectors whose names begin alike up to ``_`` are kin: left out together. Of a detector
whose name ends in ``_root`` the square roots of the scores are taken, which changes no average
precision; it is compared with the one without that ending alone, and tabulated by itself. A
detector whose name ends in ``_e`` and a number is a checkpoint before the last, compared with those
of its training run alone. A detector that was trained on part of DATA is compared with all others
on the data root of ``--held-out``, which leaves that part out; its labelled set is there, too.
"""

from __future__ import annotations

import argparse
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

from autoeval.accuracy.measures import RankedDetections, influence_function
from autoeval.comparison.paired_labels import (
    difference_of,
    difference_with_labels,
    relative_disagreement,
)
from autoeval.comparison.train_differences import (
    OF_PANEL,
    PAIRS,
    ROOTS,
    TRAINED,
    TUNED,
    fit,
    fit_home,
    in_fit,
    left_out_with,
    read_rows,
)
from autoeval.comparison.unlabelled_difference import (
    CategoryBoxes,
    ExpectedDifference,
    LabelFree,
    PairPrior,
    agreement,
    disagreement,
    expected_difference,
    known_on_labels,
    pair_features,
    pair_prior,
)
from autoeval.estimation.calibrating import calibrated_rows
from autoeval.estimation.category_scores import labelled_rows
from autoeval.labels.category_estimates import (
    InformativeImages,
    LabelledSample,
    SampleAccuracy,
    difference_estimate,
    measure_sample,
)
from autoeval.labels.values import NOTHING, ValueWithError, VariancePrior
from autoeval.model import Prior
from autoeval.model.calibration import ScoreCalibration
from autoeval.model.train_prior import enough, fit_prior, kin, quarters, read_scores
from autoeval.report.page import format_cells, to_markdown
from autoeval.sites.site import Site
from benchmarks.panel import (
    LABELLED,
    LEVEL,
    MOST_LABELLED,
    PARENT,
    WIDE,
    WORDS,
    add_detectors,
    common,
    evaluated,
    read_sets,
    with_held,
)

SIZES = (0, 5, 10, 20, 50)
SIGNS = (0.01, 0.03, 0.05)
CARRIED = "carried over"
FREE = "label-free"
ALONE = "labels alone"
COMBINED = "combined"
AGREEMENT = "agreement"
Measured = dict[tuple[int, int, int], SampleAccuracy]  # by ranking, labels and draw
EPOCH = r"_e\d+\b"
FEWEST_IMAGES = 60  # of a site with labels drawn
INFLUENCE = ("cross", "predicted", "true", "noise")


@dataclass(frozen=True, eq=False)
class Scored:
    """One detector on all sites."""

    name: str
    sites: Mapping[str, Site]
    rows: pd.DataFrame  # its pairs on the labelled set
    calibration: ScoreCalibration
    estimates: pd.DataFrame  # of each site and category, by a prior that has seen neither


@dataclass(frozen=True, eq=False)
class ComparedPair:
    """Two detectors on one category of one site.

    `truth` is average precision of A less that of B; `free` the label-free difference, `carried`
    that on the labelled set; `agreement` is A's average precision with B's likely boxes as labels,
    less the reverse. `rankings` are of both on the N labelled images, `sizes` (N,) says how
    much they disagree on each, `predicted` (N,) is the influence of each on the difference, and
    `residual` the variance that this leaves, of one image.
    """

    a: str
    b: str
    site: str
    category: str
    truth: float
    free: ValueWithError
    carried: ValueWithError
    agreement: ValueWithError = NOTHING
    rankings: tuple[RankedDetections, ...] = ()
    sizes: np.ndarray | None = None
    predicted: np.ndarray | None = None
    residual: VariancePrior | None = None


def parse_args() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("table", "evaluate", "labels"):
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
    else:
        rows, predicted, priors = predicted_pairs()
        if args.command == "evaluate":
            found = backtest([*without_labels(rows, predicted)], sizes=(0,))
        else:
            labelled = with_labels(rows, predicted, priors, read_pairs(args))
            found = backtest([*tqdm(labelled, "pairs")], draws=args.draws)
        if args.out:
            args.out.mkdir(parents=True, exist_ok=True)
            found.to_csv(args.out / f"compare_{args.command}.csv", index=False)
        print_tables(found)


def print_tables(found: pd.DataFrame) -> None:
    """Print the summary over all pairs, and over those of each kind."""
    groups = pd.read_csv(PAIRS).drop_duplicates(["source", "category"])
    of_pair = groups.set_index(["source", "category"])["category_group"]
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
    trained, _, held_out = args.held_out.partition("=")
    untrained = [of for of in args.detectors if kin(of[0]) != trained]
    pairs = pairs_of([read_detector(name, args.data, of) for name, of in tqdm(untrained)])
    if not trained:
        return pairs
    known = [of for of in args.detectors if not of[0].endswith(ROOTS)]
    held = [read_detector(name, Path(held_out), of) for name, of in tqdm(known)]
    return pairs + [(a, b) for a, b in pairs_of(held) if trained in (kin(a.name), kin(b.name))]


def read_detector(name: str, data: Path, predictions: Path) -> Scored:
    """Score and estimate all sites by one detector."""
    every = {of.name: of for of in read_sets(data, predictions)}
    if name.endswith(ROOTS):
        every = {of.name: with_roots(of) for of in every.values()}
    labelled = every.pop(LABELLED)
    rows, calibration = calibrated_rows([labelled], prior=WIDE)
    scored = [with_held(site, labelled_rows(site, calibration)) for site in every.values()]
    pairs = pd.concat(scored, ignore_index=True)
    pairs = pairs[common(pairs) & enough(pairs)]
    quarter = pairs["group"].map(quarters(panel_rows()))
    parts = [(pairs[quarter == k], panel_prior(kin(name), k)) for k in sorted(set(quarter))]
    return Scored(name, every, rows, calibration, estimates_of(rows, parts))


def estimates_of(known: pd.DataFrame, parts: Iterable[tuple[pd.DataFrame, Prior]]) -> pd.DataFrame:
    """Estimate parts of a table by a fit on known pairs, each with a prior of its own."""
    columns = ["group", "n_images", "n_boxes"]
    estimates = [
        evaluated(known, own, prior).assign(**{name: own[name].to_numpy() for name in columns})
        for own, prior in parts
    ]
    return pd.concat(estimates, ignore_index=True)


def with_roots(of: Site) -> Site:
    """Take the square roots of all scores."""
    return replace(of, boxes=replace(of.boxes, scores=np.sqrt(of.boxes.scores)))


def pairs_of(detectors: Sequence[Scored]) -> list[tuple[Scored, Scored]]:
    """Return every two detectors that are compared; see the module."""
    return [(a, b) for a, b in itertools.combinations(detectors, 2) if compared(a.name, b.name)]


def compared(a: str, b: str) -> bool:
    """Whether two detectors are compared."""
    if ROOTS in a + b:
        return b == a + ROOTS
    return kin(a) == kin(b) or not re.search(EPOCH, f"{a} {b}")


@cache
def panel_prior(without: str, k: int) -> Prior:
    """Fit the prior of single detectors without kin and a quarter of the groups."""
    rows = panel_rows()
    quarter = rows["group"].map(quarters(rows))
    return fit_prior(rows[(rows["detector"].map(kin) != without) & (quarter != k)])


def pair_rows(a: Scored, b: Scored) -> pd.DataFrame:
    """Compare two detectors at every site and category that both are evaluated on."""
    key = ["source", "category"]
    columns = [*key, "group", "category_group", "n_images", "n_boxes", "true", "estimate"]
    both = a.estimates[columns].merge(
        b.estimates[[*key, "true", "estimate"]], on=key, suffixes=("_a", "_b")
    )
    both = both.assign(n_pool=[len(a.sites[name]) for name in both["source"]])
    both = both.assign(a=a.name, b=b.name, carried=carried_over(a.rows, b.rows))
    words = [words_of(category) for category in both["category"]]
    both["log_odds"] = known_on_labels(a.rows, b.rows, "mAP", words)[1]
    differ, agree = {}, {}
    for name in set(both["source"]):
        first, second = calibrated(a, b, name)
        differ[name] = disagreement(first, second)
        agree[name] = agreement(first, second), agreement(second, first)
    found = []
    for site, category in zip(both["source"], both["category"], strict=True):
        k = a.sites[site].boxes.categories.index(category)
        expected = expected_at(a, b, site, category)
        moments = influence_moments(a.sites[site], b.sites[site], k, expected.influence)
        mutual = agree[site][0][k] - agree[site][1][k]
        found.append((differ[site][k], mutual, expected.value, expected.n_true, *moments))
    columns = ["disagreement", "agreement", "expected", "n_true", *INFLUENCE]
    both[columns] = np.array(found)
    return both


def expected_at(a: Scored, b: Scored, site: str, category: str) -> ExpectedDifference:
    """Compare what both detectors find at a site."""
    k = a.sites[site].boxes.categories.index(category)
    of_a, of_b = calibrated(a, b, site)
    return expected_difference(CategoryBoxes.of(of_a, k), CategoryBoxes.of(of_b, k))


@cache
def panel_rows() -> pd.DataFrame:
    """Read the table of the panel of single detectors."""
    return read_scores()


def carried_over(a: pd.DataFrame, b: pd.DataFrame) -> float:
    """Return the difference of the means over the categories of the labelled set."""
    both = a.merge(b, on=["source", "category"])
    return float((both["mAP_x"] - both["mAP_y"]).mean())


def words_of(category: str) -> tuple[str, ...]:
    """Return what a category is called on the labelled set."""
    words = tuple(word for word, name in WORDS.items() if name == category)
    return words or (category,)


def calibrated(a: Scored, b: Scored, name: str) -> tuple[Site, Site]:
    """Return the calibrated boxes of both at a site."""
    return (
        replace(a.sites[name], calibration=a.calibration),
        replace(b.sites[name], calibration=b.calibration),
    )


def influence_moments(a: Site, b: Site, k: int, predicted: np.ndarray) -> tuple[float, ...]:
    """Return the moments of the predicted and the true influence on a difference."""
    of_a = influence_function(a.evaluation.rankings[k]).mean(axis=0)
    of_b = influence_function(b.evaluation.rankings[k]).mean(axis=0)
    true = of_a - of_b
    centred = true - true.mean()
    noise = np.mean(centred**4) / max(np.mean(centred**2) ** 2, 1e-30) - 1
    cross = float(np.cov(true, predicted)[0, 1])
    return cross, float(predicted.var(ddof=1)), float(true.var(ddof=1)), float(noise / len(true))


def left_out(
    rows: pd.DataFrame, requested: pd.Series | None = None
) -> tuple[list[ValueWithError], list[PairPrior]]:
    """Predict rows by priors without both detectors, their kin, and a quarter of the groups.

    Without the parent of detectors that were trained on one site, too.

    requested (N,): which of the rows, bool; by default all.
    """
    known = rows[in_fit(rows)]
    rows = rows if requested is None else rows[requested].reset_index(drop=True)
    start = fit(known)
    values: dict[int, ValueWithError] = {}
    priors: dict[int, PairPrior] = {}
    for at, others in cells(rows, known):
        at_home = pair_features(rows.iloc[at]).one_at_home
        prior = fit(others, start=start, common_only=not at_home.any())
        values |= dict(zip(at, prior.predict(rows.iloc[at]), strict=True))
        priors |= dict.fromkeys(at, prior)
    return [values[k] for k in range(len(rows))], [priors[k] for k in range(len(rows))]


def at_home_left_out(rows: pd.DataFrame) -> list[ValueWithError]:
    """Predict pairs of which one is at home by priors without both, as `left_out` does.

    Only what is particular to such pairs is fitted; all else is the shipped prior.
    """
    shipped = pair_prior()
    found: dict[int, ValueWithError] = {}
    for at, others in cells(rows, rows[in_fit(rows)]):
        prior = replace(shipped, home=fit_home(others, shipped.common))
        found |= dict(zip(at, prior.predict(rows.iloc[at]), strict=True))
    return [found[k] for k in range(len(rows))]


def cells(rows: pd.DataFrame, known: pd.DataFrame) -> Iterator[tuple[list[int], pd.DataFrame]]:
    """Yield the places of rows of one pair and quarter, and the known rows that are apart of them.

    Without both detectors, their kin and, of one that was trained on one site, its parent; and
    without the quarter of groups.
    """
    names = [
        sorted({left_out_with(a), left_out_with(b)})
        for a, b in zip(rows["a"], rows["b"], strict=True)
    ]
    keys = [f"{' '.join(pair)} {fold}" for pair, fold in zip(names, rows["fold"], strict=True)]
    for _, places in tqdm(pd.Series(np.arange(len(rows))).groupby(keys), "cells"):
        at = places.tolist()
        without = set(names[at[0]])
        if any(name.startswith(TUNED) for name in without):
            without.add(PARENT)
        related = known[["a", "b"]].map(left_out_with).isin(without).any(axis=1)
        yield at, known[~related & (known["fold"] != rows["fold"].iloc[at[0]])]


def predicted_pairs() -> tuple[pd.DataFrame, list[ValueWithError], list[PairPrior]]:
    """Predict the rows of `PAIRS` by priors that have seen neither; see the module."""
    rows = read_rows()
    of_panel = rows["labelled"] == OF_PANEL
    return rows[of_panel], *left_out(rows, of_panel)


def carried_errors(rows: pd.DataFrame) -> pd.Series:
    """Return the spread of the errors of the difference carried over, in other rows than each.

    In the fit, of other detectors and groups.
    """
    squares = (rows["true_a"] - rows["true_b"] - rows["carried"]) ** 2
    names = [" ".join(sorted({kin(a), kin(b)})) for a, b in zip(rows["a"], rows["b"], strict=True)]
    cells = pd.Series(names, rows.index) + " " + rows["fold"].astype(str)
    spread = {}
    for cell, own in rows.groupby(cells):
        without = set(str(cell).split()[:-1])
        related = rows[["a", "b"]].map(kin).isin(without).any(axis=1)
        others = in_fit(rows) & ~related & (rows["fold"] != own["fold"].iloc[0])
        spread[cell] = float(np.sqrt(squares[others].mean()))
    return cells.map(spread)


def without_labels(
    rows: pd.DataFrame, predicted: Sequence[ValueWithError]
) -> Iterator[ComparedPair]:
    """Yield every pair without its boxes."""
    spreads = carried_errors(rows)
    for (_, row), free, spread in zip(rows.iterrows(), predicted, spreads, strict=True):
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
    rows: pd.DataFrame,
    predicted: Sequence[ValueWithError],
    priors: Sequence[PairPrior],
    pairs: Sequence[tuple[Scored, Scored]],
) -> Iterator[ComparedPair]:
    """Yield the pairs of the large sites with their boxes and labels."""
    by_name = {(a.name, b.name): (a, b) for a, b in pairs}
    records = rows.to_dict("records")
    for row, one, prior in zip(records, without_labels(rows, predicted), priors, strict=True):
        if (one.a, one.b) in by_name:
            found = labelled_pair(row, one, prior, *by_name[one.a, one.b])
            if found is not None:
                yield found


def labelled_pair(
    row: Mapping, one: ComparedPair, prior: PairPrior, a: Scored, b: Scored
) -> ComparedPair | None:
    """Add boxes and labels to a pair at a site; None at a small one."""
    sites = a.sites[one.site], b.sites[one.site]
    if len(sites[0]) < FEWEST_IMAGES:
        return None
    k = sites[0].boxes.categories.index(one.category)
    expected = expected_at(a, b, one.site, one.category)
    level = pair_features(pd.DataFrame([row])).level[0]
    residual = prior.residual(level, row["disagreement"], expected.n_true, usual=bool(row["usual"]))
    free = LabelFree([one.free], one.free, one.carried.value, [expected], [residual])
    return replace(
        one,
        rankings=tuple(of.evaluation.rankings[k] for of in sites),
        sizes=relative_disagreement(*calibrated(a, b, one.site))[k],
        predicted=prior.influence * expected.influence,
        residual=free.residual([0]),
    )


def backtest(
    pairs: Sequence[ComparedPair], *, sizes: Sequence[int] = SIZES, draws: int = 40, seed: int = 0
) -> pd.DataFrame:
    """Estimate every difference with k labelled images, drawn repeatedly.

    ``p`` is the probability that A is better, ``covered`` by the 90 % interval; NaN without one.
    """
    rows: list[dict] = []
    measured: Measured = {}
    for one in pairs:
        for k in sizes:
            if k == 0:
                estimates = [{CARRIED: one.carried, AGREEMENT: one.agreement, FREE: one.free}]
            elif not one.rankings or k > MOST_LABELLED * len(one.rankings[0].n_true):
                continue
            else:
                estimates = [_draw(one, k, seed + d, measured) for d in range(draws)]
            for draw in estimates:
                rows += _evaluated(one, k, draw)
    return pd.DataFrame(rows)


def summary(evaluated: pd.DataFrame) -> pd.DataFrame:
    """Average over pairs and draws, in points of 100 and percent; one row a k and method."""
    rows = []
    for (k, method), group in evaluated.groupby(["k", "method"], sort=False):
        truth = group["truth"]
        right = np.sign(group["value"]) == np.sign(truth)
        n_pairs = group.groupby(["a", "b", "site", "category"]).ngroups
        row = {"labels": k, "method": method, "pairs": n_pairs}
        row["MAE"] = 100 * group["error"].mean()
        for least in SIGNS:
            row[f"sign right over {100 * least:.0f}"] = 100 * right[truth.abs() > least].mean()
        row["Brier"] = ((group["p"] - (truth > 0)) ** 2).mean()
        row["coverage"] = 100 * group["covered"].mean()
        row["half-width"] = 100 * group["half_width"].mean()
        rows.append(row)
    return pd.DataFrame(rows).sort_values("labels", kind="stable", ignore_index=True)


def _draw(one: ComparedPair, k: int, seed: int, measured: Measured) -> dict[str, ValueWithError]:
    """Estimate from a simple random sample, the same for all pairs of a site."""
    assert one.predicted is not None and one.residual is not None and one.sizes is not None
    n_pool = len(one.rankings[0].n_true)
    images = np.sort(np.random.default_rng([seed, k]).choice(n_pool, k, replace=False))
    sample = LabelledSample(images, n_pool)
    for ranking in one.rankings:
        if (id(ranking), k, seed) not in measured:
            measured[id(ranking), k, seed] = measure_sample(ranking.take(images), sample)
    both = (measured[id(ranking), k, seed] for ranking in one.rankings)
    accuracy = difference_of(*both)
    informative = InformativeImages.of(one.sizes, sample, np.full(n_pool, k / n_pool))
    of_pair = one.free, one.predicted, one.residual, informative
    difference = difference_with_labels(accuracy, sample, *of_pair)
    alone = NOTHING
    if accuracy.measured:
        alone = difference_estimate(accuracy.value, accuracy.influence, sample=sample)
    return {ALONE: alone, COMBINED: difference.combined}


def _evaluated(one: ComparedPair, k: int, estimates: dict[str, ValueWithError]) -> Iterator[dict]:
    for method, estimate in estimates.items():
        if not np.isfinite(estimate.value):
            continue
        half = estimate.half_width(LEVEL)
        error = abs(estimate.value - one.truth)
        yield {
            "a": one.a,
            "b": one.b,
            "site": one.site,
            "category": one.category,
            "k": k,
            "method": method,
            "truth": one.truth,
            "value": estimate.value,
            "error": error,
            "p": estimate.probability_positive,
            "covered": float(error <= half) if estimate.known else np.nan,
            "half_width": half,
        }


if __name__ == "__main__":
    main()
