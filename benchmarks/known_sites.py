"""Measure estimates of new images of a site that the fit contains.

    python -m benchmarks.known_sites halves DATA NAME=PREDICTIONS ... [--out FILE]

`halves` divides the images of every site of vehicles and persons at random, fits on one half and
estimates the other, with the site named and as a new site; the priors are fitted without the
detector and the other sites are not in the fit. `--together` fits on one half of all sites.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

from autoeval.errors import InputError
from autoeval.estimation.calibrating import calibrated_rows
from autoeval.estimation.category_scores import labelled_rows
from autoeval.model import Prior, Scaling
from autoeval.model.calibrated_features import FEATURES
from autoeval.model.calibration import CalibrationPrior
from autoeval.model.pair_table import SITE
from autoeval.model.regression import Regression
from autoeval.report.tables import to_markdown
from autoeval.sites.labelled_set import LabelledSet
from benchmarks.panel import (
    add_detectors,
    fit_calibration_prior,
    fit_prior,
    read_calibration_prior,
    read_panel,
    read_sets,
    tabulated,
)

CATEGORIES = {"vehicle", "person"}
DRAWS = 4


def parse_args() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    halves = commands.add_parser("halves")
    add_detectors(halves)
    halves.add_argument("--draws", type=int, default=DRAWS, help="divisions of each site")
    halves.add_argument("--together", action="store_true", help="fit on one half of all sites")
    halves.add_argument("--out", type=Path, help="CSV of every estimate")
    return parser.parse_args()


def main() -> None:
    """Measure and print."""
    args = parse_args()
    parts = []
    for name, folder in args.detectors:
        sets, priors = list(of_sites(args.data, folder)), priors_without(name)
        for draw in tqdm(range(args.draws), name):
            of_draw = halves(sets, draw, *priors, together=args.together)
            parts.append(of_draw.assign(detector=name, draw=draw))
    estimates = pd.concat(parts, ignore_index=True)
    if args.out:
        estimates.to_csv(args.out, index=False)
    print(to_markdown(summary(estimates).round(1).reset_index()))


def of_sites(data: Path, predictions: Path) -> Iterator[LabelledSet]:
    """Read the sites of vehicles and persons with the boxes of a detector."""
    for of in read_sets(data, predictions):
        if of.everywhere and set(of.truth.categories) <= CATEGORIES:
            yield of


def priors_without(name: str) -> tuple[Scaling, Prior, CalibrationPrior]:
    """Fit the priors on the detectors of the panel that are of another kind."""
    rows, calibrations = read_panel()
    kin = rows["detector"].str.split("_").str[0] == name.split("_")[0]
    _, scaling, prior = fit_prior(rows[~kin])
    others = {k: of for k, of in calibrations.items() if k.split("_")[0] != name.split("_")[0]}
    return scaling, prior, read_calibration_prior(fit_calibration_prior(others))


def halves(
    sets: Sequence[LabelledSet],
    draw: int,
    scaling: Scaling,
    prior: Prior,
    of_boxes: CalibrationPrior,
    *,
    together: bool = False,
) -> pd.DataFrame:
    """Fit on one half of the images of each site, and estimate the other."""
    fitted, new = zip(*(divided(of, draw) for of in sets), strict=True)
    parts = []
    alone = [((a,), (b,)) for a, b in zip(fitted, new, strict=True)]
    for fit, requested in [(fitted, new)] if together else alone:
        try:
            known, calibration = calibrated_rows(fit, prior=of_boxes)
        except InputError as error:
            print(f"{fit[0].name}: {error}")
            continue
        model = Regression(features=FEATURES, scaling=scaling, prior=prior).fit(known)
        for of in requested:
            own = labelled_rows(of, calibration).dropna(subset=["mAP"])
            parts.append(estimated(model, own, of.name))
    return pd.concat(parts, ignore_index=True)


def divided(of: LabelledSet, draw: int) -> tuple[LabelledSet, LabelledSet]:
    """Divide the images of a site at random into two halves."""
    order = np.random.default_rng([draw, len(of.boxes)]).permutation(len(of.boxes))
    first, second = (np.sort(part) for part in np.array_split(order, 2))
    return of.on_images(first), of.on_images(second)


def estimated(model: Regression, rows: pd.DataFrame, site: str) -> pd.DataFrame:
    """Estimate each category of a site, named and as a new site."""
    at = model.known_site(site).accuracies if site in set(model.rows_["source"]) else {}
    rows = rows[rows["category"].isin(at)]
    parts = (
        {
            "named": model.predict(rows.assign(**{SITE: site})),
            "new": model.predict(rows.drop(columns=["group", "source"])),
        }
        if len(rows)
        else {}
    )
    tables = [
        pd.DataFrame(
            {
                "way": way,
                "site": site,
                "category": rows["category"].to_numpy(),
                "true": rows["mAP"].to_numpy(),
                "carried": rows["category"].map(at).to_numpy(),
                "estimate": [of.value for of in intervals],
                "lower": [of.lower for of in intervals],
                "upper": [of.upper for of in intervals],
            }
        )
        for way, intervals in parts.items()
    ]
    return pd.concat(tables) if tables else pd.DataFrame()


def summary(estimates: pd.DataFrame) -> pd.DataFrame:
    """Tabulate errors, that of the labelled accuracy carried over, coverage and half-widths."""
    by = ["category", "detector", "way"]
    return tabulated(estimates, by, "carried_over", estimates["carried"])


if __name__ == "__main__":
    main()
