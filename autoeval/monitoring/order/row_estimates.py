"""Estimates of sites and their periods from the rows of their scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from autoeval.estimation.bayesian_regression import BayesianRegression
from autoeval.estimation.new_sites import NewSites
from autoeval.estimation.nothing_found import HIGHEST, nothing_over_text
from autoeval.estimation.pair_table import COUNTED
from autoeval.estimation.reference_warnings import reference_at_site
from autoeval.estimation.regression_estimate import known_range, outside_range
from autoeval.estimation.warnings import estimate_warnings
from autoeval.model.calibrated_features import WEIGHT
from autoeval.sites.score_range import unseen_warning
from autoeval.targets import find_target

ESTIMATED = ["estimate", "lower", "upper", "raw", "warnings"]
NOTICES = "notices"  # the warnings of a row, each by itself; not a column of `SiteTable`
FOUND_ON = "n_images/"
ENDS = {"": "value", "_lower": "lower", "_upper": "upper"}
FALSE_ALARMS = "false_alarms@"


def estimate_rows(
    regression: BayesianRegression,
    rows: pd.DataFrame,
    backbone: str,
    unseen: Mapping[str, float],
    fitted_sites: Mapping[str, str],
) -> pd.DataFrame:
    """Estimate each row, as `estimate_site_rows` would on its own."""
    if rows.empty:
        return pd.DataFrame(columns=[*ESTIMATED, NOTICES])
    sites, values = new_sites(regression, rows, unseen, fitted_sites), []
    intervals, none_over = sites.predict(), sites.none_over
    for interval, none, row in zip(intervals, none_over, rows.to_dict("records"), strict=True):
        estimate_notices = estimate_warnings(
            interval.value,
            _only_scores(row, regression.features_),
            known_range(regression),
            n_images=int(row["n_images"]),
            skipped_share=0.0,
            backbone=backbone,
            doubtful=find_target(regression.target).doubtful,
        )
        if none:  # the estimate is 0 by definition, and nothing else is to be doubted
            estimate_notices = (nothing_over_text(regression.target),)
        warnings = (
            *outside_range({}, interval),
            *reference_at_site(_with_names(row, regression.features_), regression.features_),
            *unseen_warning(unseen.get(str(row["group"]), 0.0)),
            *estimate_notices,
        )
        numbers = (interval.value, interval.lower, interval.upper, interval.raw)
        values.append((*numbers, "; ".join(warnings), warnings))
    table = pd.DataFrame(values, index=rows.index, columns=[*ESTIMATED, NOTICES])
    return table.join(_by_category(sites, rows)) if len(categories_in(rows)) > 1 else table


def categories_in(rows: Iterable[Any]) -> list[str]:
    """Return the categories that are estimated at any site, by the columns of scores."""
    return [
        str(column).removeprefix(FOUND_ON) for column in rows if str(column).startswith(FOUND_ON)
    ]


def _only_scores(row: Mapping[Any, Any], features: Sequence[str]) -> dict[str, float]:
    """Return the scores of a site with one category, whose range in the fit is known."""
    categories = _categories_at(row)
    if len(categories) != 1:
        return {}
    return {name: row[f"{name}/{categories[0]}"] for name in features}


def _with_names(row: Mapping[Any, Any], features: Sequence[str]) -> pd.DataFrame:
    """Return the scores of a site, a row for each of its categories."""
    scores = [
        {"category": category, **{name: row[f"{name}/{category}"] for name in features}}
        for category in _categories_at(row)
    ]
    return pd.DataFrame(scores)


def _categories_at(row: Mapping[Any, Any]) -> list[str]:
    """Return the categories that count at a site."""
    return [name for name in categories_in(row) if row[f"{COUNTED}/{name}"] == 1]


def _by_category(sites: NewSites, rows: pd.DataFrame) -> pd.DataFrame:
    """Estimate each category of each row: columns such as ``estimate/car`` and ``lower/car``."""
    estimates = sites.predict_categories().rename(columns={"value": "estimate"})
    wide = estimates.pivot(index="site", columns="category")[["estimate", "lower", "upper"]]
    wide = wide.reindex(sites.names)
    wide.columns = [f"{name}/{category}" for name, category in wide.columns]
    return wide.set_index(rows.index)


def estimate_at_threshold(
    regressions: Sequence[BayesianRegression | None],
    rows: pd.DataFrame,
    points: Sequence[str],
    unseen: Mapping[str, float],
) -> pd.DataFrame:
    """Estimate recall with its interval, and false alarms an image: boxes less true positives."""
    precision_regression, recall_regression = regressions
    assert recall_regression is not None
    alarms_column = f"{FALSE_ALARMS}{points[1].partition('@')[2]}"
    if rows.empty:
        names = [f"{points[1]}{end}" for end in ENDS]
        return pd.DataFrame(columns=[*names, alarms_column], dtype=np.float64)
    sites = new_sites(recall_regression, rows, unseen)
    recall, precision = sites.predict(), np.full(len(rows), np.nan)
    if precision_regression is not None:
        precision = np.array(
            [interval.value for interval in new_sites(precision_regression, rows, unseen).predict()]
        )
    weight = f"{WEIGHT}{points[0]}"
    boxes = sum(
        rows[f"{weight}/{name}"].fillna(0) * rows[f"{COUNTED}/{name}"].fillna(0)
        for name in categories_in(rows)
        if f"{weight}/{name}" in rows  # not where precision is not estimated
    )
    per_image = boxes / rows["n_images"]
    # The share `precision` of the boxes over the threshold is true positives; the rest are false.
    false_alarms = (per_image * (1 - precision)).where(~sites.none_over, 0.0)
    recalls = {
        f"{points[1]}{end}": [getattr(interval, name) for interval in recall]
        for end, name in ENDS.items()
    }
    return pd.DataFrame({**recalls, alarms_column: false_alarms}, index=rows.index)


def new_sites(
    regression: BayesianRegression,
    rows: pd.DataFrame,
    unseen: Mapping[str, float],
    fitted_sites: Mapping[str, str] = MappingProxyType({}),
) -> NewSites:
    """Set rows side by side, by their scores alone."""
    read = ("n_images", HIGHEST, COUNTED, f"{WEIGHT}{regression.target}", *regression.features_)
    scores = [name for name in rows if str(name).partition("/")[0] in read and name != "n_images"]
    names = rows["group"] + "\0" + rows["period"]
    stacked = regression.site_rows(rows[scores].assign(site=names))
    stacked = stacked[stacked["n_images"].notna()]  # of the categories that a site has
    places = {name: k for k, name in enumerate(names)}
    stacked = stacked.sort_values("site", key=lambda sites: sites.map(places), kind="stable")
    stacked = stacked.reset_index(drop=True)
    shares = {
        name: unseen.get(str(group), 0.0) for name, group in zip(names, rows["group"], strict=True)
    }
    sources = {
        name: fitted_sites[group]
        for name, group in zip(names, rows["group"], strict=True)
        if group in fitted_sites
    }
    return NewSites(
        regression, stacked, level=regression.level, unseen=shares, fitted_sites=sources
    )
