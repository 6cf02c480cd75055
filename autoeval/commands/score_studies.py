"""The studies that need nothing but a score table: from arguments to a report."""

from __future__ import annotations

import argparse

import pandas as pd

from autoeval.report.curves import figure_of, plot_curves
from autoeval.report.parts import Part
from autoeval.report.scatter_grid import plot_scatter_grid
from autoeval.report.study_report import StudyReport, interval_cells, side_by_side
from autoeval.results.study_words import HELD_OUT, OVER_SAMPLE_SETS, R2, error_report, judging_of
from autoeval.studies.correlation import correlation
from autoeval.studies.meta_set_size import size_of_meta_set
from autoeval.studies.repeats import dropout_repeats
from autoeval.studies.score_columns import mean_over_repeats, read_scores
from autoeval.studies.severity import error_by, held_out_under_corruption
from autoeval.studies.thresholds import PAPER, best_thresholds, thresholds
from autoeval.targets import find_target


def correlation_report(args: argparse.Namespace) -> StudyReport:
    """Correlate scores with the accuracy (figures 2, 7, 9 and 10)."""
    table, target = read_scores(args.scores), find_target(args.target)
    result = correlation(table, args.features, target=target.name, seed=args.seed)
    shown = pd.DataFrame(
        {
            "score": result["feature"],
            R2: interval_cells(result, "r2"),
            "ρ": result["spearman"],
            "R² within sources": result["r2_within"],
            "sample sets": result["sample_sets"],
        }
    )
    drawn = result[result["r2"].notna()].head(args.most)
    titles = {
        name: f"R² {r2:.2f}, ρ {rho:.2f}"
        for name, r2, rho in drawn[["feature", "r2", "spearman"]].itertuples(index=False)
    }
    points = mean_over_repeats(table, [*titles, target.name])
    return StudyReport(
        "correlation",
        f"{target.name} against each score",
        f"{OVER_SAMPLE_SETS} *Within sources*: after the mean of its source is taken from every "
        "sample set. A thresholded score stands with the threshold that correlates best here, "
        "which flatters it.",
        plot_scatter_grid(points, titles, target=target),
        [Part("correlation", result, shown, {"ρ": "{:.2f}", "R² within sources": "{:.2f}"})],
    )


def thresholds_report(args: argparse.Namespace) -> StudyReport:
    """Correlate thresholded scores at every threshold (figure 6)."""
    result = thresholds(read_scores(args.scores), args.families, target=args.target, seed=args.seed)
    best = best_thresholds(result)
    shown = pd.DataFrame(
        {
            "score": best["score"],
            "best τ": best["best"],
            R2: interval_cells(best, "r2"),
            "ρ": best["spearman"],
            "sample sets": best["sample_sets"],
            "paper's τ": best["paper"],
            "R² there": best["r2_paper"],
        }
    )
    ax = plot_curves(result, x="threshold", y="r2", group="score", marks=PAPER)
    ax.set(xlabel="threshold τ (ringed: the paper's)", ylabel=f"R² with {args.target}", ylim=(0, 1))
    formats = dict.fromkeys(("best τ", "ρ", "paper's τ", "R² there"), "{:.2f}")
    return StudyReport(
        "thresholds",
        f"R² of thresholded scores with {args.target}, by threshold",
        f"{OVER_SAMPLE_SETS} Where no box is over a threshold, a sample set has no value, and R² "
        "is over the others alone: `sample_sets` in the CSV file says how many. A threshold that "
        "leaves out more than one in ten is not called the best.",
        figure_of(ax),
        [Part("thresholds", result, shown, formats)],
    )


def meta_set_size_report(args: argparse.Namespace) -> StudyReport:
    """Fit on fewer sample sets (figure 4 a)."""
    table = read_scores(args.scores)
    result = size_of_meta_set(table, judging_of(args), sizes=args.sizes, draws=args.draws)
    return error_report(
        "meta_set_size",
        "Error by the number of sample sets of each source",
        f"{HELD_OUT} Sample sets drawn {args.draws} times.",
        result,
        x="sample_sets",
        target=args.target,
    )


def repeats_report(args: argparse.Namespace) -> StudyReport:
    """Average fewer dropout repeats."""
    table = read_scores(args.scores)
    result = dropout_repeats(table, judging_of(args))
    return error_report(
        "repeats",
        "Error by the number of dropout repeats",
        f"{HELD_OUT} The estimates of the repeats are averaged; every choice of repeats, or "
        "fifty drawn ones. *± seed*: standard deviation of a source's estimate under fresh "
        "dropout seeds, that between repeats by the root of their number.",
        result,
        x="repeats",
        target=args.target,
        spread="spread",
    )


def severity_report(args: argparse.Namespace) -> StudyReport:
    """Estimate corrupted sample sets, severity by severity."""
    judging, target = judging_of(args), find_target(args.target)
    table, others = read_scores(args.scores), args.fit_on and read_scores(args.fit_on)
    held_out = held_out_under_corruption(table, judging, fitted_on=others)
    by_severity, by_corruption = (
        error_by(held_out, column, judging) for column in ("severity", "corruption")
    )
    parts = []
    for column, result in {"severity": by_severity, "corruption": by_corruption}.items():
        cells = interval_cells(result, "error", scale=target.scale, digits=target.digits)
        wide = side_by_side(result, column, "method", cells)
        means = target.scale * result.groupby(column, sort=False)["true"].first()
        wide.insert(1, f"true {target.name}", means.to_numpy())
        wide = wide.merge(_without_estimate(result, column), on=column)
        formats = {f"true {target.name}": target.format}
        name = "severity" if column == "severity" else "severity_by_corruption"
        parts.append(Part(name, result, wide, formats))
    ax = plot_curves(
        by_severity,
        x="severity",
        y="error",
        group="method",
        band=("lower", "upper"),
        scale=target.scale,
    )
    ax.set(xlabel="severity (0: own images)", ylabel=f"mean absolute error ({target.unit})")
    ax.set_ylim(bottom=0)
    fitted = "another meta-set" if args.fit_on else "the corrupted sample sets of the other sources"
    return StudyReport(
        "severity",
        "Error by severity of the corruption",
        f"Each corrupted sample set estimated by a regressor fitted on {fitted}, without its "
        f"source; mean absolute error in {target.unit}, in brackets the 90 % bootstrap interval "
        "over sources. *No estimate*: share of the sample sets on which nothing was found that the "
        "method could estimate from; they are not in its error.",
        figure_of(ax),
        parts,
    )


def _without_estimate(result: pd.DataFrame, column: str) -> pd.DataFrame:
    """Lay out the share of sample sets without an estimate, of the methods that have any."""
    some = result.groupby("method")["no_estimate"].transform("max") > 0
    lacking = result[some]
    if lacking.empty:
        return result[[column]].drop_duplicates()
    lacking = lacking.assign(method=lacking["method"] + " no estimate")
    cells = [f"{share:.0%}" for share in lacking["no_estimate"]]
    return side_by_side(lacking, column, "method", cells)
