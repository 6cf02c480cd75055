"""How closely each score follows the accuracy, drawn and as a table."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from autoeval.report.scatter import plot_scatter_grid
from autoeval.report.sections import Part
from autoeval.report.study_report import StudyReport, interval_cells
from autoeval.results.studies.captions import OVER_SAMPLE_SETS, R2
from autoeval.studies.correlation import correlation
from autoeval.studies.score_columns import mean_over_repeats
from autoeval.targets import find_target


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
        Score table.
    target : str
        Column of the accuracy.
    features : sequence of str
        Columns of the scores; all by default.
    most : int
        So many are drawn, the closest first.
    seed : int
        Of the bootstrap.
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
        "which flatters it.",
        plot_scatter_grid(points, titles, target=accuracy),
        [Part("correlation", result, shown, {"ρ": "{:.2f}", "R² within sources": "{:.2f}"})],
    )
