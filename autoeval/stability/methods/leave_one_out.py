"""Leave-one-group-out evaluation of a method on a score table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.estimation.protocol import BASELINE, LeaveOneSourceOut, spearman
from autoeval.estimation.score_table import sources
from autoeval.model.pair_table import leave_one_group_out
from autoeval.model.regression import MIN_SOURCES
from autoeval.runtime.progress import progress_bar
from autoeval.stability.methods.published_estimate import PublishedEstimate
from autoeval.stability.methods.registry import make_method
from autoeval.stability.methods.score_rows import (
    check_score_table,
    groups_of,
    sample_rows,
    seed_rows,
)
from autoeval.stability.methods.source_regression import AnyRegression, make_regression
from autoeval.targets import find_target


def leave_one_source_out(
    table: pd.DataFrame,
    method: str,
    *,
    target: str = "mAP",
    level: float = 0.9,
    by_group: Mapping[str, pd.DataFrame] | None = None,
) -> LeaveOneSourceOut:
    """Fit on all groups but one, estimate the own images of its sources, for each in turn.

    by_group: score tables of the same sources, each in place of `table` where this group is left
        out, such as by a dropout that was searched without it. The result then has no correlation.

    A source without a group (column ``group``) is its own. Source: Yang et al. 2024, section 5.1;
    sample sets of one source are never on both sides, nor sources of one origin.
    """
    find_target(target)
    check_score_table(table, (target,))
    own_rows = seed_rows(table)
    labelled = own_rows.loc[np.isfinite(own_rows[target]), "source"]
    table = table[table["source"].isin(labelled)]
    names = sources(table)
    group_of = groups_of(table)
    different = dict.fromkeys(group_of.values())
    if len(different) < MIN_SOURCES:
        raise InputError(
            f"Expected at least {MIN_SOURCES} groups of sources with {target} to leave one out "
            f"but got {len(different)} ({', '.join(different)}). Add labelled seed sets of other "
            "origin."
        )
    held_out: dict[str, tuple[dict[str, Any], np.ndarray]] = {}
    with progress_bar(len(names), f"leave one source out ({method})", unit="source") as bar:
        for rest, left_out in leave_one_group_out(table["source"].map(group_of)):
            training, read = table.iloc[rest], table
            left_names = sources(table.iloc[left_out])
            if by_group is not None:
                read = by_group[group_of[left_names[0]]]
                training = read[read["source"].isin(sources(training))]
            regression = make_regression(method, target=target, level=level).fit(training)
            for name in left_names:
                record, error = _held_out(read, name, group_of, regression)
                if np.isnan(error).any():
                    constant = make_regression(BASELINE, target=target, level=level)
                    fitted = constant.fit(training)
                    record, error = _held_out(read, name, group_of, fitted)
                    record["missing"] = True
                held_out[name] = (record, error)
                bar.update()
    per_source = pd.DataFrame([held_out[name][0] for name in names])
    by_repeat = np.mean([held_out[name][1] for name in names], axis=0)
    correlation = _correlation(table, method, target) if by_group is None else {}
    return LeaveOneSourceOut(method, target, per_source, by_repeat, correlation)


def _held_out(
    table: pd.DataFrame, name: str, group_of: Mapping[str, str], regression: AnyRegression
) -> tuple[dict[str, Any], np.ndarray]:
    """Estimate the own images of a source by a regression that has not seen its group."""
    seeds = seed_rows(table[table["source"] == name])
    estimate = regression.predict_rows(seeds)
    true = float(seeds[regression.target].iloc[0])
    error = np.abs(regression.predict_repeats(seeds) - true)
    record = {
        "source": name,
        "group": group_of[name],
        "n_images": estimate.n_images,
        "true": true,
        "estimate": estimate.value,
        "std": estimate.std if isinstance(estimate, PublishedEstimate) else math.nan,
        "error": float(error.mean()),
        "error_std": float(error.std()) if len(error) > 1 else math.nan,
        "lower": estimate.lower,
        "upper": estimate.upper,
        "interval_method": estimate.interval_method,
        "missing": False,
    }
    return record, error


def _correlation(table: pd.DataFrame, method: str, target: str) -> dict[str, float]:
    features = make_method(method).features
    if len(features) != 1:
        return {}
    rows = sample_rows(table).groupby(["source", "sample_set"])[[*features, target]].mean().dropna()
    if len(rows) < MIN_SOURCES or rows.nunique().min() < 2:
        return {}
    from scipy.stats import pearsonr

    x, y = rows[features[0]].to_numpy(), rows[target].to_numpy()
    return {"r2": float(pearsonr(x, y).statistic ** 2), "spearman": spearman(x, y)}
