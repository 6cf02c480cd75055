"""The training table as a picture: what was estimated of each sample set, against the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from autoeval.estimation.score_table import SEED, sources

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALL, LARGE = 14, 70


def draw_training(
    ax: Axes, table: pd.DataFrame, estimates: np.ndarray, target: str, *, scale: float = 100.0
) -> None:
    """Draw the true value of each sample set over its estimate, a colour a source.

    Large marks are the own images of a source. On the line an estimate is right.

    Parameters
    ----------
    ax : Axes
    table : DataFrame
        See `autoeval.estimation.score_table`.
    estimates : ndarray of shape (len(table),)
        Of a regressor that has not seen the source; see `SourceRegression.predict_left_out`.
    target : str
        Column of the true values.
    scale : float
        Values are drawn times this.
    """
    keys = ["source", "sample_set", "kind"]
    drawn = table.assign(estimate=scale * estimates, true=scale * table[target])
    means = drawn.groupby(keys, sort=False)[["estimate", "true"]].mean().dropna().reset_index()
    for name in sources(means):
        rows = means[means["source"] == name]
        sizes = np.where(rows["kind"] == SEED, LARGE, SMALL)
        ax.scatter(rows["estimate"], rows["true"], s=sizes, alpha=0.7, linewidths=0, label=name)
    ends = [means[["estimate", "true"]].min().min(), means[["estimate", "true"]].max().max()]
    ax.plot(ends, ends, color="0.5", lw=1, zorder=0)
