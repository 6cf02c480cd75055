"""Measure what a reference detector adds to the default, on students and references left out.

    python -m benchmarks.reference_panel table DATA NAME=PREDICTIONS ...
    python -m benchmarks.reference_panel prior
    python -m benchmarks.reference_panel evaluate [--out FILE]

`table` scores every pair of a student and a reference among the detectors on the sets of
`benchmarks/panel.py`, each calibrated on the same labelled set, and writes
``meta_sets/panel/references.csv``. `prior` chooses ``configs/reference_prior.json`` on them.
`evaluate` estimates each student with each reference, without a quarter of the groups in turn: by a
prior of the scores of boxes that was fitted without both and their kin, and by a weight and a
spread that were chosen on pairs of other students with other references.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from autoeval.estimation.calibrating import cross_fitted, fit_calibration
from autoeval.estimation.category_scores import labelled_rows
from autoeval.model import Prior, Scaling
from autoeval.model.calibrated_features import FEATURES
from autoeval.model.calibration import ScoreCalibration
from autoeval.model.pair_table import CATEGORY, REFERENCE_TRUE
from autoeval.model.reference_features import REFERENCE_FEATURES
from autoeval.model.reference_prior import ReferencePrior, ReferenceStrength
from autoeval.model.regression import Regression
from autoeval.report.tables import to_markdown
from autoeval.sites.labelled_set import LabelledSet
from benchmarks.panel import (
    FOLDER,
    GROUPS,
    LABELLED,
    ROOT,
    WIDE,
    add_detectors,
    enough,
    evaluable,
    fit_prior,
    read_panel,
    read_sets,
)

FILE, PRIOR = FOLDER / "references.csv", ROOT / "configs/reference_prior.json"
MAKERS = {"yolo26": "ultralytics", "yolov8": "ultralytics"}
"""Who made detectors that are kin though their names do not say so."""
CERTAIN = 0.02  # a fifth of a usual difference between two detectors of the panel
STARTS = ((-0.1, 0.1), (-0.05, 0.05), (-0.05, 0.15), (0.0, 0.1), (0.0, 0.2))
NARROWER = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
LEVEL = 0.9
PAIR = ["student", "reference"]


@dataclass(frozen=True, eq=False)
class CalibratedDetector:
    """A detector on the labelled sets, by name, calibrated on the one with many categories.

    probabilities (10, N) of its boxes on each, by calibrations that have not seen the labels there.
    """

    sets: dict[str, LabelledSet]
    calibration: ScoreCalibration
    probabilities: dict[str, np.ndarray]

    @classmethod
    def read(cls, data: Path, predictions: Path) -> CalibratedDetector:
        """Read and calibrate it; see `benchmarks.panel.read_sets`."""
        sets = {of.name: of for of in read_sets(data, predictions)}
        own = [sets[LABELLED]]
        calibration = fit_calibration(own, [np.ones(len(own[0].boxes), bool)], WIDE)
        p = {k: calibration.probabilities(of.boxes.clean.scores) for k, of in sets.items()}
        return cls(sets, calibration, {**p, LABELLED: cross_fitted(own, WIDE)[0]})

    def rows_with(self, reference: CalibratedDetector) -> pd.DataFrame:
        """Score every set that both have."""
        parts = []
        for name, of in self.sets.items():
            if name not in reference.sets:
                continue
            boxes = replace(
                of.boxes,
                reference=reference.sets[name].boxes.clean,
                reference_calibration=reference.calibration,
                reference_probabilities=reference.probabilities[name][0],
            )
            both = of.changed(boxes=boxes)
            p = self.probabilities[name] if name == LABELLED else None
            parts.append(evaluable(both, labelled_rows(both, self.calibration, probabilities=p)))
        return pd.concat(parts, ignore_index=True)


def parse_args() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    add_detectors(commands.add_parser("table"))
    commands.add_parser("prior")
    commands.add_parser("evaluate").add_argument("--out", type=Path, help="CSV of every estimate")
    return parser.parse_args()


def main() -> None:
    """Run one of the steps."""
    args = parse_args()
    if args.command == "table":
        detectors = {n: CalibratedDetector.read(args.data, of) for n, of in args.detectors}
        columns = [*PAIR, "kind", "group", "source", "category", "n_images", "n_held", "n_boxes"]
        columns += [*FEATURES, *REFERENCE_FEATURES, REFERENCE_TRUE, "mAP", "mAP50", "mAP75"]
        parts = [
            student.rows_with(detectors[other]).assign(student=name, reference=other)
            for name, student in detectors.items()
            for other in detectors
            if other != name
        ]
        pd.concat(parts)[columns].to_csv(FILE, index=False, float_format="%.5f")
        return
    cells = pd.concat(estimated(pd.read_csv(FILE)), ignore_index=True)
    if args.command == "prior":
        PRIOR.write_text(json.dumps(asdict(chosen(cells)), indent=1) + "\n", encoding="utf-8")
        return
    estimates = nested(cells)
    if args.out:
        estimates.to_csv(args.out, index=False)
    print(to_markdown(summary(estimates).round(1).reset_index()) + "\n")
    print(to_markdown(of_two(estimates, pd.read_csv(FILE)).round(1).reset_index()))


def kin(detector: str) -> str:
    """Name what detectors of one architecture and maker share."""
    return MAKERS.get(detector, detector.split("_")[0])


def priors() -> Iterator[ReferencePrior]:
    """Yield the candidates."""
    for start, full in STARTS:
        for narrower in NARROWER:
            yield ReferencePrior(start, full, CERTAIN, narrower)


def estimated(rows: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Estimate each pair without and by every candidate; groups are left out in `GROUPS` parts.

    Yielded: a row an estimate, with the `fold` of its group and the candidate in `start`, `full`
        and `narrower`, NaN without the reference.
    """
    panel, _ = read_panel()
    groups = sorted(set(rows["group"]) - {"coco"})
    np.random.default_rng(0).shuffle(groups)
    known: dict[tuple[frozenset[str], int], tuple[Scaling, Prior]] = {}
    for (student, reference), own in tqdm([*rows.groupby(PAIR)], "pairs", disable=None):
        labelled, sites = own[own["kind"] == CATEGORY], own[own["kind"] != CATEGORY]
        sites = sites[enough(own).loc[sites.index]]
        left, strength = frozenset(map(kin, (student, reference))), ReferenceStrength.of(labelled)
        for fold in range(GROUPS):
            held = sites[sites["group"].isin(groups[fold::GROUPS])]
            if held.empty:
                continue
            if (left, fold) not in known:
                others = ~panel["detector"].map(kin).isin(left)
                others &= ~panel["group"].isin(groups[fold::GROUPS])
                known[left, fold] = fit_prior(panel[others])[1:]
            named = {"student": student, "reference": reference, "fold": fold}
            named["stronger"] = strength is not None and strength.stronger
            without = predicted(labelled, held, *known[left, fold], None)
            yield without.assign(**named)
            for of in priors():
                if of.weight(strength):
                    found = predicted(labelled, held, *known[left, fold], of)
                else:
                    found = without
                values = {name: getattr(of, name) for name in ("start", "full", "narrower")}
                yield found.assign(**named, **values)


def predicted(
    labelled: pd.DataFrame,
    held: pd.DataFrame,
    scaling: Scaling,
    prior: Prior,
    with_reference: ReferencePrior | None,
) -> pd.DataFrame:
    """Fit on the labelled pairs and estimate others, each as a site of its own."""
    features = None if with_reference else FEATURES
    options: dict[str, Any] = {"features": features, "scaling": scaling, "prior": prior}
    fitted = Regression(**options, reference_prior=with_reference).fit(labelled)
    found = [fitted.predict(held.iloc[[k]])[0] for k in range(len(held))]
    common = held["category"].isin(["person", "vehicle"])
    return pd.DataFrame(
        {
            "category_group": np.where(common, held["category"], "other"),
            "source": held["source"].to_numpy(),
            "category": held["category"].to_numpy(),
            "true": held["mAP"].to_numpy(),
            "reference_true": held[REFERENCE_TRUE].to_numpy(),
            "agreement": held["reference_ap"].to_numpy(),
            "estimate": [of.value for of in found],
            "lower": [of.lower for of in found],
            "upper": [of.upper for of in found],
        }
    )


def chosen(cells: pd.DataFrame) -> ReferencePrior:
    """Choose the weight by the MAE, then the spread by the interval score (Gneiting 2007).

    Every pair of student and reference and kind of category counts alike; only references that are
    stronger count, since others have no weight.
    """
    cells = cells[cells["stronger"] & cells["start"].notna()]
    below, above = cells["lower"] - cells["true"], cells["true"] - cells["upper"]
    outside = below.clip(lower=0) + above.clip(lower=0)
    scored = cells.assign(
        error=(cells["estimate"] - cells["true"]).abs(),
        interval=cells["upper"] - cells["lower"] + 2 / (1 - LEVEL) * outside,
    )
    by = ["start", "full", "narrower"]
    means = scored.groupby([*by, *PAIR, "category_group"])[["error", "interval"]].mean()
    means = means.groupby(level=by).mean()
    start, full = means["error"].groupby(level=by[:2]).mean().idxmin()
    narrower = means["interval"].loc[start, full].idxmin()
    return ReferencePrior(float(start), float(full), CERTAIN, float(narrower))


def nested(cells: pd.DataFrame) -> pd.DataFrame:
    """Return each estimate by what other students, references and groups chose, and without."""
    student, reference = cells["student"].map(kin), cells["reference"].map(kin)
    parts = []
    for (one, other, fold), own in cells.groupby([*PAIR, "fold"]):
        apart = (student != kin(one)) & (reference != kin(other)) & (cells["fold"] != fold)
        of = chosen(cells[apart])
        mine = (own["start"] == of.start) & (own["full"] == of.full)
        with_it = own[mine & (own["narrower"] == of.narrower)].reset_index(drop=True)
        without = own[own["start"].isna()].reset_index(drop=True)
        ends = without[["estimate", "lower", "upper"]].add_suffix("_without")
        parts.append(with_it.join(ends))
    return pd.concat(parts, ignore_index=True)


def summary(estimates: pd.DataFrame) -> pd.DataFrame:
    """Tabulate both, in points, for references that are stronger, and the oracle bound.

    `oracle`: MAE of a line through agreement and the reference's true accuracy at the sites,
    fitted on them, leaving out none.
    """
    rows = estimates[estimates["stronger"]].copy()
    rows["kind"] = np.where(rows["category_group"] == "other", "other", "vehicles, persons")
    for name in ("", "_without"):
        rows[f"mae{name}"] = 100 * (rows[f"estimate{name}"] - rows["true"]).abs()
        inside = rows["true"].between(rows[f"lower{name}"], rows[f"upper{name}"])
        rows[f"coverage{name}"] = 100.0 * inside
        rows[f"half_width{name}"] = 50 * (rows[f"upper{name}"] - rows[f"lower{name}"])
    columns = ["mae_without", "mae", "half_width_without", "half_width"]
    by = rows.groupby(["kind", *PAIR])
    table = by[[*columns, "coverage_without", "coverage"]].mean()
    return table.assign(oracle=by.apply(oracle, include_groups=False), n=by.size())


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
            one, other = (own[own["reference"] == of].set_index(by) for of in (first, second))
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


if __name__ == "__main__":
    main()
