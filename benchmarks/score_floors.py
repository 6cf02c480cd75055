"""Files cut at a score: the panel's tables at several floors, and what estimates are worth there.

    python -m benchmarks.score_floors table DATA NAME=PREDICTIONS ...
    python -m benchmarks.score_floors evaluate DATA NAME=PREDICTIONS ... [--out FILE]

DATA and PREDICTIONS are those of ``benchmarks/panel.py``. `table` cuts all boxes of each detector
at the scores of `FLOORS`, scores the sites as ``panel.py table`` does, and puts the rows into
``meta_sets/panel/floors.csv`` and the calibrations of missed objects into
``meta_sets/panel/missed.json``; ``panel.py prior`` reads both. `evaluate` fits the prior for each
detector on the others, without a quarter of the groups in turn, at each floor: with labelled
files and sites cut alike, and with labelled files from the lowest score on (*mixed*).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

from autoeval.estimation.calibrating import calibrated_rows, cross_fitted, fit_calibration
from autoeval.estimation.category_scores import labelled_rows
from autoeval.estimation.score_floors import rows_above
from autoeval.model.calibrated_features import FEATURES
from autoeval.report.tables import to_markdown
from autoeval.sites.labelled_set import LabelledSet
from benchmarks.panel import (
    FEWEST_LABELS,
    FLOORS,
    FOLDER,
    LABELLED,
    MISSED,
    ROWS_ABOVE,
    WEAK,
    WIDE,
    add_detectors,
    evaluable,
    nested,
    read_panel,
    read_sets,
    tabulated,
)

COLUMNS = ["detector", "kind", "group", "source", "category", "n_images", "n_held", "n_boxes"]
COLUMNS += ["floor", *FEATURES, "mAP", "mAP50", "mAP75"]


def parse_args() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    table, evaluate = (commands.add_parser(name) for name in ("table", "evaluate"))
    for command in (table, evaluate):
        add_detectors(command)
    evaluate.add_argument("--out", type=Path, help="CSV of every estimate")
    return parser.parse_args()


def main() -> None:
    """Run one of the steps."""
    args = parse_args()
    if args.command == "table":
        for name, folder in tqdm(args.detectors, "detectors"):
            add_floors(name, list(read_sets(args.data, folder)))
    else:
        estimates = evaluated_at_floors(args.data, args.detectors)
        if args.out:
            estimates.to_csv(args.out, index=False)
        by = ["fitted", "floor", "category_group"]
        mean = estimates.groupby(["floor", "category_group", "detector"])["true"].transform("mean")
        for keys in (by, by[:2]):
            table = tabulated(estimates, keys, "constant", mean).round(1)
            print(to_markdown(table.reset_index()) + "\n")


def add_floors(name: str, sets: Sequence[LabelledSet]) -> None:
    """Score all sites by the boxes of one detector over each floor; see the module."""
    parts, missed = [], {}
    for floor in FLOORS[1:]:
        above = [of.above(floor) for of in sets]
        own = [of for of in above if of.name == LABELLED]
        others = [of for of in above if of.name != LABELLED]
        rows, calibration = calibrated_rows(own, prior=WIDE)
        found = [evaluable(own[0], rows)]
        found += [evaluable(of, labelled_rows(of, calibration)) for of in others]
        parts.append(pd.concat(found, ignore_index=True).assign(detector=name, floor=floor))
        of_sites = [
            fit_calibration([of], [np.ones(len(of.boxes), bool)], WEAK)
            for of in others
            if sum(r.n_true.sum() for r in of.rankings) >= FEWEST_LABELS and len(of.boxes.clean)
        ]
        every = [of.missed.round(4).tolist() for of in (calibration, *of_sites)]
        missed[f"{floor:g}"] = every
    table = pd.concat(parts, ignore_index=True)
    if ROWS_ABOVE.exists():
        known = pd.read_csv(ROWS_ABOVE)
        table = pd.concat([known[known["detector"] != name], table], ignore_index=True)
    FOLDER.mkdir(parents=True, exist_ok=True)
    table.reindex(columns=COLUMNS).to_csv(ROWS_ABOVE, index=False, float_format="%.5f")
    before = json.loads(MISSED.read_text(encoding="utf-8")) if MISSED.exists() else {}
    lines = [f'"{k}": {json.dumps(of)}' for k, of in (before | {name: missed}).items()]
    MISSED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def evaluated_at_floors(data: Path, detectors: Sequence[tuple[str, Path]]) -> pd.DataFrame:
    """Estimate every site of these detectors by priors that saw neither, at each floor."""
    names = [name for name, _ in detectors]
    parts = []
    for floor in FLOORS:
        rows = read_panel(floor)[0]
        rows = rows[rows["detector"].isin(names)]
        parts.append(nested(rows).assign(floor=floor, fitted="cut alike"))
    sets = {name: list(read_sets(data, folder)) for name, folder in detectors}
    for floor in FLOORS[1:]:
        panel = read_panel(floor)[0]
        panel = panel[panel["detector"].isin(names)]
        mixed = [mixed_rows(name, of, floor) for name, of in tqdm(sets.items(), "mixed")]
        rows = pd.concat(mixed, ignore_index=True)
        parts.append(nested(rows, panel).assign(floor=floor, fitted="mixed"))
    return pd.concat(parts, ignore_index=True)


def mixed_rows(name: str, sets: Sequence[LabelledSet], floor: float) -> pd.DataFrame:
    """Score sites cut at a floor by a calibration on a labelled set that is not."""
    own = [of for of in sets if of.name == LABELLED]
    boxes = fit_calibration(own, [np.ones(len(of.boxes), bool) for of in own], WIDE).boxes
    rows, calibration = rows_above(own, floor, boxes, cross_fitted(own, WIDE), WIDE)
    parts = [evaluable(own[0], rows)]
    for of in (of.above(floor) for of in sets if of.name != LABELLED):
        parts.append(evaluable(of, labelled_rows(of, calibration)))
    return pd.concat(parts, ignore_index=True).assign(detector=name, floor=floor)


if __name__ == "__main__":
    main()
