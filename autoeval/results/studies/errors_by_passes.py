"""Error against network passes, as a page."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from autoeval.report.curves import plot_curves
from autoeval.report.parts import Part
from autoeval.report.study_report import StudyReport
from autoeval.studies.passes_spent import errors_by_passes

SHOWN = ("error", "constant", "coverage", "half_width")
ABOUT = (
    "Mean absolute error of the default method, each family evaluated by the others, against what "
    "is observed: passes of the network for each of the sources' own images, those of transformed "
    "sample sets added. In points; coverage of intervals of nominally 90 %, half-width: the median."
)


def passes_report(
    scores: pd.DataFrame,
    *,
    target: str = "mAP",
    sizes: Sequence[int] = (),
    seed: int = 0,
) -> StudyReport:
    """Draw the error against the passes.

    Parameters
    ----------
    scores : DataFrame
        See `errors_by_passes`, which states the errors.
    target : {"mAP", "mAP50", "mAP75"}
    sizes : sequence of int
        Numbers of sample sets of each source.
    seed : int
        Nothing is drawn.
    """
    table = errors_by_passes(scores, sizes or (0, 1, 3, 5), target=target)
    shown = table.assign(passes=table["passes"].round(2))
    shown = shown.assign(**{name: (100 * table[name]).round(1) for name in SHOWN})
    shown = shown.rename(columns=lambda name: name.replace("_", " "))
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    plot_curves(table, x="passes", y="error", group="evidence", scale=100, ax=axes)
    axes.set(xlabel="passes of the network for each image", ylabel="mean absolute error (points)")
    return StudyReport("passes", "Error by passes", ABOUT, figure, [Part("passes", table, shown)])
