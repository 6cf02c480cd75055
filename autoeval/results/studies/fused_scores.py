"""Errors of single and fused scores, drawn as bars."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from autoeval.report.sections import Part
from autoeval.report.study_report import StudyReport
from autoeval.studies.fusion import compare_with_first
from autoeval.targets import Target, find_target

ABOUT = (
    "Mean absolute error on the own images of a source that had no part in the fit, and its "
    "standard deviation over dropout repeats, mean over sources. The mark is that of a paired "
    "t-test over dropout repeats against the first method: it says whether the noise of dropout "
    "explains the difference, not whether other sources would show it, as *p over sources* does."
)


def fusion_report(
    scores: pd.DataFrame, *, methods: Sequence[str], target: str = "mAP", seed: int = 0
) -> StudyReport:
    """Compare methods with the first of them (Yang et al. 2024, figure 3 c)."""
    what = find_target(target)
    result, problems = compare_with_first(scores, methods, target=target)
    shown = pd.DataFrame(
        {
            "method": result["method"],
            f"error ({what.unit})": what.scale * result["error"],
            "± repeats": what.scale * result["std"],
            f"less {result['method'].iloc[0]}": what.scale * result["difference"],
            "p over repeats": result["p_runs"],
            "": result["mark"],
            "p over sources": result["p_sources"],
        }
    )
    formats = dict.fromkeys(shown.columns[1:4], f"{{:.{what.digits}f}}")
    formats |= dict.fromkeys(("p over repeats", "p over sources"), "{:.3f}")
    return StudyReport(
        "fusion",
        f"Single and fused scores for {target}",
        ABOUT,
        _bars(result, what),
        [Part("fusion", result, shown, formats)],
        problems,
    )


def _bars(result: pd.DataFrame, what: Target) -> Figure:
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    heights = what.scale * result["error"]
    bars = axes.bar(
        result["method"], heights, yerr=what.scale * result["std"], color="0.7", capsize=3
    )
    axes.bar_label(bars, result["mark"], padding=2)
    axes.set_ylabel(f"mean absolute error ({what.unit})")
    axes.tick_params(axis="x", labelsize=8, labelrotation=20)
    return figure
