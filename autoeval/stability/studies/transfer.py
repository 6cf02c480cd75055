"""Errors at other sites and categories: fitted on some pairs, evaluated on the rest.

All functions take pair tables (`autoeval.estimation.pair_table`), one of sites and one of
the categories of a labelled set, and return evaluated pairs: the columns of `evaluate`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import QuantileRegressor

from autoeval.errors import InputError
from autoeval.estimation.bayesian_regression import BayesianRegression
from autoeval.estimation.pair_table import CATEGORY, values_of
from autoeval.estimation.score_table import SEED
from autoeval.runtime.progress import progress_bar

KEYS = ["source", "group", "category", "n_images"]


def sites_of(table: pd.DataFrame) -> pd.DataFrame:
    """Return the pairs of sites, with their images as they come."""
    return table[table["kind"] == SEED].reset_index(drop=True)


def labelled_of(table: pd.DataFrame) -> pd.DataFrame:
    """Return the pairs that are categories of a labelled set."""
    return table[table["kind"] == CATEGORY].reset_index(drop=True)


def evaluate(
    fitted_on: pd.DataFrame,
    requested: pd.DataFrame,
    *,
    target: str = "mAP",
    level: float = 0.9,
    features: Sequence[str] | None = None,
    estimator: Callable[..., Any] = BayesianRegression,
) -> pd.DataFrame:
    """Fit on some pairs and estimate others; `estimator` is made of the target, level and features.

    ``constant`` is the mean of the target over the pairs fitted on, ``inside`` whether every score
    lies in their range.
    """
    fitted = estimator(target=target, level=level, features=features).fit(fitted_on)
    predicted = fitted.predict(requested)
    x, seen = (values_of(rows, fitted.features_) for rows in (requested, fitted.rows_))
    return requested[KEYS].assign(
        true=requested[target],
        estimate=[t.value for t in predicted],
        lower=[t.lower for t in predicted],
        upper=[t.upper for t in predicted],
        constant=float(fitted.rows_[target].mean()),
        inside=((x >= seen.min(axis=0)) & (x <= seen.max(axis=0))).all(axis=1),
    )


def groups_left_out(
    sites: pd.DataFrame, labelled: pd.DataFrame | None = None, **options: Any
) -> pd.DataFrame:
    """Evaluate each group by the others, and by a labelled set of other origin."""
    parts = []
    for group, left_out in sites.groupby("group", sort=False):
        fitted_on = _of_other_groups(pd.concat([sites, labelled]), [group])
        parts.append(evaluate(fitted_on, left_out, **options))
    return pd.concat(parts, ignore_index=True)


def few_groups(
    sites: pd.DataFrame,
    labelled: pd.DataFrame | None = None,
    *,
    m: int,
    draws: int = 20,
    seed: int = 0,
    **options: Any,
) -> pd.DataFrame:
    """Evaluate all other sites by m groups drawn at random, `draws` times (column ``draw``).

    With `labelled`, its categories are known too, and its group is never evaluated.
    """
    groups = list(dict.fromkeys(sites["group"]))
    if labelled is not None:
        groups = [name for name in groups if name not in set(labelled["group"])]
    if not 0 <= m < len(groups) or (m == 0 and labelled is None):
        raise InputError(f"Expected 1 to {len(groups) - 1} groups to fit on but got {m}.")
    rng = np.random.default_rng([seed, m])
    parts = []
    for draw in range(draws if m else 1):
        chosen = rng.choice(groups, m, replace=False)
        fitted_on = pd.concat([sites[sites["group"].isin(chosen)], labelled])
        rest = [name for name in groups if name not in chosen]
        parts.append(
            evaluate(fitted_on, sites[sites["group"].isin(rest)], **options).assign(draw=draw)
        )
    return pd.concat(parts, ignore_index=True)


def across_categories(sites: pd.DataFrame, **options: Any) -> pd.DataFrame:
    """Evaluate each pair by the sites of other categories alone, of other groups."""
    parts = []
    for (category, group), left_out in sites.groupby(["category", "group"], sort=False):
        fitted_on = _of_other_groups(sites[sites["category"] != category], [group])
        parts.append(evaluate(fitted_on, left_out, **options))
    return pd.concat(parts, ignore_index=True)


def by_labelled_set(
    labelled: pd.DataFrame, sites: pd.DataFrame, *, without: Sequence[str] = (), **options: Any
) -> pd.DataFrame:
    """Evaluate sites of other origin by the categories of a labelled set, some left out."""
    fitted_on = labelled[~labelled["category"].isin(without)]
    return evaluate(fitted_on, _of_other_groups(sites, set(labelled["group"])), **options)


def mean_deviations(sites: pd.DataFrame, labelled: pd.DataFrame, **options: Any) -> pd.DataFrame:
    """Return the mean deviation of labelled sets from their estimate by sites of other origin.

    Images that the detector was trained on should be more accurate than their scores predict.
    ``off`` is the mean over pairs of the truth minus the estimate (over groups for the sites),
    ``spread`` its standard deviation over groups; NaN for a set.
    """
    left_out = groups_left_out(sites, **options)
    deviations = (left_out["true"] - left_out["estimate"]).groupby(left_out["group"]).mean()
    rows = [("sites by the others", len(left_out), deviations.mean(), deviations.std())]
    for name, pairs in labelled.groupby("source", sort=False):
        evaluated = evaluate(_of_other_groups(sites, set(pairs["group"])), pairs, **options)
        rows.append(
            (str(name), len(pairs), (evaluated["true"] - evaluated["estimate"]).mean(), np.nan)
        )
    return pd.DataFrame(rows, columns=["set", "pairs", "off", "spread"])


def sizes(
    sites: pd.DataFrame,
    labelled: pd.DataFrame,
    numbers: Sequence[int],
    *,
    draws: int = 20,
    seed: int = 0,
    **options: Any,
) -> Iterator[tuple[int, bool, pd.DataFrame]]:
    """Yield `few_groups` for each number of groups, with and without the labelled set."""
    most = sites["group"].nunique()
    todo = [(m, w) for m in numbers for w in (True, False) if (m or w) and m < most - 1]
    with progress_bar(len(todo), "fitting on few groups", unit="cell") as bar:
        for m, with_set in todo:
            fitted_set = labelled if with_set else None
            evaluated = few_groups(sites, fitted_set, m=m, draws=draws, seed=seed, **options)
            yield m, with_set, evaluated
            bar.update()


def figures(evaluated: pd.DataFrame) -> dict[str, float]:
    """Sum up evaluated pairs; a group counts once in each draw, and draws count the same.

    In ``error``, mean absolute, a refused estimate counts as the constant does; ``by_pair`` is the
    error with each pair counting the same; ``half_width`` the median, ``refused`` a share.
    """
    true, given = evaluated["true"], evaluated["estimate"].fillna(evaluated["constant"])
    inside = (evaluated["lower"] <= true) & (true <= evaluated["upper"])
    errors = pd.DataFrame(
        {
            "error": (given - true).abs(),
            "constant": (evaluated["constant"] - true).abs(),
            "coverage": inside.astype(float).where(evaluated["lower"].notna()),
            "refused": evaluated["estimate"].isna().astype(float),
        }
    )
    keys = [evaluated[name] for name in ("draw", "group") if name in evaluated]
    return {
        **errors.groupby(keys, sort=False).mean().mean().to_dict(),
        "by_pair": float(errors["error"].mean()),
        "half_width": float((evaluated["upper"] - evaluated["lower"]).median() / 2),
        "pairs": len(evaluated),
        "groups": evaluated["group"].nunique(),
    }


def _of_other_groups(table: pd.DataFrame, groups: Sequence[str] | set[str]) -> pd.DataFrame:
    return table[~table["group"].isin(list(groups))]


def in_hindsight(
    sites: pd.DataFrame, *, target: str = "mAP", features: Sequence[str]
) -> pd.DataFrame:
    """Evaluate sites by the line of least absolute error on themselves, a group counting once.

    No one line of these scores errs less on these sites; optimistic, since it knows every truth.
    Source: Koenker & Bassett 1978 (median regression), by scikit-learn.
    """
    x, y = values_of(sites, features), sites[target].to_numpy(np.float64)
    weights = 1 / sites.groupby(["group", "category"])[target].transform("size").to_numpy()
    line = QuantileRegressor(quantile=0.5, alpha=0.0).fit(x, y, sample_weight=weights)
    return sites[KEYS].assign(
        true=y, estimate=line.predict(x), lower=np.nan, upper=np.nan, constant=y.mean(), inside=True
    )
