"""The error by number of sample sets, repeats and images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from autoeval.accuracy.measures import find_target
from autoeval.report.charts import figure_of, log_ticks_at, plot_curves
from autoeval.report.page import Table
from autoeval.stability.methods.score_rows import of_category
from autoeval.stability.reports.score_correlation import HELD_OUT
from autoeval.stability.reports.study_report import StudyReport, interval_cells, side_by_side
from autoeval.stability.studies.kept_boxes import Observations
from autoeval.stability.studies.set_sizes import (
    StudySettings,
    dropout_repeats,
    size_of_meta_set,
    size_of_sample_sets,
    size_of_test_set,
)


def meta_set_size_report(
    scores: pd.DataFrame,
    *,
    methods: Sequence[str],
    target: str,
    sizes: Sequence[int] = (),
    draws: int = 20,
    seed: int = 0,
) -> StudyReport:
    """Fit on fewer sample sets (Yang et al. 2024, figure 4 a).

    Parameters
    ----------
    scores : DataFrame
        A score table.
    methods : sequence of str
        Names of methods.
    target : str
        Column of the accuracy; that of a category is estimated by its own scores.
    sizes, draws
        See `size_of_meta_set`.
    seed : int
        Of draws and intervals.
    """
    rows, plain = of_category(scores, target)
    settings = StudySettings(tuple(methods), plain, seed=seed)
    result = size_of_meta_set(rows, settings, sizes=sizes, draws=draws)
    return _error_report(
        "meta_set_size",
        "Error by the number of sample sets of each source",
        f"{HELD_OUT} Sample sets drawn {draws} times.",
        result,
        x="sample_sets",
        target=target,
    )


def repeats_report(
    scores: pd.DataFrame, *, methods: Sequence[str], target: str = "mAP", seed: int = 0
) -> StudyReport:
    """Average fewer dropout repeats.

    Parameters
    ----------
    scores, methods, target, seed
        See `meta_set_size_report`.

    Raises
    ------
    InputError
        If the table has a single repeat.
    """
    rows, plain = of_category(scores, target)
    result = dropout_repeats(rows, StudySettings(tuple(methods), plain, seed=seed))
    return _error_report(
        "repeats",
        "Error by the number of dropout repeats",
        f"{HELD_OUT} The estimates of the repeats are averaged; every choice of repeats, or "
        "fifty drawn ones. *± seed*: standard deviation of a source's estimate under fresh "
        "dropout seeds, that between repeats by the root of their number.",
        result,
        x="repeats",
        target=target,
        spread="spread",
    )


def sample_set_size_report(
    observations: Observations,
    *,
    methods: Sequence[str],
    target: str = "mAP",
    sizes: Sequence[int] = (),
    draws: int = 5,
    seed: int = 0,
) -> StudyReport:
    """Fit on smaller sample sets (Yang et al. 2024, figure 4 b).

    Parameters
    ----------
    observations : Observations
        Of the own images and the sample sets.
    methods, target, seed
        See `meta_set_size_report`.
    sizes, draws
        See `size_of_sample_sets`.
    """
    settings = StudySettings(tuple(methods), target, seed=seed)
    result = size_of_sample_sets(observations, settings, sizes=sizes, draws=draws)
    report = _error_report(
        "sample_set_size",
        "Error by the number of images in a sample set",
        f"{HELD_OUT} Smaller sample sets are random subsets of those there are. {draws} draws of "
        "each size.",
        result,
        x="images",
        target=target,
    )
    return replace(report, warnings=observations.warnings)


def test_set_size_report(
    observations: Observations,
    *,
    methods: Sequence[str],
    target: str = "mAP",
    sizes: Sequence[int] = (),
    draws: int = 10,
    seed: int = 0,
) -> StudyReport:
    """Estimate from fewer test images (Yang et al. 2024, figure 4 c).

    Parameters
    ----------
    observations, methods, target, seed
        See `sample_set_size_report`.
    sizes, draws
        See `size_of_test_set`.
    """
    settings = StudySettings(tuple(methods), target, seed=seed)
    result = size_of_test_set(observations, settings, sizes=sizes, draws=draws)
    report = _error_report(
        "test_set_size",
        "Error by the number of test images",
        f"{HELD_OUT} Smaller test sets are random subsets of a source's own images; the truth is "
        "the accuracy on all of them. Sources with fewer images take part with all. "
        f"{draws} draws of each size.",
        result,
        x="images",
        target=target,
    )
    return replace(report, warnings=observations.warnings)


def _error_report(
    name: str,
    title: str,
    about: str,
    result: pd.DataFrame,
    *,
    x: str,
    target: str,
    spread: str = "std",
) -> StudyReport:
    """Report an error that depends on a size: columns `x`, ``method``, ``error``, and `spread`.

    `spread` is shown behind the errors of each method, as "± draws" or "± seed".
    """
    described = find_target(target)
    cells = interval_cells(result, "error", scale=described.scale, digits=described.digits)
    shown = side_by_side(result, x, "method", cells)
    scaled = [
        None if math.isnan(value) else f"{value:.2f}" for value in described.scale * result[spread]
    ]
    spreads = side_by_side(result, x, "method", scaled)
    suffix = "± draws" if spread == "std" else "± seed"
    shown = shown.merge(spreads, on=x, suffixes=("", f" {suffix}"))
    ax = plot_curves(
        result, x=x, y="error", lines="method", band=("lower", "upper"), scale=described.scale
    )
    log_ticks_at(ax, result[x])
    label = x.replace("_", " ")
    ax.set(xlabel=label, ylabel=f"mean absolute error ({described.unit})")
    ax.set_ylim(bottom=0)
    parts = [Table(name, result, shown.rename(columns={x: label}))]
    return StudyReport(name, title, f"{about} In {described.unit}.", figure_of(ax), parts)
