"""Measure what a reference detector adds, on detectors and references that are left out.

    python -m benchmarks.reference table DATA NAME=PREDICTIONS ...
    python -m benchmarks.reference accuracy [--out FILE]
    python -m benchmarks.reference precision [--out FILE]

`table` takes every pair of a student and a reference among the detectors on the sets of
`benchmarks/panel.py`, each calibrated on the same labelled set, and writes
``meta_sets/panel/references.csv``, on which `autoeval.model.train_reference_prior` chooses,
and ``reference_points.csv``, the precision of students by the boxes of references. `accuracy`
estimates each student with each reference, without a quarter of the groups in turn: by a prior of
the scores of boxes that was fitted without both and their kin, and by a weight and a spread that
were chosen on pairs of other students with other references. `precision` does so for the precision
at a threshold, with the shipped weight and spread: whether a kind of category reads the reference
is chosen on other students, references and groups, where the error is less than without it, and
than that of a constant.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

from autoeval.estimation.calibrating import cross_fitted, fit_calibration
from autoeval.estimation.category_scores import CategoryScores, labelled_rows
from autoeval.model import Prior
from autoeval.model.calibration import ScoreCalibration
from autoeval.model.pair_table import (
    BY_REFERENCE,
    CATEGORY,
    FEATURES,
    REFERENCE_AP,
    REFERENCE_COUNTS,
    REFERENCE_FEATURES,
    REFERENCE_TRUE,
    Table,
)
from autoeval.model.priors import REFERENCE_PRIOR, ReferencePrior, ReferenceStrength, shipped
from autoeval.model.regression import Regression
from autoeval.model.train_prior import (
    COMMON,
    TABLES,
    enough,
    operating_point_prior,
    quarters,
    read_operating_points,
)
from autoeval.model.train_reference_prior import PAIR, TABLE, chosen, estimated, maker
from autoeval.report.page import to_markdown
from autoeval.sites.site import Site
from benchmarks.panel import ACCURACIES, LABELLED, WIDE, add_detectors, ends, evaluable, read_sets
from benchmarks.panel import COLUMNS as OF_PAIRS

POINTS = TABLES / "reference_points.csv"
TARGETS = ("precision@0.3", "precision@0.5")
READ = tuple(f"{BY_REFERENCE}{target}" for target in TARGETS)
SITE = ["source", "category"]
COLUMNS = [*PAIR, *OF_PAIRS[1:], *FEATURES, *REFERENCE_FEATURES, REFERENCE_TRUE, *ACCURACIES]


def main() -> None:
    """Make the tables, or measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    add_detectors(commands.add_parser("table"))
    for name in ("accuracy", "precision"):
        commands.add_parser(name).add_argument("--out", type=Path, help="CSV of every estimate")
    args = parser.parse_args()
    if args.command == "table":
        write_tables({n: CalibratedDetector.read(args.data, of) for n, of in args.detectors})
        return
    if args.command == "accuracy":
        rows = pd.read_csv(TABLE)
        estimates = left_out(pd.concat(estimated(rows), ignore_index=True))
        tables = [summary(estimates), of_two(estimates, rows)]
    else:
        estimates = with_choice(pd.concat(left_out_precisions(), ignore_index=True))
        persons = estimates[estimates["category_group"] == "person"]
        tables = [
            precision_summary(estimates, ["target", "category_group"]),
            precision_summary(persons, ["target", *PAIR]),
        ]
    if args.out:
        estimates.to_csv(args.out, index=False)
    for table in tables:
        print(to_markdown(table.round(1).reset_index()) + "\n")


@dataclass(frozen=True, eq=False)
class CalibratedDetector:
    """A detector on the labelled sets, by name, calibrated on the one with many categories.

    probabilities (10, N) of its boxes on each, by calibrations that have not seen the labels there.
    """

    sets: dict[str, Site]
    calibration: ScoreCalibration
    probabilities: dict[str, np.ndarray]

    @classmethod
    def read(cls, data: Path, predictions: Path) -> CalibratedDetector:
        """Read and calibrate it; see `read_sets`."""
        sets = {of.name: of for of in read_sets(data, predictions)}
        own = [sets[LABELLED]]
        calibration = fit_calibration(own, [np.ones(len(own[0]), bool)], WIDE)
        p = {k: calibration.probabilities(of.boxes.scores) for k, of in sets.items()}
        return cls(sets, calibration, {**p, LABELLED: cross_fitted(own, WIDE)[0]})

    def rows_with(self, reference: CalibratedDetector) -> pd.DataFrame:
        """Score every set that both have."""
        parts = []
        for name, of in self.sets.items():
            if name not in reference.sets:
                continue
            both = replace(
                of,
                reference=reference.sets[name].boxes,
                reference_calibration=reference.calibration,
                reference_probabilities=reference.probabilities[name][0],
            )
            p = self.probabilities[name] if name == LABELLED else None
            parts.append(evaluable(both, labelled_rows(both, self.calibration, probabilities=p)))
        return pd.concat(parts, ignore_index=True)


def write_tables(detectors: dict[str, CalibratedDetector]) -> None:
    """Write the tables of every student with every reference."""
    pairs = [(student, other) for student in detectors for other in detectors if other != student]
    rows = [
        detectors[student].rows_with(detectors[other]).assign(student=student, reference=other)
        for student, other in tqdm(pairs, "average precision")
    ]
    pd.concat(rows)[COLUMNS].to_csv(TABLE, index=False, float_format="%.5f")
    precisions = [points(detectors, *pair) for pair in tqdm(pairs, "precision")]
    pd.concat(precisions, ignore_index=True).to_csv(POINTS, index=False, float_format="%.4f")


def points(known: dict[str, CalibratedDetector], student: str, reference: str) -> pd.DataFrame:
    """Return the precision of a student by the boxes of a reference, of every pair."""
    own, other, rows = known[student], known[reference], []
    for name in (of for of in own.sets if of in other.sets):
        site = replace(
            own.sets[name],
            calibration=own.calibration,
            reference=other.sets[name].boxes,
            reference_calibration=other.calibration,
            reference_probabilities=other.probabilities[name][0],
        )
        for k in np.flatnonzero(own.sets[name].evaluation.enough).tolist():
            row = CategoryScores(site, k, READ, probabilities=own.probabilities[name]).row
            rows.append({"source": name, **{of: row[of] for of in ("category", *READ)}})
    return pd.DataFrame(rows).assign(student=student, reference=reference)


def left_out(cells: pd.DataFrame) -> pd.DataFrame:
    """Return each estimate by what other students, references and groups chose, and without."""
    student, reference = cells["student"].map(maker), cells["reference"].map(maker)
    parts = []
    for (one, other, fold), own in cells.groupby([*PAIR, "fold"]):
        apart = (student != maker(one)) & (reference != maker(other)) & (cells["fold"] != fold)
        of = chosen(cells[apart])
        mine = (own["start"] == of.start) & (own["full"] == of.full)
        with_it = own[mine & (own["narrower"] == of.narrower)].reset_index(drop=True)
        without = own[own["start"].isna()].reset_index(drop=True)
        plain = without[["estimate", "lower", "upper"]].add_suffix("_without")
        parts.append(with_it.join(plain))
    return pd.concat(parts, ignore_index=True)


def summary(estimates: pd.DataFrame) -> pd.DataFrame:
    """Tabulate both, in points, for references that are stronger, and the oracle bound.

    `oracle`: MAE of a line through agreement and the reference's true accuracy at the sites,
    fitted on them, leaving out none.
    """
    rows = in_points(estimates[estimates["stronger"]])
    rows["kind"] = np.where(rows["category_group"] == "other", "other", "vehicles, persons")
    columns = ["mae_without", "mae", "half_width_without", "half_width"]
    by = rows.groupby(["kind", *PAIR])
    table = by[[*columns, "coverage_without", "coverage"]].mean()
    return table.assign(oracle=by.apply(oracle, include_groups=False), n=by.size())


def in_points(estimates: pd.DataFrame) -> pd.DataFrame:
    """Add errors, coverage and half-widths of the estimates with the reference and without it."""
    rows = estimates.copy()
    for name in ("", "_without"):
        rows[f"mae{name}"] = 100 * (rows[f"estimate{name}"] - rows["true"]).abs()
        inside = rows["true"].between(rows[f"lower{name}"], rows[f"upper{name}"])
        rows[f"coverage{name}"] = 100.0 * inside
        rows[f"half_width{name}"] = 50 * (rows[f"upper{name}"] - rows[f"lower{name}"])
    return rows


def of_two(estimates: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Tabulate the MAE where there are two references that are stronger, in points.

    By the one that is stronger on the labelled set, by the other, and by the mean of both
    estimates; means over pairs of references, then over students.
    """
    labelled = table[table["kind"] == CATEGORY]
    names = ["mAP", REFERENCE_TRUE, REFERENCE_FEATURES[0]]
    strength = labelled.dropna(subset=names).groupby(PAIR)[REFERENCE_TRUE].mean()
    rows = estimates[estimates["stronger"]]
    kind = np.where(rows["category_group"] == "other", "other", "vehicles, persons")
    by = ["source", "category"]
    parts = []
    for (of_kind, student), own in rows.groupby([kind, "student"]):
        references = sorted(set(own["reference"]), key=lambda of: -strength[student, of])
        for first, second in itertools.combinations(references, 2):
            one = own[own["reference"] == first].set_index(by)
            other = own[own["reference"] == second].set_index(by)
            one, other = one.align(other, join="inner", axis=0)
            found = {
                "without": (one["estimate_without"] + other["estimate_without"]) / 2,
                "stronger": one["estimate"],
                "weaker": other["estimate"],
                "mean": (one["estimate"] + other["estimate"]) / 2,
            }
            errors = {name: 100 * (of - one["true"]).abs().mean() for name, of in found.items()}
            parts.append({"kind": of_kind, "student": student, **errors, "pairs": 1})
    means = pd.DataFrame(parts).groupby(["kind", "student"])
    columns = ["without", "weaker", "mean", "stronger"]
    return means[columns].mean().join(means["pairs"].sum())


def oracle(rows: pd.DataFrame) -> float:
    """Return the MAE of the best line on agreement and the reference's accuracy, in points."""
    known = rows[["agreement", "reference_true", "true", "estimate_without"]].dropna()
    x = np.column_stack([np.ones(len(known)), known.drop(columns="true")])
    line = np.linalg.lstsq(x, known["true"].to_numpy(), rcond=None)[0]
    return float(100 * np.abs(x @ line - known["true"]).mean())


class EveryCategory(Regression):
    """The default, but reading the reference of every category."""

    def reads_reference(self, rows: Table) -> np.ndarray:
        """Return of which pairs the reference has a box."""
        if self.prior_of_boxes_ is None:
            return np.zeros(len(rows["category"]), bool)
        return np.isfinite(rows[self.features_[-1]])


def left_out_precisions() -> Iterator[pd.DataFrame]:
    """Yield the estimates of each student with each reference that has a weight, by quarter."""
    panel = read_operating_points()
    references, agreed = pd.read_csv(TABLE), pd.read_csv(POINTS)
    ap = references[[*PAIR, *SITE, "mAP", REFERENCE_AP, REFERENCE_TRUE]]
    rows = panel.rename(columns={"detector": "student"}).merge(ap, on=["student", *SITE])
    rows = rows.merge(agreed, on=[*PAIR, *SITE]).assign(**{REFERENCE_COUNTS: None})
    priors: dict[tuple, Prior] = {}
    of_groups = quarters(panel)
    for (student, reference), own in tqdm([*rows.groupby(PAIR)], "pairs", disable=None):
        labelled, left = own[own["kind"] == CATEGORY], frozenset(map(maker, (student, reference)))
        strength = ReferenceStrength.of(labelled)
        if not ReferencePrior(**shipped(REFERENCE_PRIOR)).weight(strength):
            continue
        sites = own[(own["kind"] != CATEGORY) & enough(own)]
        for fold in sorted(set(of_groups.values())):
            held = sites[sites["group"].map(of_groups) == fold]
            if (left, fold) not in priors:
                seen = ~panel["detector"].map(maker).isin(left)
                seen &= panel["group"].map(of_groups) != fold
                priors[left, fold] = operating_point_prior("precision", panel[seen])
            for target in TARGETS:
                new = held.dropna(subset=[target])
                if len(new):
                    found = with_and_without(
                        labelled.dropna(subset=[target]), new, target, priors[left, fold]
                    )
                    yield found.assign(student=student, reference=reference, fold=fold)


def with_and_without(
    labelled: pd.DataFrame, new: pd.DataFrame, target: str, prior: Prior
) -> pd.DataFrame:
    """Estimate pairs without and with the reference, each as a site of its own."""
    plain = labelled.drop(columns=REFERENCE_COUNTS)
    without = Regression(target=target, prior=prior).fit(plain)
    with_it = EveryCategory(target=target, prior=prior).fit(labelled)
    common = new["category"].isin(COMMON)
    columns = {
        "target": target,
        "category_group": np.where(common, new["category"], "other"),
        "source": new["source"].to_numpy(),
        "true": new[target].to_numpy(),
    }
    for name, fitted in {"_without": without, "": with_it}.items():
        columns |= {f"{k}{name}": values for k, values in ends(fitted.predict(new)).items()}
    return pd.DataFrame(columns)


def with_choice(estimates: pd.DataFrame) -> pd.DataFrame:
    """Add whether each kind of category reads the reference, by the other estimates."""
    group = estimates.groupby(["target", "category_group", *PAIR])["true"]
    rows = estimates.assign(constant=group.transform("mean"))
    for name in ("constant", "estimate", "estimate_without"):
        rows[f"error_{name}"] = (rows[name] - rows["true"]).abs()
    student, reference = rows["student"].map(maker), rows["reference"].map(maker)
    parts = []
    for (one, other, fold, kind), own in rows.groupby([*PAIR, "fold", "category_group"]):
        apart = (student != maker(one)) & (reference != maker(other)) & (rows["fold"] != fold)
        seen = rows[apart & (rows["category_group"] == kind)]
        least = min(seen["error_constant"].mean(), seen["error_estimate_without"].mean())
        reads = bool(seen["error_estimate"].mean() < least)
        parts.append(own.assign(reads=100.0 * reads))
    return pd.concat(parts, ignore_index=True)


def precision_summary(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Tabulate errors, coverage and half-widths, in points; `reads`: how often it was chosen."""
    rows = in_points(rows).assign(constant=100 * rows["error_constant"], n=1)
    columns = ["constant", "mae_without", "mae", "half_width_without", "half_width"]
    table = rows.groupby(by)[[*columns, "coverage_without", "coverage", "reads"]].mean()
    return table.join(rows.groupby(by)["n"].sum())


if __name__ == "__main__":
    main()
