"""Measure estimates of a new site of a group that the fit holds (`estimate --group`).

    python -m benchmarks.known_groups [--out FILE]

From the table of the panel, ``meta_sets/panel/scores.csv``: for each detector and each ordered
pair of sites of one group, the second is estimated by a fit on the labelled set `panel.LABELLED`
alone (*labelled set*), with the first site (*joined*), and with the group named (*group*); and by a
fit on the first site alone with the group named (*site alone*). The priors are fitted without
detectors of the same kind and without the group. *carried over* is the error of the first site's
accuracy.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd
from tqdm import tqdm

from autoeval.model import Prior, Scaling
from autoeval.model.calibrated_features import FEATURES
from autoeval.model.pair_table import CATEGORY, GROUP
from autoeval.model.regression import Regression
from autoeval.report.tables import to_markdown
from benchmarks.panel import enough, fit_prior, kin, read_panel, tabulated

CATEGORIES = {True: "labelled in the group", False: "others"}
WAYS = ("labelled set", "joined", "group", "site alone")


def parse_args() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, help="CSV of every estimate")
    return parser.parse_args()


def main() -> None:
    """Measure and print."""
    args = parse_args()
    rows, _ = read_panel()
    rows = rows[enough(rows) | (rows["kind"] == CATEGORY)]
    estimates = pd.concat(
        [of_detector(rows, name) for name in tqdm(rows["detector"].unique())], ignore_index=True
    )
    if args.out:
        estimates.to_csv(args.out, index=False)
    for by in ("categories", "detector", "group"):
        rows = estimates if by == "categories" else estimates[estimates["carried"].notna()]
        table = tabulated(rows, [by, "way"], "carried over", rows["carried"])
        print(to_markdown(table.reindex(WAYS, level="way").round(1).reset_index()), "\n")


def of_detector(rows: pd.DataFrame, detector: str) -> pd.DataFrame:
    """Estimate the sites of all groups that have several, for one detector."""
    own, parts = rows[rows["detector"] == detector], []
    others = rows[rows["detector"].map(kin) != kin(detector)]
    n_sites = own.groupby("group")["source"].nunique()
    for group in n_sites.index[n_sites > 1]:
        _, scaling, prior = fit_prior(others[others["group"] != group])
        parts.append(of_group(own, group, scaling, prior).assign(detector=detector, group=group))
    return pd.concat(parts, ignore_index=True)


def of_group(own: pd.DataFrame, group: str, scaling: Scaling, prior: Prior) -> pd.DataFrame:
    """Estimate each site of a group by fits that hold each other one."""
    labelled = own[own["kind"] == CATEGORY]
    sites, parts = own[own["group"] == group], []
    for first in sites["source"].unique():
        known = sites[sites["source"] == first]
        fits = [labelled, pd.concat([labelled, known]), pd.concat([labelled, known]), known]
        carried = known.set_index("category")["mAP"]
        for way, fit in zip(WAYS, fits, strict=True):
            model = Regression(features=FEATURES, scaling=scaling, prior=prior).fit(fit)
            new = sites[sites["source"] != first]
            asked = new.assign(**{GROUP: group}) if way in WAYS[2:] else new
            predicted = [model.predict(asked.iloc[[k]])[0] for k in range(len(asked))]
            found = pd.DataFrame(predicted)[["lower", "upper"]]
            found = found.assign(way=way, first=first, estimate=[of.value for of in predicted])
            names = new[["source", "category"]].assign(true=new["mAP"]).reset_index(drop=True)
            parts.append(names.join(found).assign(carried=names["category"].map(carried)))
    made = pd.concat(parts, ignore_index=True)
    return made.assign(categories=made["carried"].notna().map(CATEGORIES))


if __name__ == "__main__":
    main()
