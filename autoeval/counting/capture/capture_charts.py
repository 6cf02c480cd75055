"""Charts of the analysis: error by a factor, confusion, reliability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

LABELS = {
    "num_occluded": "objects behind the box",
    "ground_truth": "objects in all",
    "shape": "pattern",
}
_SHADE_OF_WHITE = 0.6


def factor_chart(tables: Sequence[pd.DataFrame], factor: str) -> Figure:
    """Draw the sMAPE of each model by a factor, with 95 % intervals (Fig. 6 and 7).

    The number of items stands below each level; one item has no interval.

    Parameters
    ----------
    tables : sequence of DataFrame
        One a model, as `capture_measures.by_factor` returns them.
    factor : {'num_occluded', 'ground_truth', 'shape'}
    """
    figure = Figure(figsize=(7.2, 3.6), layout="constrained")
    axes = figure.subplots()
    levels = sorted({level for table in tables for level in table[factor]})
    for k, table in enumerate(tables):
        shift = 0.16 * (k - (len(tables) - 1) / 2)
        at = np.array([levels.index(level) for level in table[factor]]) + shift
        value = table["sMAPE"].to_numpy()
        reach = np.abs(table[["low", "high"]].to_numpy().T - value)
        style: dict[str, Any] = {"marker": "o", "ms": 4, "lw": 1.4, "capsize": 2, "elinewidth": 1}
        line = "none" if factor == "shape" else "-"
        axes.errorbar(at, value, reach, ls=line, label=table["model"].iloc[0], **style)
    highest = max(table[["sMAPE", "high"]].max().max() for table in tables)
    names = [_level(tables, factor, level) for level in levels]
    every = max(1, len(levels) // 20)
    axes.set_xticks(range(0, len(levels), every), names[::every], fontsize=8)
    axes.set(xlabel=f"{LABELS[factor]}, number of items", ylabel="sMAPE, %")
    axes.set_ylim(0, None if highest > 1 else 1)
    _finish(axes)
    return figure


def confusion_chart(table: pd.DataFrame) -> Figure:
    """Draw a heat map of truth (rows) by answer (columns), shaded by share of the row (Fig. 11).

    Parameters
    ----------
    table : DataFrame
        As `capture_measures.confusion` returns it.
    """
    rows, columns = table.shape
    figure = Figure(figsize=(1.6 + 0.4 * columns, 1.3 + 0.32 * rows), layout="constrained")
    axes = figure.subplots()
    share = table.to_numpy() / np.maximum(table.to_numpy().sum(1, keepdims=True), 1)
    axes.imshow(share, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(columns), list(map(str, table.columns)), fontsize=8)
    axes.set_yticks(range(rows), list(map(str, table.index)), fontsize=8)
    axes.set(xlabel="answer", ylabel="truth")
    for (row, column), number in np.ndenumerate(table.to_numpy()):
        if number:
            shade = "white" if share[row, column] > _SHADE_OF_WHITE else "black"
            axes.text(column, row, str(number), ha="center", va="center", fontsize=7, color=shade)
    return figure


def reliability_chart(tables: Sequence[pd.DataFrame]) -> Figure:
    """Draw error against confidence, one mark a step with its number of items (Fig. 9 and 10).

    Parameters
    ----------
    tables : sequence of DataFrame
        One a model, as `capture_measures.reliability` returns them.
    """
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    for table in tables:
        name = table["model"].iloc[0]
        (line,) = axes.plot(table["confidence"], table["sMAPE"], "o-", ms=5, lw=1.4, label=name)
        for _, step in table.iterrows():
            place = (step["confidence"], step["sMAPE"])
            text: dict[str, Any] = {"textcoords": "offset points", "xytext": (4, 5), "fontsize": 7}
            axes.annotate(f"{step['n']:.0f}", place, color=line.get_color(), **text)
    axes.set(xlabel="confidence", ylabel="sMAPE, %", xlim=(-0.02, 1.06), ylim=(0, None))
    _finish(axes)
    return figure


def _level(tables: Sequence[pd.DataFrame], factor: str, level: Any) -> str:
    """Name a level and, below it, how many items it has."""
    numbers = sorted({int(n) for t in tables for n in t.loc[t[factor] == level, "n"]})
    name = level if isinstance(level, str) else f"{level:g}"
    return f"{name}\n{'–'.join(str(n) for n in dict.fromkeys((numbers[0], numbers[-1])))}"


def _finish(axes: Axes) -> None:
    axes.grid(axis="y", alpha=0.3)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
