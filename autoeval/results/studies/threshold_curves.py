"""At which threshold each thresholded score follows the accuracy best."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from autoeval.report.curves import figure_of, plot_curves
from autoeval.report.sections import Part
from autoeval.report.study_report import StudyReport, interval_cells
from autoeval.results.studies.captions import OVER_SAMPLE_SETS, R2
from autoeval.studies.correlation import PAPER, best_thresholds, thresholds


def thresholds_report(
    scores: pd.DataFrame, *, target: str = "mAP", families: Sequence[str] = (), seed: int = 0
) -> StudyReport:
    """Correlate thresholded scores at every threshold (Yang et al. 2024, figure 6)."""
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
    ax = plot_curves(result, x="threshold", y="r2", group="score", marks=PAPER)
    ax.set(xlabel="threshold τ (ringed: the paper's)", ylabel=f"R² with {target}", ylim=(0, 1))
    formats = dict.fromkeys(("best τ", "ρ", "paper's τ", "R² there"), "{:.2f}")
    return StudyReport(
        "thresholds",
        f"R² of thresholded scores with {target}, by threshold",
        f"{OVER_SAMPLE_SETS} Where no box is over a threshold, a sample set has no value, and R² "
        "is over the others alone: `sample_sets` in the CSV file says how many. A threshold that "
        "leaves out more than one in ten is not called the best.",
        figure_of(ax),
        [Part("thresholds", result, shown, formats)],
    )
