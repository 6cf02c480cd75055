"""Scatter plots side by side, sharing their sources' colours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from autoeval.report.scatter import axis_title, plot_scatter, source_styles
from autoeval.targets import Target


def plot_scatter_grid(
    points: pd.DataFrame,
    titles: Mapping[str, str],
    *,
    target: Target,
    columns: int = 4,
) -> Figure:
    """Draw `target` against several columns, each with its straight line.

    Parameters
    ----------
    points : DataFrame
        Columns ``source``, ``kind`` (``"seed"`` rows are drawn large and ringed), that of the
        target, and the keys of `titles`.
    titles : mapping of column to text
        What to draw, in this order, and what to write above it.
    target : Target
    columns : int
        Plots in a row.
    """
    columns = min(columns, len(titles))
    rows = math.ceil(len(titles) / columns)
    figure = Figure(figsize=(2.9 * columns, 2.7 * rows + 0.6), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel()
    for ax, (x, title) in zip(axes, titles.items(), strict=False):
        plot_scatter(points, x=x, target=target, ax=ax)
        legend = ax.get_legend()
        if legend is not None:
            legend.remove()
        draw_line(ax, points.loc[points["kind"] != "seed", [x, target.name]], target.scale)
        ax.set_title(title, fontsize=8)
        ax.set_ylabel("")
    known = target.scale * points[target.name]
    axes[0].set_ylim(-0.05 * known.max(), 1.1 * known.max())
    for ax in axes[len(titles) :]:
        ax.axis("off")
    figure.supylabel(axis_title(target), fontsize=9)
    source_legend(figure, points["source"])
    return figure


def draw_line(ax: Axes, points: pd.DataFrame, scale: float = 1.0) -> None:
    """Draw the least squares line through the two columns of `points`, if there is one."""
    x, y = points.dropna().to_numpy(np.float64).T
    if len(x) and np.ptp(x) > 1e-9 * np.abs(x).max():
        slope, intercept = np.polyfit(x, scale * y, 1)
        ends = np.array([x.min(), x.max()])
        ax.plot(ends, slope * ends + intercept, color="0.3", lw=1.2, zorder=2)


def source_legend(figure: Figure, sources: Iterable[str]) -> None:
    """Name the sources below all plots; names from data may hold ``$`` or begin with ``_``."""
    styles = source_styles(sources)
    handles = [Line2D([], [], ls="", ms=5, **style) for style in styles.values()]
    places = [str(k) for k in range(len(handles))]
    legend = figure.legend(
        handles, places, loc="outside lower center", ncols=6, frameon=False, fontsize=8
    )
    for text, name in zip(legend.get_texts(), styles, strict=True):
        text.set_parse_math(False)
        text.set_text(name)
