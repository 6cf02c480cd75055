"""Measure how many labelled boxes calibration needs, and whether confidences are worth calibrating.

    python -m benchmarks.calibration_labels curve DATA NAME=PREDICTIONS ... [--out FILE]
    python -m benchmarks.calibration_labels confidences DATA NAME=PREDICTIONS ... [--out FILE]

`curve` calibrates on images of the labelled set drawn until they hold 50, 100, 300 or 1,000 boxes,
and on all, and estimates the sites of other groups; the pairs of the regression are those of the
whole set, and the priors are fitted without the detector.
`confidences` checks those of every site, and of subsets of about 100 labelled boxes, as they are
and shuffled, by what `autoeval.estimation.confidence_check` does.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from autoeval.errors import InputError
from autoeval.estimation.calibrating import fit_calibration
from autoeval.estimation.category_scores import labelled_rows
from autoeval.estimation.confidence_check import check_confidences, labelled_boxes, roc_area
from autoeval.report.tables import to_markdown
from autoeval.sites.labelled_set import LabelledSet
from benchmarks.known_sites import priors_without
from benchmarks.panel import LABELLED, add_detectors, enough, evaluable, evaluated, read_sets

SIZES = (50, 100, 300, 1000)
DRAWS, SUBSETS, SMALL = 2, 2, 100


def parse_args() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("command", choices=["curve", "confidences"])
    add_detectors(parser)
    parser.add_argument("--out", type=Path, help="CSV of every estimate or check")
    return parser.parse_args()


def main() -> None:
    """Measure and print."""
    args = parse_args()
    parts = []
    for name, folder in args.detectors:
        sets = list(read_sets(args.data, folder))
        made = curve(name, sets) if args.command == "curve" else pd.DataFrame(checks(sets))
        parts.append(made.assign(detector=name))
    rows = pd.concat(parts, ignore_index=True)
    if args.out:
        rows.to_csv(args.out, index=False)
    shown = by_size(rows) if args.command == "curve" else by_detector(rows)
    print(to_markdown(shown.reset_index()))


def drawn(of: LabelledSet, n_boxes: float, draw: int) -> LabelledSet:
    """Draw images until they hold so many labelled boxes."""
    order = np.random.default_rng(draw).permutation(len(of.boxes))
    n = np.sum([ranking.n_true for ranking in of.rankings], axis=0)[order].cumsum()
    return of.on_images(np.sort(order[: int(np.searchsorted(n, n_boxes)) + 1]))


def curve(name: str, sets: Sequence[LabelledSet]) -> pd.DataFrame:
    """Estimate all sites by fits on more and more labelled boxes."""
    scaling, prior, of_boxes = priors_without(name)
    (labelled,) = (of for of in sets if of.name == LABELLED)
    draws = [(size, draw) for size in SIZES for draw in range(DRAWS)] + [(np.inf, 0)]
    parts = []
    for size, draw in tqdm(draws, name):
        part = drawn(labelled, size, draw)
        calibration = fit_calibration([part], [np.ones(len(part.boxes), bool)], of_boxes)
        known = labelled_rows(labelled, calibration)
        sites = [of for of in sets if of.name != LABELLED]
        rows = pd.concat([evaluable(of, labelled_rows(of, calibration)) for of in sites])
        parts.append(
            evaluated(known, rows[enough(rows)], scaling, prior).assign(size=size, draw=draw)
        )
    return pd.concat(parts, ignore_index=True)


def by_size(rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate MAE and coverage, one column of each a detector."""
    rows = rows.assign(
        mae=100 * (rows["estimate"] - rows["true"]).abs(),
        coverage=100.0 * rows["true"].between(rows["lower"], rows["upper"]),
    )
    table = rows.pivot_table(index="size", columns="detector", values=["mae", "coverage"])
    table.columns = [f"{detector}, {what}" for what, detector in table.columns]
    table = table[sorted(table)].round(1)
    return table.rename(index=lambda size: "all" if np.isinf(size) else f"{size:.0f}")


def checks(sets: Sequence[LabelledSet]) -> Iterator[dict[str, Any]]:
    """Check confidences as they are, shuffled over the boxes of a set, and all equal."""
    for of in sets:
        n_true = sum(ranking.n_true.sum() for ranking in of.rankings)
        if n_true < SMALL:
            continue
        parts = [("whole", of)] + [("100 boxes", drawn(of, SMALL, k)) for k in range(SUBSETS)]
        for size, part in parts:
            found = part.boxes.clean
            mixed = np.random.default_rng(0).permutation(found.scores)
            for kind, scores in (("own", found.scores), ("shuffled", mixed)):
                boxes = replace(part.boxes, clean=replace(found, scores=scores))
                checked = replace(part, boxes=boxes)
                known, hits = labelled_boxes([checked])
                row = {"set": of.name, "size": size, "scores": kind, "right": int(hits.sum())}
                row["area"] = roc_area(known, hits)[0] if 0 < hits.sum() < len(hits) else np.nan
                try:
                    check = check_confidences([checked])
                    yield row | {"refused": False, "share": check.widening}
                except InputError:
                    yield row | {"refused": True, "share": 1.0}


def by_detector(rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate the areas, and the shares that are refused or only doubted."""
    rows = rows.assign(
        refused=100.0 * rows["refused"], doubted=100.0 * (~rows["refused"] & (rows["share"] > 0))
    )
    groups = rows.groupby(["scores", "size", "detector"])
    table = groups["area"].agg(["min", "median", "max"]).round(2)
    return table.join(groups[["refused", "doubted"]].mean().round(1)).join(
        groups.size().rename("n")
    )


if __name__ == "__main__":
    main()
