"""The error by number of sample sets, repeats and images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from autoeval.report.plots import figure_of, integer_steps, plot_curves
from autoeval.report.sections import Part, StudyReport, interval_cells, side_by_side
from autoeval.research.reports.score_correlation import HELD_OUT
from autoeval.research.studies.held_out import StudySettings
from autoeval.research.studies.observed import Observations
from autoeval.research.studies.sampling_sizes import dropout_repeats, size_of_meta_set
from autoeval.research.studies.set_sizes import size_of_sample_sets, size_of_test_set
from autoeval.targets import find_target

SHOWN = ("error", "constant", "coverage", "half_width")
ABOUT = (
    "Mean absolute error of the default method, each family evaluated by the others, against what "
    "is observed: passes of the network for each of the sources' own images, those of transformed "
    "sample sets added. In points; coverage of intervals of nominally 90 %, half-width: the median."
)


def meta_set_size_report(
    scores: pd.DataFrame,
    *,
    methods: Sequence[str],
    target: str = "mAP",
    sizes: Sequence[int] = (),
    draws: int = 20,
    seed: int = 0,
) -> StudyReport:
    """Fit on fewer sample sets (Yang et al. 2024, figure 4 a)."""
    settings = StudySettings(tuple(methods), target, seed=seed)
    result = size_of_meta_set(scores, settings, sizes=sizes, draws=draws)
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
    """Average fewer dropout repeats; the parameters are those of `meta_set_size_report`."""
    result = dropout_repeats(scores, StudySettings(tuple(methods), target, seed=seed))
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
    """Fit on smaller sample sets (Yang et al. 2024, figure 4 b)."""
    settings = StudySettings(tuple(methods), target, seed=seed)
    return _size_report(
        "sample_set_size",
        "Error by the number of images in a sample set",
        f"Smaller sample sets are random subsets of those there are. {draws} draws of each size.",
        observations,
        size_of_sample_sets(observations, settings, sizes=sizes, draws=draws),
        target,
    )


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

    The parameters are those of `sample_set_size_report`.
    """
    settings = StudySettings(tuple(methods), target, seed=seed)
    return _size_report(
        "test_set_size",
        "Error by the number of test images",
        "Smaller test sets are random subsets of a source's own images; the truth is the accuracy "
        f"on all of them. Sources with fewer images take part with all. {draws} draws of each "
        "size.",
        observations,
        size_of_test_set(observations, settings, sizes=sizes, draws=draws),
        target,
    )


def _size_report(
    name: str,
    title: str,
    about: str,
    observations: Observations,
    result: pd.DataFrame,
    target: str,
) -> StudyReport:
    report = _error_report(name, title, f"{HELD_OUT} {about}", result, x="images", target=target)
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

    `spread` is shown behind the errors of each method, as "± seed" or "± draws".
    """
    what = find_target(target)
    cells = interval_cells(result, "error", scale=what.scale, digits=what.digits)
    shown = side_by_side(result, x, "method", cells)
    scaled = what.scale * result[spread]
    cells = [f"{value:.2f}" if value == value else None for value in scaled]
    spreads = side_by_side(result, x, "method", cells)
    suffix = "± draws" if spread == "std" else "± seed"
    shown = shown.merge(spreads, on=x, suffixes=("", f" {suffix}"))
    ax = plot_curves(
        result, x=x, y="error", group="method", band=("lower", "upper"), scale=what.scale
    )
    integer_steps(ax, result[x])
    label = x.replace("_", " ")
    ax.set(xlabel=label, ylabel=f"mean absolute error ({what.unit})")
    ax.set_ylim(bottom=0)
    about = f"{about} In {what.unit}."
    return StudyReport(
        name, title, about, figure_of(ax), [Part(name, result, shown.rename(columns={x: label}))]
    )
