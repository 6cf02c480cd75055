"""Measure how many labelled images a fit needs.

    python -m benchmarks.labelled_sizes DATA NAME=PREDICTIONS ... [--out FILE]

Everything, the calibration included, is fitted on 15 or 40 images of the labelled set, drawn three
times, and on all, and estimates the sites. Priors are those of the panel, fitted without detectors
of the same kind and without a quarter of the groups in turn; see `benchmarks/panel.py`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

from autoeval.estimation.calibrating import calibrated_rows
from autoeval.estimation.category_scores import labelled_rows
from autoeval.report.tables import to_markdown
from autoeval.sites.labelled_set import LabelledSet
from benchmarks.known_sites import priors_without
from benchmarks.panel import (
    GROUPS,
    LABELLED,
    add_detectors,
    enough,
    evaluable,
    evaluated,
    fit_prior,
    kin,
    quarters,
    read_panel,
    read_sets,
    tabulated,
)

SIZES, DRAWS = (15, 40), 3


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add_detectors(parser)
    parser.add_argument("--out", type=Path, help="CSV of every estimate")
    args = parser.parse_args()
    parts = [
        of_detector(name, list(read_sets(args.data, folder))) for name, folder in args.detectors
    ]
    estimates = pd.concat(parts, ignore_index=True)
    if args.out:
        estimates.to_csv(args.out, index=False)
    mean = estimates.groupby(["category_group", "detector"])["true"].transform("mean")
    for by in (["images"], ["images", "category_group"], ["images", "detector"]):
        table = tabulated(estimates, by, "constant", mean)
        print(to_markdown(table.round(1).reset_index()) + "\n")


def of_detector(name: str, sets: Sequence[LabelledSet]) -> pd.DataFrame:
    """Estimate all sites by fits on more and more labelled images."""
    panel, (_, _, of_boxes) = read_panel()[0], priors_without(name)
    quarter = quarters(panel)
    others = panel[panel["detector"].map(kin) != kin(name)]
    priors = [fit_prior(others[others["group"].map(quarter) != k])[1:] for k in range(GROUPS)]
    (labelled,) = (of for of in sets if of.name == LABELLED)
    parts = []
    for images, draw, part in tqdm([*drawn(labelled)], name):
        known, calibration = calibrated_rows([part], prior=of_boxes)
        sites = (of for of in sets if of.name != LABELLED)
        rows = pd.concat([evaluable(of, labelled_rows(of, calibration)) for of in sites])
        rows = rows[enough(rows)]
        for k, (scaling, prior) in enumerate(priors):
            found = evaluated(known, rows[rows["group"].map(quarter) == k], scaling, prior)
            parts.append(found.assign(images=images, draw=draw, detector=name))
    return pd.concat(parts, ignore_index=True)


def drawn(labelled: LabelledSet) -> Iterator[tuple[int, int, LabelledSet]]:
    """Draw parts of the labelled set, the whole last, with their number of images."""
    n = len(labelled.boxes)
    for size in SIZES:
        for draw in range(DRAWS):
            chosen = np.random.default_rng(draw).permutation(n)[:size]
            yield size, draw, labelled.on_images(np.sort(chosen))
    yield n, 0, labelled


if __name__ == "__main__":
    main()
