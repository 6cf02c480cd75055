"""Measure what estimates gain by what a fit holds: labels, the site itself, a site of its group.

    python -m benchmarks.fits images DATA NAME=PREDICTIONS ... [--out FILE]
    python -m benchmarks.fits boxes DATA NAME=PREDICTIONS ... [--out FILE]
    python -m benchmarks.fits one-site DATA NAME=PREDICTIONS ... [--out FILE]
    python -m benchmarks.fits known-site DATA NAME=PREDICTIONS ... [--draws N] [--together]
    python -m benchmarks.fits several-sites DATA NAME=PREDICTIONS ... [--draws N] [--out FILE]
    python -m benchmarks.fits known-group [--out FILE]

DATA and PREDICTIONS are laid out as `benchmarks/panel.py` reads them. All priors are fitted without
detectors of the same kind.

`images` fits everything, the calibration included, on 15 or 40 images of the labelled set, drawn
three times, and on all, and estimates the sites; priors are without a quarter of the groups in
turn, too. `boxes` calibrates on images drawn until they hold 50, 100, 300 or 1,000 labelled boxes,
and on all; the pairs of the regression are those of the whole set. `one-site` fits on one site of
one category in turn, the calibration learned there, too. `known-site` divides the images of every
site of vehicles and persons at random, fits on one half and estimates the other, with the site
named and as a new site; `--together` fits on one half of all sites. `several-sites` fits on draws
of sites of different groups, and estimates those of all other groups, by priors without a quarter
of the groups in turn, too. `known-group` reads the tables of the panel: for each detector and each
ordered pair of sites of one group, the second is estimated by a fit on the labelled set alone
(*labelled set*), with the first site (*joined*), and with the group named (*group*); and by a fit
on the first site alone with the group named (*site alone*).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

from autoeval.errors import InputError
from autoeval.estimation.calibrating import calibrated_rows, fit_calibration
from autoeval.estimation.category_scores import labelled_rows
from autoeval.model import Prior
from autoeval.model.calibration import CalibrationPrior
from autoeval.model.pair_table import CATEGORY, GROUP, SITE
from autoeval.model.regression import Regression
from autoeval.model.train_prior import (
    COMMON,
    QUARTERS,
    enough,
    fit_prior,
    kin,
    quarters,
    read_scores,
)
from autoeval.report.page import to_markdown
from autoeval.sites.site import Site
from benchmarks.panel import (
    LABELLED,
    add_detectors,
    calibration_without,
    ends,
    evaluable,
    evaluated,
    read_sets,
    tabulated,
)

IMAGES = (15, 40)
IMAGE_DRAWS = 3
BOXES = (50, 100, 300, 1000)
BOX_DRAWS = 2
SITE_DRAWS = 4
SEVERAL = (1, 2, 3, 5, 8)  # sites of a fit
FEWEST_BOXES = 8  # of a site that is estimated by one site
WAYS = ("labelled set", "joined", "group", "site alone")
IN_GROUP = {True: "labelled in the group", False: "others"}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("images", "boxes", "one-site", "known-site", "several-sites", "known-group"):
        command = commands.add_parser(name)
        command.add_argument("--out", type=Path, help="CSV of every estimate")
        if name != "known-group":
            add_detectors(command)
        if name in ("known-site", "several-sites"):
            command.add_argument("--draws", type=int, default=SITE_DRAWS, help="(%(default)s)")
        if name == "known-site":
            command.add_argument("--together", action="store_true", help="fit on all sites")
    args = parser.parse_args()
    if args.command == "known-group":
        estimates = known_groups()
    else:
        parts = []
        for name, folder in args.detectors:
            sets = list(read_sets(args.data, folder))
            if args.command == "images":
                made = by_images(name, sets)
            elif args.command == "boxes":
                made = by_boxes(name, sets)
            elif args.command == "one-site":
                made = by_one_site(name, sets)
            elif args.command == "several-sites":
                made = by_several_sites(name, sets, args.draws)
            else:
                made = known_sites(name, sets, args.draws, together=args.together)
            parts.append(made.assign(detector=name))
        estimates = pd.concat(parts, ignore_index=True)
    if args.out:
        estimates.to_csv(args.out, index=False)
    for table in TABLES[args.command](estimates):
        print(to_markdown(table.round(1).reset_index()) + "\n")


def prior_without(name: str) -> Prior:
    """Fit the prior on the detectors of the panel that are of another kind."""
    rows = read_scores()
    return fit_prior(rows[rows["detector"].map(kin) != kin(name)])


def priors_of_quarters(name: str) -> tuple[dict[str, int], list[Prior]]:
    """Return the quarter of each group, and the priors of other detectors without each quarter."""
    panel = read_scores()
    quarter = quarters(panel)
    others = panel[panel["detector"].map(kin) != kin(name)]
    return quarter, [fit_prior(others[others["group"].map(quarter) != k]) for k in range(QUARTERS)]


def by_images(name: str, sets: Sequence[Site]) -> pd.DataFrame:
    """Estimate all sites by fits on more and more labelled images."""
    of_boxes = calibration_without(kin(name))
    quarter, priors = priors_of_quarters(name)
    (labelled,) = (of for of in sets if of.name == LABELLED)
    parts = []
    for images, draw, part in tqdm([*drawn_images(labelled)], name):
        known, calibration = calibrated_rows([part], prior=of_boxes)
        sites = (of for of in sets if of.name != LABELLED)
        rows = pd.concat([evaluable(of, labelled_rows(of, calibration)) for of in sites])
        rows = rows[enough(rows)]
        for k, prior in enumerate(priors):
            found = evaluated(known, rows[rows["group"].map(quarter) == k], prior)
            parts.append(found.assign(images=images, draw=draw))
    return pd.concat(parts, ignore_index=True)


def drawn_images(labelled: Site) -> Iterator[tuple[int, int, Site]]:
    """Draw parts of the labelled set, the whole last, with their number of images."""
    n = len(labelled)
    for size in IMAGES:
        for draw in range(IMAGE_DRAWS):
            chosen = np.random.default_rng(draw).permutation(n)[:size]
            yield size, draw, labelled.on_images(np.sort(chosen))
    yield n, 0, labelled


def image_tables(estimates: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Tabulate errors by the number of labelled images."""
    mean = estimates.groupby(["category_group", "detector"])["true"].transform("mean")
    for by in (["images"], ["images", "category_group"], ["images", "detector"]):
        yield tabulated(estimates, by, "constant", mean)


def by_boxes(name: str, sets: Sequence[Site]) -> pd.DataFrame:
    """Estimate all sites by fits on more and more labelled boxes."""
    prior, of_boxes = prior_without(name), calibration_without(kin(name))
    (labelled,) = (of for of in sets if of.name == LABELLED)
    draws = [(size, draw) for size in BOXES for draw in range(BOX_DRAWS)] + [(np.inf, 0)]
    parts = []
    for size, draw in tqdm(draws, name):
        part = drawn_boxes(labelled, size, draw)
        calibration = fit_calibration([part], [np.ones(len(part), bool)], of_boxes)
        known = labelled_rows(labelled, calibration)
        sites = [of for of in sets if of.name != LABELLED]
        rows = pd.concat([evaluable(of, labelled_rows(of, calibration)) for of in sites])
        parts.append(evaluated(known, rows[enough(rows)], prior).assign(size=size, draw=draw))
    return pd.concat(parts, ignore_index=True)


def drawn_boxes(of: Site, n_boxes: float, draw: int) -> Site:
    """Draw images until they hold so many labelled boxes."""
    order = np.random.default_rng(draw).permutation(len(of))
    n = np.sum([ranking.n_true for ranking in of.evaluation.rankings], axis=0)[order].cumsum()
    return of.on_images(np.sort(order[: int(np.searchsorted(n, n_boxes)) + 1]))


def box_tables(rows: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Tabulate MAE and coverage by the number of labelled boxes, one column of each a detector."""
    rows = rows.assign(
        mae=100 * (rows["estimate"] - rows["true"]).abs(),
        coverage=100.0 * rows["true"].between(rows["lower"], rows["upper"]),
    )
    table = rows.pivot_table(index="size", columns="detector", values=["mae", "coverage"])
    table.columns = [f"{detector}, {what}" for what, detector in table.columns]
    yield table[sorted(table)].rename(index=lambda size: "all" if np.isinf(size) else f"{size:.0f}")


def by_one_site(name: str, sets: Sequence[Site]) -> pd.DataFrame:
    """Fit on each site of one category, and estimate the others."""
    prior, of_boxes = prior_without(name), calibration_without(kin(name))
    sites = [of for of in sets if of.everywhere]
    parts = []
    for fitted in tqdm(sites, name):
        category = fitted.truth.categories[0]
        if len(fitted.truth.categories) > 1 or category not in COMMON:
            continue
        known, calibration = calibrated_rows([fitted], prior=of_boxes)
        others = [
            labelled_rows(other, calibration)
            for other in sites
            if other.group != fitted.group and category in other.boxes.categories
        ]
        rows = pd.concat(others)
        rows = rows[(rows["category"] == category) & (rows["n_boxes"] >= FEWEST_BOXES)]
        parts.append(evaluated(known, rows, prior).assign(fitted=fitted.name))
    return pd.concat(parts, ignore_index=True)


def one_site_tables(estimates: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Tabulate errors by category and detector, and that of a constant."""
    by = ["category_group", "detector"]
    yield tabulated(estimates, by, "constant", estimates.groupby(by)["true"].transform("mean"))


def by_several_sites(name: str, sets: Sequence[Site], draws: int) -> pd.DataFrame:
    """Fit on the labelled set, and on draws of sites of different groups, and estimate others."""
    of_boxes = calibration_without(kin(name))
    quarter, priors = priors_of_quarters(name)
    sites, parts = [of for of in sets if of.everywhere], []
    fits = [(LABELLED, 0, [of for of in sets if of.name == LABELLED])]
    for draw in range(draws):
        order = np.random.default_rng(draw).permutation(len(sites))
        of_groups = {sites[k].group: sites[k] for k in order[::-1]}  # the first of each group
        drawn = [sites[k] for k in order if of_groups[sites[k].group] is sites[k]]
        fits += [(str(n), draw, drawn[:n]) for n in SEVERAL]
    for n_sites, draw, fitted in tqdm(fits, name):
        try:
            known, calibration = calibrated_rows(fitted, prior=of_boxes)
        except InputError as error:
            print(f"{[of.name for of in fitted]}: {error}")
            continue
        groups = {of.group for of in fitted}
        new = [of for of in sites if of.group not in groups]
        rows = pd.concat([evaluable(of, labelled_rows(of, calibration)) for of in new])
        named = COMMON if n_sites == LABELLED else known["category"]
        rows = rows[enough(rows) & rows["category"].isin(named)]
        for k, prior in enumerate(priors):
            own = rows[rows["group"].map(quarter) == k]
            if len(own):
                found = evaluated(known, own, prior).assign(group=own["group"].to_numpy())
                parts.append(found.assign(sites=n_sites, draw=draw))
    return pd.concat(parts, ignore_index=True)


def several_sites_tables(estimates: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Tabulate errors by the number of sites of a fit, with the standard error of coverage.

    The error is by the groups of the sites that are estimated, as all fits have these in common.
    """
    mean = estimates.groupby(["category_group", "detector"])["true"].transform("mean")
    inside = 100.0 * estimates["true"].between(estimates["lower"], estimates["upper"])
    for by in (["sites"], ["detector", "sites"]):
        deviation = inside - inside.groupby([estimates[name] for name in by]).transform("mean")
        keys = [estimates[name] for name in (*by, "group")]
        squares = (deviation.groupby(keys).sum() ** 2).groupby(by).sum()
        table = tabulated(estimates, by, "constant", mean)
        table.insert(4, "error", np.sqrt(squares) / table["n"])
        yield table


def known_sites(name: str, sets: Sequence[Site], draws: int, *, together: bool) -> pd.DataFrame:
    """Estimate the other half of the images of each site that a fit holds one half of."""
    sites = [of for of in sets if of.everywhere and set(of.boxes.categories) <= set(COMMON)]
    priors, parts = (prior_without(name), calibration_without(kin(name))), []
    for draw in tqdm(range(draws), name):
        parts.append(halves(sites, draw, priors, together=together).assign(draw=draw))
    return pd.concat(parts, ignore_index=True)


def halves(
    sets: Sequence[Site],
    draw: int,
    priors: tuple[Prior, CalibrationPrior],
    *,
    together: bool,
) -> pd.DataFrame:
    """Fit on one half of the images of each site, and estimate the other."""
    prior, of_boxes = priors
    fitted, new = zip(*(divided(of, draw) for of in sets), strict=True)
    parts = []
    alone = [((a,), (b,)) for a, b in zip(fitted, new, strict=True)]
    for fit, requested in [(fitted, new)] if together else alone:
        try:
            known, calibration = calibrated_rows(fit, prior=of_boxes)
        except InputError as error:
            print(f"{fit[0].name}: {error}")
            continue
        model = Regression(prior=prior).fit(known)
        for of in requested:
            own = labelled_rows(of, calibration).dropna(subset=["mAP"])
            parts.append(named_and_new(model, own, of.name))
    return pd.concat(parts, ignore_index=True)


def divided(of: Site, draw: int) -> tuple[Site, Site]:
    """Divide the images of a site at random into two halves."""
    order = np.random.default_rng([draw, len(of)]).permutation(len(of))
    first, second = np.array_split(order, 2)
    return of.on_images(np.sort(first)), of.on_images(np.sort(second))


def named_and_new(model: Regression, rows: pd.DataFrame, site: str) -> pd.DataFrame:
    """Estimate each category of a site, named and as a new site."""
    at = model.accuracies_at(site) if site in set(model.pairs_["source"]) else {}
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
                **ends(intervals),
            }
        )
        for way, intervals in parts.items()
    ]
    return pd.concat(tables) if tables else pd.DataFrame()


def known_site_tables(estimates: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Tabulate errors, that of the labelled accuracy carried over, coverage and half-widths."""
    by = ["category", "detector", "way"]
    yield tabulated(estimates, by, "carried_over", estimates["carried"])


def known_groups() -> pd.DataFrame:
    """Estimate the sites of all groups that have several, for each detector of the panel."""
    rows = read_scores()
    rows = rows[enough(rows) | (rows["kind"] == CATEGORY)]
    parts = [of_detector(rows, name) for name in tqdm(rows["detector"].unique())]
    return pd.concat(parts, ignore_index=True)


def of_detector(rows: pd.DataFrame, detector: str) -> pd.DataFrame:
    """Estimate the sites of all groups that have several, for one detector."""
    own, parts = rows[rows["detector"] == detector], []
    others = rows[rows["detector"].map(kin) != kin(detector)]
    n_sites = own.groupby("group")["source"].nunique()
    for group in n_sites.index[n_sites > 1]:
        prior = fit_prior(others[others["group"] != group])
        parts.append(of_group(own, group, prior).assign(detector=detector, group=group))
    return pd.concat(parts, ignore_index=True)


def of_group(own: pd.DataFrame, group: str, prior: Prior) -> pd.DataFrame:
    """Estimate each site of a group by fits that hold each other one."""
    labelled = own[own["kind"] == CATEGORY]
    sites, parts = own[own["group"] == group], []
    for first in sites["source"].unique():
        known = sites[sites["source"] == first]
        fits = [labelled, pd.concat([labelled, known]), pd.concat([labelled, known]), known]
        carried = known.set_index("category")["mAP"]
        for way, fit in zip(WAYS, fits, strict=True):
            model = Regression(prior=prior).fit(fit)
            new = sites[sites["source"] != first]
            asked = new.assign(**{GROUP: group}) if way in WAYS[2:] else new
            predicted = [model.predict(asked.iloc[[k]])[0] for k in range(len(asked))]
            found = pd.DataFrame(ends(predicted)).assign(way=way, first=first)
            names = new[["source", "category"]].assign(true=new["mAP"]).reset_index(drop=True)
            parts.append(names.join(found).assign(carried=names["category"].map(carried)))
    made = pd.concat(parts, ignore_index=True)
    return made.assign(categories=made["carried"].notna().map(IN_GROUP))


def known_group_tables(estimates: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Tabulate errors by whether the category was labelled in the group, by detector and group."""
    for by in ("categories", "detector", "group"):
        rows = estimates if by == "categories" else estimates[estimates["carried"].notna()]
        table = tabulated(rows, [by, "way"], "carried over", rows["carried"])
        yield table.reindex(WAYS, level="way")


TABLES = {
    "images": image_tables,
    "boxes": box_tables,
    "one-site": one_site_tables,
    "known-site": known_site_tables,
    "several-sites": several_sites_tables,
    "known-group": known_group_tables,
}

if __name__ == "__main__":
    main()
