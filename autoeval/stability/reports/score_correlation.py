"""Correlation of scores with the accuracy: single, thresholded and fused."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import stats

from autoeval.accuracy.measures import Target, find_target
from autoeval.errors import InputError
from autoeval.estimation.protocol import LeaveOneSourceOut
from autoeval.report.charts import figure_of, plot_curves, plot_scatter, source_legend
from autoeval.report.page import Table
from autoeval.stability.methods.leave_one_out import leave_one_source_out, paired_p_value
from autoeval.stability.methods.score_rows import mean_over_repeats, of_category
from autoeval.stability.reports.study_report import StudyReport, interval_cells
from autoeval.stability.studies.correlation import PAPER, best_thresholds, correlation, thresholds

ABOUT = (
    "Mean absolute error on the own images of a source whose group had no part in the fit, and its "
    "standard deviation over dropout repeats, mean over sources. The mark is that of a paired "
    "t-test over dropout repeats against the first method: it says whether the noise of dropout "
    "explains the difference, not whether other sources would show it, as *p over sources* does."
)
R2 = "R² (90 %)"
OVER_SAMPLE_SETS = (
    "Over all sample sets, scores averaged over dropout repeats; in brackets the 90 % bootstrap "
    "interval over groups of sources."
)
HELD_OUT = (
    "Mean absolute error on the own images of a source whose group had no part in the fit; in "
    "brackets the 90 % bootstrap interval over groups of sources."
)
MARKS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))


def correlation_report(
    scores: pd.DataFrame,
    *,
    target: str = "mAP",
    features: Sequence[str] = (),
    most: int = 12,
    seed: int = 0,
) -> StudyReport:
    """Correlate scores with the accuracy (Yang et al. 2024, figures 2, 7, 9 and 10).

    Parameters
    ----------
    scores : DataFrame
        A score table.
    target : str
        Column of the accuracy.
    features : sequence of str
        Columns of the table; by default all scores.
    most : int
        Scores to draw, the best first.
    seed : int
        Of the intervals.
    """
    accuracy = find_target(target)
    result = correlation(scores, features, target=target, seed=seed)
    shown = pd.DataFrame(
        {
            "score": result["feature"],
            R2: interval_cells(result, "r2"),
            "ρ": result["spearman"],
            "R² within sources": result["r2_within"],
            "sample sets": result["sample_sets"],
        }
    )
    drawn = result[result["r2"].notna()].head(most)
    titles = {
        name: f"R² {r2:.2f}, ρ {rho:.2f}"
        for name, r2, rho in drawn[["feature", "r2", "spearman"]].itertuples(index=False)
    }
    points = mean_over_repeats(scores, [*titles, target])
    return StudyReport(
        "correlation",
        f"{target} against each score",
        f"{OVER_SAMPLE_SETS} *Within sources*: after the mean of its source is taken from every "
        "sample set. A thresholded score stands with the threshold that correlates best here, "
        "which flatters it. Scores that fewer than nine in ten sample sets have stand behind the "
        "others.",
        plot_scatter_grid(points, titles, target=accuracy),
        [Table("correlation", result, shown, {"ρ": "{:.2f}", "R² within sources": "{:.2f}"})],
    )


def fusion_report(
    scores: pd.DataFrame, *, methods: Sequence[str], target: str = "mAP", seed: int = 0
) -> StudyReport:
    """Compare methods with the first of them (Yang et al. 2024, figure 3 c).

    Parameters
    ----------
    scores : DataFrame
        A score table.
    methods : sequence of str
        Names of methods; the others are compared with the first.
    target : str
        Column of the accuracy.
    seed : int
        Without effect, as nothing is drawn; other reports take one.
    """
    described = find_target(target)
    result, warnings = compare_with_first(scores, methods, target=target)
    shown = pd.DataFrame(
        {
            "method": result["method"],
            f"error ({described.unit})": described.scale * result["error"],
            "± repeats": described.scale * result["std"],
            f"less {result['method'].iloc[0]}": described.scale * result["difference"],
            "p over repeats": result["p_runs"],
            "": result["mark"],
            "p over sources": result["p_sources"],
        }
    )
    formats = dict.fromkeys(shown.columns[1:4], f"{{:.{described.digits}f}}")
    formats |= dict.fromkeys(("p over repeats", "p over sources"), "{:.3f}")
    return StudyReport(
        "fusion",
        f"Single and fused scores for {target}",
        ABOUT,
        _bars(result, described),
        [Table("fusion", result, shown, formats)],
        warnings,
    )


def _bars(result: pd.DataFrame, target: Target) -> Figure:
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    heights = target.scale * result["error"]
    bars = axes.bar(
        result["method"], heights, yerr=target.scale * result["std"], color="0.7", capsize=3
    )
    axes.bar_label(bars, result["mark"], padding=2)
    axes.set_ylabel(f"mean absolute error ({target.unit})")
    axes.tick_params(axis="x", labelsize=8, labelrotation=20)
    return figure


def thresholds_report(
    scores: pd.DataFrame, *, target: str, families: Sequence[str] = (), seed: int = 0
) -> StudyReport:
    """Correlate thresholded scores at every threshold (Yang et al. 2024, figure 6).

    Parameters
    ----------
    scores : DataFrame
        A score table.
    target : str
        Column of the accuracy.
    families : sequence of str
        Names before the ``@``, such as ``ps``; by default all.
    seed : int
        Of the intervals.
    """
    result = thresholds(scores, families, target=target, seed=seed)
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
    ax = plot_curves(result, x="threshold", y="r2", lines="score", marks=PAPER)
    ax.set(xlabel="threshold τ (ringed: the paper's)", ylabel=f"R² with {target}", ylim=(0, 1))
    formats = dict.fromkeys(("best τ", "ρ", "paper's τ", "R² there"), "{:.2f}")
    return StudyReport(
        "thresholds",
        f"R² of thresholded scores with {target}, by threshold",
        f"{OVER_SAMPLE_SETS} Where no box is over a threshold, a sample set has no value, and R² "
        "is over the others alone: `sample_sets` in the CSV file says how many. A threshold that "
        "leaves out more than one in ten is not called the best.",
        figure_of(ax),
        [Table("thresholds", result, shown, formats)],
    )


def compare_with_first(
    table: pd.DataFrame, methods: Sequence[str], *, target: str = "mAP"
) -> tuple[pd.DataFrame, list[str]]:
    """Leave each source out, and compare the error of every method with that of the first.

    Source: Yang et al. 2024, section 5.2 and figure 3 (c), which does not name its test.

    Parameters
    ----------
    table : DataFrame
        A score table.
    methods : sequence of str
        See `make_method`.
    target : str
        Column of the accuracy; that of a category is estimated by its own scores.

    Returns
    -------
    table : DataFrame
        ``std`` is over dropout repeats, mean over sources; ``p_runs`` of the paired t-test over
        repeats, ``p_sources`` of `paired_p_value` over sources, those of a group together.
    warnings : list of str
        Why a method is not among them.
    """
    table, target = of_category(table, target)
    first, *other_methods = dict.fromkeys(methods)
    results = {first: leave_one_source_out(table, first, target=target)}
    warnings: list[str] = []
    for name in other_methods:
        try:
            results[name] = leave_one_source_out(table, name, target=target)
        except InputError as error:
            warnings.append(f"{name}: {error}")
    for name, result in results.items():
        if n := int(result.per_source["missing"].sum()):
            warnings.append(f"{name} has no estimate of {n} sources; the constant stands there")
    rows = [_row(name, result, results[first]) for name, result in results.items()]
    return pd.DataFrame(rows), warnings


def _row(name: str, result: LeaveOneSourceOut, first: LeaveOneSourceOut) -> dict[str, object]:
    errors, against = result.per_source["error"], first.per_source["error"]
    same = result is first
    # Sources of a group change signs together; the sums keep the mean over sources.
    grouped = (part.per_source.groupby("group", sort=False)["error"] for part in (result, first))
    of_groups = [by_group.sum().to_numpy() for by_group in grouped]
    p_runs = np.nan if same else paired_t_test(result.error_by_repeat, first.error_by_repeat)
    return {
        "method": name,
        "error": float(errors.mean()),
        "std": float(result.per_source["error_std"].mean()),
        "difference": float(errors.mean() - against.mean()),
        "p_runs": p_runs,
        "mark": _significance_mark(p_runs),
        "p_sources": np.nan if same else paired_p_value(*of_groups),
    }


def paired_t_test(first: np.ndarray, second: np.ndarray) -> float:
    """Two-sided p-value of the mean difference of paired numbers.

    Parameters
    ----------
    first, second : array-like of shape (n,)
        The numbers, in the same order.

    Returns
    -------
    float
        NaN for fewer than two pairs; where all pairs differ by the same, 1 for no difference, else
        0.
    """
    difference = np.asarray(first) - np.asarray(second)
    if len(difference) < 2:
        return float("nan")
    if not np.ptp(difference):
        return 0.0 if difference[0] else 1.0
    return float(stats.ttest_1samp(difference, 0).pvalue)


def _significance_mark(p: float) -> str:
    """Write a p-value as the caption of figure 3 does; ``***``, under .001, is ours.

    Examples
    --------
    >>> [_significance_mark(p) for p in (.2, .03, .005, .0001, float("nan"))]
    ['n.s.', '*', '**', '***', '']
    """
    if np.isnan(p):
        return ""
    return next((mark for bound, mark in MARKS if p < bound), "n.s.")


def plot_scatter_grid(points: pd.DataFrame, titles: Mapping[str, str], *, target: Target) -> Figure:
    """Draw `target` against the columns of `titles`, each with its title and straight line.

    Parameters
    ----------
    points : DataFrame
        Sample sets, with ``source``, ``kind`` and the columns to draw.
    titles : mapping of str to str
        Title of the panel of each column; one or more.
    target : Target
        The accuracy, a column too; its line leaves out the sources' own images.
    """
    columns = min(4, len(titles))
    rows = math.ceil(len(titles) / columns)
    figure = Figure(figsize=(2.9 * columns, 2.7 * rows + 0.6), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel()
    for ax, (x, title) in zip(axes, titles.items(), strict=False):
        plot_scatter(points, x=x, target=target, ax=ax)
        if legend := ax.get_legend():
            legend.remove()
        _draw_line(ax, points.loc[points["kind"] != "seed", [x, target.name]], target.scale)
        ax.set_title(title, fontsize=8)
        ax.set_ylabel("")
    accuracy = target.scale * points[target.name]
    axes[0].set_ylim(-0.05 * accuracy.max(), 1.1 * accuracy.max())
    for ax in axes[len(titles) :]:
        ax.axis("off")
    figure.supylabel(f"{target.name} ({target.unit})", fontsize=9)
    source_legend(figure, points["source"])
    return figure


def _draw_line(ax: Axes, points: pd.DataFrame, scale: float) -> None:
    """Draw the least squares line through the two columns of `points`, if there is one."""
    x, y = points.dropna().to_numpy(np.float64).T
    if len(x) and np.ptp(x) > 1e-9 * np.abs(x).max():
        slope, intercept = np.polyfit(x, scale * y, 1)
        ends = np.array([x.min(), x.max()])
        ax.plot(ends, slope * ends + intercept, color="0.3", lw=1.2, zorder=2)
