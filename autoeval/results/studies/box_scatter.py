"""What single boxes say of themselves against how well they fit the truth."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from autoeval.report.scatter import source_styles
from autoeval.report.scatter_grid import source_legend

BINS = np.linspace(0, 1, 11)


def plot_boxes(boxes: pd.DataFrame, titles: Mapping[str, str], *, most: int = 3000) -> Figure:
    """Draw the IoU of boxes with the truth against measures in [0, 1], side by side.

    The line is the mean IoU of the boxes in each tenth of the measure.

    Parameters
    ----------
    boxes : DataFrame
        Columns ``source``, ``iou`` and the keys of `titles`.
    titles : mapping of column to text
        What to draw, and what to write above it.
    most : int
        Of more boxes than that, so many are drawn, chosen at random; lines are of all.
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
