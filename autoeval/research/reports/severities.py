"""How the error grows with the severity of a corruption."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from autoeval.report.plots import figure_of, plot_curves
from autoeval.report.sections import Part, StudyReport, interval_cells, side_by_side
from autoeval.research.studies.held_out import StudySettings, error_by, held_out_under_corruption
from autoeval.targets import Target, find_target


def severity_report(
    scores: pd.DataFrame,
    *,
    methods: Sequence[str],
    target: str = "mAP",
    fit_on: pd.DataFrame | None = None,
    seed: int = 0,
) -> StudyReport:
    """Estimate corrupted sample sets, severity by severity."""
    settings, accuracy = StudySettings(tuple(methods), target, seed=seed), find_target(target)
    held_out = held_out_under_corruption(scores, settings, fitted_on=fit_on)
    by_severity, by_corruption = (
        error_by(held_out, column, settings) for column in ("severity", "corruption")
    )
    parts = [
        _part("severity", by_severity, "severity", accuracy),
        _part("severity_by_corruption", by_corruption, "corruption", accuracy),
    ]
    ax = plot_curves(
        by_severity,
        x="severity",
        y="error",
        group="method",
        band=("lower", "upper"),
        scale=accuracy.scale,
    )
    ax.set(xlabel="severity (0: own images)", ylabel=f"mean absolute error ({accuracy.unit})")
    ax.set_ylim(bottom=0)
    other = "the corrupted sample sets of the other sources"
    return StudyReport(
        "severity",
        "Error by severity of the corruption",
        f"Each corrupted sample set estimated by a regressor fitted on "
        f"{other if fit_on is None else 'another meta-set'}, without its "
        f"source; mean absolute error in {accuracy.unit}, in brackets the 90 % bootstrap interval "
        "over sources. *No estimate*: share of the sample sets on which nothing was found that the "
        "method could estimate from; they are not in its error.",
        figure_of(ax),
        parts,
    )


def _part(name: str, result: pd.DataFrame, column: str, target: Target) -> Part:
    """Lay methods side by side, one row for each value of `column`."""
    cells = interval_cells(result, "error", scale=target.scale, digits=target.digits)
    wide = side_by_side(result, column, "method", cells)
    means = target.scale * result.groupby(column, sort=False)["true"].first()
    wide.insert(1, f"true {target.name}", means.to_numpy())
    wide = wide.merge(_without_estimate(result, column), on=column)
    return Part(name, result, wide, {f"true {target.name}": target.format})


def _without_estimate(result: pd.DataFrame, column: str) -> pd.DataFrame:
    """Lay out the share of sample sets without an estimate, of the methods that have any."""
    some = result.groupby("method")["no_estimate"].transform("max") > 0
    lacking = result[some]
    if lacking.empty:
        return result[[column]].drop_duplicates()
    lacking = lacking.assign(method=lacking["method"] + " no estimate")
    cells = [f"{share:.0%}" for share in lacking["no_estimate"]]
    return side_by_side(lacking, column, "method", cells)
