"""Estimates for each category, where rare categories borrow from the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from typing_extensions import Self

from autoeval.accuracy.measures import find_target
from autoeval.errors import InputError
from autoeval.estimation.category_scores import stack_categories
from autoeval.model.pair_table import SEED
from autoeval.model.regression import MIN_SOURCES
from autoeval.stability.methods import Method, make_method, readable
from autoeval.stability.methods.linear import BestThreshold
from autoeval.stability.methods.score_rows import Rows, groups_of, seed_rows
from autoeval.stability.methods.source_regression import inside, source_interval


def categories_of(table: pd.DataFrame, target: str) -> list[str]:
    """Return the categories that a score table has a column ``target/category`` for.

    Parameters
    ----------
    table : DataFrame
        A score table.
    target : str
        Name of an accuracy.

    Examples
    --------
    >>> categories_of(pd.DataFrame(columns=["mAP", "mAP/car", "mAP50/car", "mAP/van"]), "mAP")
    ['car', 'van']
    """
    return [name.partition("/")[2] for name in table if name.startswith(f"{target}/")]


def has_categories(table: pd.DataFrame, method: str, target: str) -> bool:
    """Whether a score table has the target by category, and all that a method reads.

    Counting errors are of all categories together, and scores such as ``fd`` of whole images.

    Parameters
    ----------
    table : DataFrame
        A score table.
    method : str
        See `make_method`.
    target : str
        Name of an accuracy.
    """
    stems = {name.partition("/")[0] for name in table if "/" in name}
    return {*readable(make_method(method), stems), target} <= stems


class PartialPooling:
    """One regressor for all categories, and for each an offset that is shrunk to none.

    The offset of a category is its mean error over sources; it is kept to the share
    :math:`τ² / (τ² + σ² / m)`, with m the number of sources that hold the category, σ²
    the variance of errors between sources and τ² that between categories beyond chance, by the
    method of moments (DerSimonian & Laird 1986).

    Parameters
    ----------
    method : str
        See `make_method`.
    """

    def __init__(self, method: str) -> None:
        self.method = method

    def fit(self, rows: Rows, target: str) -> Self:
        """Fit on rows of categories; those without a finite target are left out.

        Parameters
        ----------
        rows : Rows
            With a column ``category``.
        target : str
            Column of the accuracy.

        Raises
        ------
        InputError
            If no row has a finite target, or the method cannot be fitted.
        """
        rows = rows.where(np.isfinite(rows[target].astype(np.float64)))
        if not len(rows):
            raise InputError(f"Expected categories with finite {target} but none has any.")
        method = make_method(self.method)
        # A set in which a category is not found speaks for no threshold of its scores.
        for family in method.families if isinstance(method, BestThreshold) else ():
            scored = np.asarray(np.isfinite(rows.matrix(family)).any(axis=1))
            rows = rows.where(scored) if scored.any() else rows
        self.common_: Method = method.fit(rows, target)
        seeds = rows.of_kind(SEED)
        errors = seeds[target].astype(np.float64) - self.common_.predict(seeds)
        names = ["category", "source"]
        means = pd.DataFrame({"error": errors} | {name: seeds[name] for name in names})
        means = means.groupby(names)["error"].mean()
        defined = means[np.isfinite(means)].groupby(level="category")
        by_category = {
            str(category): category_means.to_numpy() for category, category_means in defined
        }
        self.offsets_ = shrunken_means(by_category)
        return self

    def predict(self, rows: Rows) -> np.ndarray:
        """Estimate the target for each row; unseen categories have no offset.

        Parameters
        ----------
        rows : Rows
            With a column ``category``.
        """
        offsets = [self.offsets_.get(str(category), 0.0) for category in rows["category"]]
        return self.common_.predict(rows) + np.array(offsets)


def shrunken_means(groups: dict[str, np.ndarray]) -> dict[str, float]:
    """Shrink the mean of each group towards 0 by what its size says of it; see `PartialPooling`.

    Parameters
    ----------
    groups : dict of str to ndarray of shape (m,)
        At least one finite value each.

    Returns
    -------
    dict of str to float
        All 0 where each group has one value, by which no variance is known.

    Examples
    --------
    >>> sure, rare = np.array([.2, .2, .2, .2]), np.array([.4])
    >>> {name: round(mean, 2) for name, mean in shrunken_means({"car": sure, "van": rare}).items()}
    {'car': 0.2, 'van': 0.4}
    """
    means = {name: float(values.mean()) for name, values in groups.items()}
    scatter = sum(float(np.sum((v - v.mean()) ** 2)) for v in groups.values())
    freedom = sum(len(v) - 1 for v in groups.values())
    if not freedom:
        return dict.fromkeys(groups, 0.0)
    within = scatter / freedom
    noise = {name: within / len(values) for name, values in groups.items()}
    squares = np.array([means[name] ** 2 - noise[name] for name in groups])
    between = max(float(squares.mean()), 0.0)
    return {
        name: mean * between / (between + noise[name]) if between else 0.0
        for name, mean in means.items()
    }


def estimate_categories(
    table: pd.DataFrame,
    rows: pd.DataFrame,
    *,
    method: str,
    target: str = "mAP",
    level: float = 0.9,
) -> pd.DataFrame:
    """Estimate the accuracy of each category, with an interval by source.

    The errors behind the interval are those on each source by the other groups of sources.

    Parameters
    ----------
    table : DataFrame
        Score table of the fit, with columns such as ``bos/car`` and ``mAP/car``.
    rows : DataFrame
        Scores of the new images, one row a repeat.
    method : str
        See `make_method`.
    target : str
        Name of the accuracy.
    level : float
        Nominal coverage.

    Returns
    -------
    DataFrame
        One row a category: ``category``, ``estimate``, ``lower``, ``upper``, ``interval_method``,
        ``sources`` (whose own images hold it; an interval needs three groups of such).

    Raises
    ------
    InputError
        If the table has no such columns.
    """
    if not has_categories(table, method, target):
        raise InputError(
            f"Expected columns such as {target}/CATEGORY for a task of several categories."
        )
    categories = categories_of(table, target)
    stacked = stack_categories(table, categories)
    new_rows = stack_categories(rows, categories)
    stacked = stacked.assign(group=stacked["source"].astype(str).map(groups_of(table)))
    whole = _estimate(stacked, new_rows, method, target)
    without, missed = dict[str, pd.Series](), dict[str, pd.Series]()
    # Fewer groups give no interval, and without the only one nothing is left to fit on.
    several = stacked["group"].nunique() >= MIN_SOURCES
    for _, of_group in stacked.groupby("group") if several else ():
        rest = stacked[stacked["group"] != of_group["group"].iloc[0]]
        estimate = _estimate(rest, new_rows, method, target)
        for name, of_source in of_group.groupby("source"):
            without[str(name)] = estimate
            missed[str(name)] = _estimate(rest, seed_rows(of_source), method, target)
    return pd.DataFrame(
        [_row(c, stacked, whole, without, missed, target, level) for c in categories]
    )


def _estimate(
    training: pd.DataFrame, new_rows: pd.DataFrame, method: str, target: str
) -> pd.Series:
    """Estimate by category, mean over repeats, each by the regressor of its repeat."""
    names = (*make_method(method).features, target, "category")
    parts = []
    for repeat, rows in new_rows.groupby("repeat"):
        fitted = PartialPooling(method).fit(
            Rows.of(training[training["repeat"] == repeat], names), target
        )
        parts.append(pd.Series(fitted.predict(Rows.of(rows, names)), rows["category"]))
    return pd.concat(parts).groupby(level=0).mean() if parts else pd.Series(dtype=float)


def _row(
    category: str,
    stacked: pd.DataFrame,
    whole: pd.Series,
    without: Mapping[str, pd.Series],
    missed: Mapping[str, pd.Series],
    target: str,
    level: float,
) -> dict[str, Any]:
    seeds = seed_rows(stacked)
    true = seeds[seeds["category"] == category].groupby("source")[target].first().dropna()
    estimates = {name: missed[name].get(category, np.nan) for name in true.index if name in missed}
    evaluated = [name for name, estimate in estimates.items() if np.isfinite(estimate)]
    residuals = np.array([abs(estimates[name] - true[name]) for name in evaluated])
    left_out = np.array([without[name][category] for name in evaluated])
    groups = seeds.groupby("source")["group"].first()[evaluated].to_numpy()
    interval = source_interval(
        float(whole[category]), left_out, residuals, groups=groups, level=level
    )
    interval = inside(interval, float(whole[category]), most=find_target(target).upper)
    clip = find_target(target).clip
    return {
        "category": category,
        "estimate": float(clip(whole[category])),
        "lower": interval.lower,
        "upper": interval.upper,
        "interval_method": interval.method,
        "sources": len(evaluated) if len(set(groups)) >= MIN_SOURCES else len(true),
    }
