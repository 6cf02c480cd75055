"""Transfer between pairs of site and category: every way of leaving out, in one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from autoeval.errors import InputError
from autoeval.model.calibrated_features import FEATURES
from autoeval.report.plots import plot_curves
from autoeval.report.sections import Part
from autoeval.stability.reports.study_report import StudyReport
from autoeval.stability.studies import transfer
from autoeval.stability.studies.transfer import in_hindsight

NUMBERS = (0, 1, 2, 3, 5, 8, 12, 16)
MEASURES = ("error", "by_pair", "constant", "half_width")
ERRORS = ["line", "category", "error", "by pair", "pairs"]
ABOUT = (
    "Mean absolute error, that of a constant, share of truths inside the interval (nominal 90 %), "
    "and its median half-width. Sources of one origin are a group: they are left out together and "
    "count once (*error*); *by pair* each site and category counts the same. Where there is no "
    "estimate (*refused*), the constant's error counts. A labelled set's own group is never "
    "evaluated by it. *In hindsight*: the oracle linear model, of least absolute error on the very "
    "sites that it is evaluated on; no linear model of these scores has a smaller error on them."
)


def transfer_report(
    scores: pd.DataFrame,
    *,
    target: str = "mAP",
    labelled: str | None = None,
    without: Sequence[str] = (),
    sizes: Sequence[int] = NUMBERS,
    draws: int = 20,
    seed: int = 0,
) -> StudyReport:
    """Fit on some pairs and evaluate others, in every way that the table allows.

    `scores` is a pair table of sites and of labelled sets; `labelled` the set to go with the sites,
    by default the first; `without` are its categories that are left out once; `sizes` are numbers
    of groups to fit on, drawn `draws` times.
    """
    sites, sets = transfer.sites_of(scores), transfer.labelled_of(scores)
    if sites["group"].nunique() < 3:
        raise InputError(
            f"Expected sites of 3 groups or more but got {sites['group'].nunique()}: give the "
            "score tables of tasks with more sources."
        )
    options: dict[str, Any] = {"target": target, "features": FEATURES}
    names = list(dict.fromkeys(sets["source"]))
    chosen = sets[sets["source"] == (labelled or (names[0] if names else ""))]
    ways = _ways(sites, sets, chosen, without, options)
    table = pd.concat([_cells(name, evaluated) for name, evaluated in ways], ignore_index=True)
    few = _few(sites, chosen, sizes, draws, seed, options)
    best = _hindsight(sites, options)
    parts = [
        Part("transfer", table, _for_people(table, "fitted on")),
        Part("transfer_sizes", few, _for_people(few, "groups")),
        Part("transfer_hindsight", best, _for_people(best, "line")[ERRORS]),
    ]
    if len(sets):
        off = transfer.mean_deviations(sites, sets, **options)
        points = {name: (100 * off[name]).round(1) for name in ("off", "spread")}
        parts.append(Part("transfer_sets", off, off.assign(**points)))
    title = "Transfer between sites and categories"
    return StudyReport("transfer", title, ABOUT, _figure(few), parts)


def _ways(
    sites: pd.DataFrame,
    sets: pd.DataFrame,
    chosen: pd.DataFrame,
    without: Sequence[str],
    options: dict[str, Any],
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Evaluate the sites by what each way of leaving out is fitted on."""
    own_category = [
        transfer.groups_left_out(category_sites, **options)
        for _, category_sites in sites.groupby("category")
    ]
    yield "other sites of the category", pd.concat(own_category)
    if sites["category"].nunique() > 1:
        yield "other sites of all categories", transfer.groups_left_out(sites, **options)
        yield "sites of the other categories alone", transfer.across_categories(sites, **options)
    if chosen.empty:
        return
    name = chosen["source"].iloc[0]
    yield f"other sites and {name}", transfer.groups_left_out(sites, chosen, **options)
    for source, labelled in sets.groupby("source", sort=False):
        yield f"{source} alone", transfer.by_labelled_set(labelled, sites, **options)
    if without:
        left = transfer.by_labelled_set(chosen, sites, without=without, **options)
        yield f"{name} without {', '.join(without)}", left


def _few(
    sites: pd.DataFrame,
    chosen: pd.DataFrame,
    sizes: Sequence[int],
    draws: int,
    seed: int,
    options: dict[str, Any],
) -> pd.DataFrame:
    cells = []
    numbers = [m for m in sizes if m or not chosen.empty]
    for m, with_set, evaluated in transfer.sizes(
        sites, chosen, numbers, draws=draws, seed=seed, **options
    ):
        if with_set and chosen.empty:
            continue
        way = f"{m} and the labelled set" if with_set else str(m)
        cells.append(_cells(way, evaluated).assign(m=m, with_set=with_set))
    return pd.concat(cells, ignore_index=True)


def _hindsight(sites: pd.DataFrame, options: dict[str, Any]) -> pd.DataFrame:
    """Evaluate the best lines that there could be: what no regression on these scores can beat."""
    by_category = [
        in_hindsight(category_sites, **options) for _, category_sites in sites.groupby("category")
    ]
    cells = [_cells("one for each category", pd.concat(by_category))]
    if len(by_category) > 1:
        cells.append(_cells("one for all", in_hindsight(sites, **options)))
    return pd.concat(cells, ignore_index=True)


def _cells(way: str, evaluated: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for category, pairs in evaluated.groupby("category", sort=False):
        inside, outside = (
            transfer.figures(pairs[pairs["inside"] == is_in])
            if (pairs["inside"] == is_in).any()
            else {}
            for is_in in (True, False)
        )
        rows.append(
            {"way": way, "category": category, **transfer.figures(pairs)}
            | {
                "coverage_inside": inside.get("coverage"),
                "coverage_outside": outside.get("coverage"),
            }
        )
    return pd.DataFrame(rows)


def _for_people(table: pd.DataFrame, first: str) -> pd.DataFrame:
    shown = {
        first: table["way"],
        "category": table["category"],
        **{name.replace("_", " "): [f"{100 * v:.1f}" for v in table[name]] for name in MEASURES},
    }
    for name in ("coverage", "coverage_inside", "coverage_outside", "refused"):
        shown[f"{name.replace('_', ' ')} %"] = [
            f"{100 * v:.0f}" if pd.notna(v) else "–" for v in table[name].astype(float)
        ]
    shown["pairs"] = table["pairs"]
    return pd.DataFrame(shown)


def _figure(few: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(8, 8), layout="constrained")
    left, right = figure.subplots(2, 1)
    kinds = few.assign(
        kind=few["category"] + few["with_set"].map({True: " and labelled set", False: ""})
    )
    plot_curves(kinds, x="m", y="error", group="kind", scale=100, ax=left)
    plot_curves(kinds, x="m", y="coverage", group="kind", scale=100, ax=right)
    right.get_legend().remove()
    right.axhline(90, color="0.4", lw=1, ls="--")
    left.set(xlabel="groups of sites fitted on", ylabel="mean absolute error (points of mAP)")
    left.set_ylim(bottom=0)
    right.set(xlabel="groups of sites fitted on", ylabel="truth inside the interval (%)")
    right.set_ylim(50, 101)
    for axes in (left, right):
        axes.set_xticks(sorted(few["m"].unique()))
    return figure
