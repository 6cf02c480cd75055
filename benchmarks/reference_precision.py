"""Precision at a threshold with a reference detector, on students and references left out.

    python -m benchmarks.reference_precision table DATA NAME=PREDICTIONS ...
    python -m benchmarks.reference_precision evaluate [--out FILE]

`table` takes the precision of every student by the boxes of every reference on the sets of
`benchmarks/panel.py`, each calibrated on the same labelled set, and writes
``meta_sets/panel/reference_points.csv``. `evaluate` estimates the students of
``operating_points.csv`` with references that are stronger, by a prior that has seen neither their
kin nor a quarter of the groups; weight and spread are those of average precision. Whether a kind of
category reads the reference is chosen on other students, references and groups: where the MAE is
less than without, and than that of a constant.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from autoeval.estimation.category_scores import CategoryScores
from autoeval.model import Prior, Scaling
from autoeval.model.pair_table import CATEGORY, REFERENCE_COUNTS, REFERENCE_TRUE
from autoeval.model.reference_features import BY_REFERENCE, REFERENCE_AP
from autoeval.model.reference_prior import ReferenceStrength, shipped_reference_prior
from autoeval.model.regression import Regression
from autoeval.report.tables import to_markdown
from benchmarks.operating_point import TABLE, prior_of
from benchmarks.panel import FOLDER, add_detectors, enough, quarters
from benchmarks.reference_panel import FILE as REFERENCES
from benchmarks.reference_panel import PAIR, CalibratedDetector, kin

POINTS = FOLDER / "reference_points.csv"
TARGETS = ("precision@0.3", "precision@0.5")
READ = tuple(f"{BY_REFERENCE}{target}" for target in TARGETS)
SITE = ["source", "category"]


class EveryCategory(Regression):
    """The default, but reading the reference of every category."""

    def reads_reference(self, rows: pd.DataFrame) -> np.ndarray:
        """Return of which pairs the reference has a box."""
        if self.reference_ is None:
            return np.zeros(len(rows), bool)
        return np.isfinite(rows[self.features_[-1]].to_numpy(np.float64))


def parse_args() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    add_detectors(commands.add_parser("table"))
    commands.add_parser("evaluate").add_argument("--out", type=Path, help="CSV of every estimate")
    return parser.parse_args()


def main() -> None:
    """Run one of the steps."""
    args = parse_args()
    if args.command == "table":
        known = {name: CalibratedDetector.read(args.data, of) for name, of in args.detectors}
        pairs = [(a, b) for a in known for b in known if a != b]
        table = pd.concat([points(known, *of) for of in tqdm(pairs)], ignore_index=True)
        table.to_csv(POINTS, index=False, float_format="%.4f")
        return
    estimates = chosen(pd.concat(nested(), ignore_index=True))
    if args.out:
        estimates.to_csv(args.out, index=False)
    of_persons = estimates[estimates["category_group"] == "person"]
    for rows, by in ((estimates, ["category_group"]), (of_persons, PAIR)):
        print(to_markdown(summary(rows, ["target", *by]).round(1).reset_index()) + "\n")


def points(known: dict[str, CalibratedDetector], student: str, reference: str) -> pd.DataFrame:
    """Return the precision of a student by the boxes of a reference, of every pair."""
    own, other, rows = known[student], known[reference], []
    for name in (of for of in own.sets if of in other.sets):
        boxes = replace(
            own.sets[name].boxes,
            calibration=own.calibration,
            reference=other.sets[name].boxes.clean,
            reference_calibration=other.calibration,
            reference_probabilities=other.probabilities[name][0],
        )
        for k in np.flatnonzero(own.sets[name].enough).tolist():
            images = boxes.images_with(k, own.probabilities[name][0])
            row = CategoryScores(boxes, k, images, READ).row()
            rows.append({"source": name, **{of: row[of] for of in ("category", *READ)}})
    return pd.DataFrame(rows).assign(student=student, reference=reference)


def nested() -> Iterator[pd.DataFrame]:
    """Yield the estimates of each student with each reference that has a weight, by quarter."""
    panel, references, agreed = (pd.read_csv(of) for of in (TABLE, REFERENCES, POINTS))
    ap = references[[*PAIR, *SITE, "mAP", REFERENCE_AP, REFERENCE_TRUE]]
    rows = panel.rename(columns={"detector": "student"}).merge(ap, on=["student", *SITE])
    rows = rows.merge(agreed, on=[*PAIR, *SITE]).assign(**{REFERENCE_COUNTS: None})
    priors: dict[tuple, tuple[Scaling, Prior]] = {}
    of_groups = quarters(panel)
    for (student, reference), own in tqdm([*rows.groupby(PAIR)], "pairs", disable=None):
        labelled, left = own[own["kind"] == CATEGORY], frozenset(map(kin, (student, reference)))
        strength = ReferenceStrength.of(labelled)
        if not shipped_reference_prior().weight(strength):
            continue
        sites = own[(own["kind"] != CATEGORY) & enough(own)]
        for fold in sorted(set(of_groups.values())):
            held = sites[sites["group"].map(of_groups) == fold]
            if (left, fold) not in priors:
                seen = ~panel["detector"].map(kin).isin(left)
                seen &= panel["group"].map(of_groups) != fold
                priors[left, fold] = prior_of("precision", panel[seen])[1:]
            for target in TARGETS:
                new = held.dropna(subset=[target])
                if len(new):
                    found = estimated(
                        labelled.dropna(subset=[target]), new, target, *priors[left, fold]
                    )
                    yield found.assign(student=student, reference=reference, fold=fold)


def estimated(
    labelled: pd.DataFrame, new: pd.DataFrame, target: str, scaling: Scaling, prior: Prior
) -> pd.DataFrame:
    """Estimate pairs without and with the reference, each as a site of its own."""
    options: dict[str, Any] = {"target": target, "scaling": scaling, "prior": prior}
    plain = labelled.drop(columns=REFERENCE_COUNTS)
    common = new["category"].isin(["person", "vehicle"])
    columns = {
        "target": target,
        "category_group": np.where(common, new["category"], "other"),
        "source": new["source"].to_numpy(),
        "true": new[target].to_numpy(),
    }
    fits = {"_without": Regression(**options).fit(plain), "": EveryCategory(**options)}
    fits[""].fit(labelled)
    for name, fitted in fits.items():
        found = fitted.predict(new)
        ends = {"estimate": "value", "lower": "lower", "upper": "upper"}
        columns |= {f"{k}{name}": [getattr(of, v) for of in found] for k, v in ends.items()}
    return pd.DataFrame(columns)


def chosen(estimates: pd.DataFrame) -> pd.DataFrame:
    """Add whether each kind of category reads the reference, by the other estimates."""
    group = estimates.groupby(["target", "category_group", *PAIR])["true"]
    rows = estimates.assign(constant=group.transform("mean"))
    for name in ("constant", "estimate", "estimate_without"):
        rows[f"error_{name}"] = (rows[name] - rows["true"]).abs()
    student, reference = rows["student"].map(kin), rows["reference"].map(kin)
    parts = []
    for (one, other, fold, kind), own in rows.groupby([*PAIR, "fold", "category_group"]):
        apart = (student != kin(one)) & (reference != kin(other)) & (rows["fold"] != fold)
        seen = rows[apart & (rows["category_group"] == kind)]
        error = {name: seen[f"error_{name}"].mean() for name in ("constant", "estimate_without")}
        reads = bool(seen["error_estimate"].mean() < min(error.values()))
        parts.append(own.assign(reads=100.0 * reads))
    return pd.concat(parts, ignore_index=True)


def summary(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Tabulate errors, coverage and half-widths, in points; `reads`: how often it was chosen."""
    rows = rows.assign(
        constant=100 * rows["error_constant"],
        mae_without=100 * rows["error_estimate_without"],
        mae=100 * rows["error_estimate"],
        n=1,
    )
    for name in ("_without", ""):
        rows[f"half_width{name}"] = 50 * (rows[f"upper{name}"] - rows[f"lower{name}"])
        inside = rows["true"].between(rows[f"lower{name}"], rows[f"upper{name}"])
        rows[f"coverage{name}"] = 100.0 * inside
    columns = ["constant", "mae_without", "mae", "half_width_without", "half_width"]
    table = rows.groupby(by)[[*columns, "coverage_without", "coverage", "reads"]].mean()
    return table.join(rows.groupby(by)["n"].sum())


if __name__ == "__main__":
    main()
