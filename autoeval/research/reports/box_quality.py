"""Whether a box that stays put is a good box."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from autoeval.report.plots import source_legend, source_styles
from autoeval.report.sections import Part, StudyReport, interval_cells
from autoeval.research.reports.score_correlation import R2
from autoeval.research.studies.box_level import MEASURES, box_level_correlation, box_table
from autoeval.research.studies.observed import Observations

BINS = np.linspace(0, 1, 11)


def box_level_report(observations: Observations, *, seed: int = 0) -> StudyReport:
    """Compare the stability of single boxes with their confidence (Yang et al. 2024, figure 8)."""
    boxes = box_table(observations)
    result = box_level_correlation(boxes, seed=seed)
    shown = result.assign(**{R2: interval_cells(result, "r2")})
    shown = shown[
        ["source", "measure", "boxes", R2, "spearman", "auroc", "boxes_over_half", "r2_over_half"]
    ]
    names = {
        "spearman": "ρ",
        "auroc": "AUROC",
        "boxes_over_half": "boxes over .5",
        "r2_over_half": "R² over .5",
    }
    pooled = result[result["source"] == "all"].set_index("measure")
    titles = {
        measure: f"R² {pooled.loc[measure, 'r2']:.2f}, ρ {pooled.loc[measure, 'spearman']:.2f}, "
        f"R² over .5: {pooled.loc[measure, 'r2_over_half']:.2f}"
        for measure in MEASURES
    }
    formats = dict.fromkeys(("ρ", "AUROC", "R² over .5"), "{:.2f}")
    return StudyReport(
        "box_level",
        "Single boxes: overlap with the truth against confidence and stability",
        "Every box of the sources' own images with a score over "
        f"{observations.stability.score_thr}. *Stability* is the mean IoU with its partner under "
        "dropout, 0 for a lost box. R² and ρ with the IoU of the true box; AUROC of boxes of IoU "
        "over .5 against others; *over .5*: boxes whose measure is.",
        plot_boxes(boxes, titles),
        [Part("box_level", result, shown.rename(columns=names), formats)],
        observations.warnings,
    )


def plot_boxes(boxes: pd.DataFrame, titles: Mapping[str, str], *, most: int = 3000) -> Figure:
    """Draw the IoU of boxes with the truth against measures in [0, 1], side by side.

    The line is the mean IoU of the boxes in each tenth of the measure.
    """
    figure = Figure(figsize=(4.6 * len(titles), 4.6), layout="constrained")
    axes = figure.subplots(1, len(titles), squeeze=False, sharey=True)[0]
    styles = source_styles(boxes["source"])
    drawn = boxes.sample(min(most, len(boxes)), random_state=0)
    for ax, (measure, title) in zip(axes, titles.items(), strict=True):
        for source, rows in drawn.groupby("source", sort=False):
            ax.scatter(rows[measure], rows["iou"], s=7, alpha=0.35, lw=0, **styles[source])
        _draw_means(ax, boxes[measure], boxes["iou"])
        ax.set_title(title, fontsize=9)
        ax.set(xlabel=measure, xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        ax.grid(alpha=0.25)
    axes[0].set_ylabel("IoU with the true box")
    source_legend(figure, boxes["source"])
    return figure


def _draw_means(ax: Axes, measure: pd.Series, iou: pd.Series) -> None:
    tenth = np.clip(np.digitize(measure, BINS) - 1, 0, len(BINS) - 2)
    means = iou.groupby(tenth).mean()
    centres = (BINS[:-1] + BINS[1:]) / 2
    ax.plot(centres[means.index], means, color="black", lw=2, marker="o", ms=4)
