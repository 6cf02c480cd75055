"""R² over dropout position and rate: a heat map, and its two cuts through the best dropout."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle


def plot_dropout_search(table: pd.DataFrame, *, score: str = "bos", target: str = "mAP") -> Figure:
    """Draw the result of a dropout search (Yang et al. 2024, figure 3 a and b).

    Parameters
    ----------
    table : DataFrame
        ``stages`` (such as ``"1,2"``), ``rate``, ``r2``, ``share`` of the images; the first row is
        the dropout that was chosen. Cells with a share below 1 are estimates and are dotted.
    score, target : str
        Named in the titles.
    """
    figure = Figure(figsize=(11, 8.5), layout="constrained")
    axes = figure.subplot_mosaic([["map", "map"], ["a", "b"]], height_ratios=[1.6, 1])
    best = table.iloc[0]
    grid = table.pivot(index="stages", columns="rate", values="r2")
    grid = grid.loc[sorted(grid.index, key=lambda stages: (len(stages), stages))]
    shares = table.pivot(index="stages", columns="rate", values="share").reindex(grid.index)
    _draw_map(axes["map"], grid, shares.to_numpy(), best)
    axes["map"].set_title(f"R² between {score} and {target} over sample sets")
    _draw_cut(axes["a"], grid[best["rate"]], best["stages"])
    axes["a"].set(xlabel="dropped stages", title=f"(a) at rate {best['rate']:g}")
    axes["a"].tick_params(axis="x", rotation=60)
    _draw_cut(axes["b"], grid.loc[best["stages"]], best["rate"])
    axes["b"].set(xlabel="rate", title=f"(b) at stages [{best['stages']}]")
    axes["b"].tick_params(axis="x", rotation=60)
    return figure


def _draw_map(ax: Axes, grid: pd.DataFrame, shares: np.ndarray, best: pd.Series) -> None:
    image = ax.imshow(grid, aspect="auto", cmap="viridis", vmin=0, vmax=1)
    ax.figure.colorbar(image, ax=ax, label="R²", pad=0.01)
    ax.set_xticks(range(grid.shape[1]), [f"{rate:g}" for rate in grid.columns])
    ax.set_yticks(range(grid.shape[0]), [f"[{stages}]" for stages in grid.index])
    ax.set(xlabel="rate", ylabel="dropped stages")
    rows, columns = np.nonzero(shares < 1)
    ax.scatter(columns, rows, s=6, color="white", lw=0)
    at = grid.columns.get_loc(best["rate"]), grid.index.get_loc(best["stages"])
    corner = (at[0] - 0.5, at[1] - 0.5)
    ax.add_patch(Rectangle(corner, 1, 1, fill=False, ec="red", lw=2.5))


def _draw_cut(ax: Axes, values: pd.Series, at: object) -> None:
    names = [f"{name:g}" if isinstance(name, float) else f"[{name}]" for name in values.index]
    colors = ["tab:red" if name == at else "tab:blue" for name in values.index]
    ax.bar(names, values, color=colors)
    ax.set(ylim=(0, 1), ylabel="R²")
    ax.grid(axis="y", alpha=0.25)
