"""Charts of the two tests: confusion between classes, drift of the count (Fig. 4)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

MOST_WRITTEN = 14


def confusion_chart(matrix: pd.DataFrame) -> Figure:
    """Draw a heat map of true classes (rows) by classes asked for (columns).

    Parameters
    ----------
    matrix : DataFrame
        As `autoeval.counting.praco.negative_measures.confusion` returns it. The colours end at 1.5,
        half more than what a perfect counter says about the right class.
    """
    n_rows, n_columns = matrix.shape
    figure = Figure(figsize=(3.2 + 0.42 * n_columns, 2.2 + 0.34 * n_rows), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(matrix.to_numpy(), cmap="Blues", vmin=0, vmax=1.5, aspect="auto")
    axes.set_xticks(range(n_columns), list(matrix.columns), rotation=60, ha="right", fontsize=8)
    axes.set_yticks(range(n_rows), list(matrix.index), fontsize=8)
    axes.set(xlabel="class asked for", ylabel="true class")
    if n_columns <= MOST_WRITTEN:
        _write_values(axes, matrix.to_numpy())
    figure.colorbar(image, ax=axes, label="predicted / true count", extend="max", shrink=0.9)
    return figure


def drift_chart(values: Mapping[str, np.ndarray]) -> Figure:
    """Draw the distribution of the drift of each model, as a box with whiskers and outliers.

    Parameters
    ----------
    values : mapping of str to ndarray of shape (M,)
        |count in the mosaic - count alone| / count alone, by model.
    """
    names = list(values)
    figure = Figure(figsize=(8, 1.4 + 0.6 * len(names)), layout="constrained")
    axes = figure.subplots()
    axes.boxplot(
        [values[name] for name in names],
        orientation="horizontal",
        widths=0.55,
        showmeans=True,
        medianprops={"color": "#1a4f7a", "lw": 2},
        meanprops={"marker": "D", "markerfacecolor": "#c6591a", "markeredgecolor": "white"},
        flierprops={"marker": ".", "markersize": 3, "alpha": 0.35, "markeredgecolor": "#555"},
    )
    labels = [f"{name}\n{len(values[name])} mosaics" for name in names]
    axes.set_yticks(range(1, len(names) + 1), labels, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("relative change of the count, mosaic against image alone (diamond: mean)")
    axes.set_xlim(left=-0.02)
    axes.grid(axis="x", alpha=0.3)
    return figure


def _write_values(axes: Axes, values: np.ndarray) -> None:
    for (row, column), value in np.ndenumerate(values):
        if not np.isnan(value):
            text = f"{value:.2f}"
            shade = "white" if value > 0.8 else "black"
            axes.text(column, row, text, ha="center", va="center", fontsize=7, color=shade)
