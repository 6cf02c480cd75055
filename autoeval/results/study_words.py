"""What the reports of several studies share."""

from __future__ import annotations

import argparse

import pandas as pd

from autoeval.report.curves import figure_of, integer_steps, plot_curves
from autoeval.report.parts import Part
from autoeval.report.study_report import StudyReport, interval_cells, side_by_side
from autoeval.studies.held_out import Judging
from autoeval.targets import find_target

R2 = "R² (90 %)"
OVER_SAMPLE_SETS = (
    "Over all sample sets, scores averaged over dropout repeats; in brackets the 90 % bootstrap "
    "interval over sources."
)
HELD_OUT = (
    "Mean absolute error on the own images of a source that had no part in the fit; in brackets "
    "the 90 % bootstrap interval over sources."
)


def judging_of(args: argparse.Namespace) -> Judging:
    """Return what ``--methods``, ``--target`` and ``--seed`` ask for."""
    return Judging(tuple(args.methods), args.target, seed=args.seed)


def error_report(
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
