"""The page of several counting runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from autoeval.counting.evaluation.bin_charts import label_text
from autoeval.counting.filed_page import FiledPage
from autoeval.counting.leaderboard import Standing, overall
from autoeval.data.wording import listed
from autoeval.report.numerals import number_text

ABOUT = (
    "Each run ranks its models by one measure, which its heading names; rank 1 is best, and equal "
    "values share a rank. The mean rank is over the runs in which a model has a value: compare it "
    "between models of the same runs only.",
    "Intervals are 95 % bootstrap intervals over images. Where those of two models overlap, the "
    "paired differences on the page of the run say whether one is better.",
)


def leaderboard_page(standings: Sequence[Standing]) -> FiledPage:
    """Build the page: ranks over all runs, then each run with its measures and a chart.

    Parameters
    ----------
    standings : sequence of Standing
        At least one.
    """
    page = FiledPage("Leaderboard of counting")
    ranks = overall(standings)
    page.add_text(f"{len(ranks)} models in {len(standings)} runs.", *ABOUT)
    caption = "Rank in each run"
    page.file_table("ranks", ranks, caption, formats={"mean rank": "{:.2f}"})
    page.tables["leaderboard"] = pd.concat(
        [s.table.assign(run=s.run, measure=s.measure) for s in standings], ignore_index=True
    )
    for number, standing in enumerate(standings, 1):
        better = "higher is better" if standing.rises else "lower is better"
        page.add_heading(f"{standing.run}: {standing.measure}, {better}")
        page.file_figure(f"run_{number}", standing_chart(standing), _caption(standing))
        page.add_table(standing.measures, "All measures of the run, best model first")
    return page


def standing_chart(standing: Standing) -> Figure:
    """Draw the ranking measure of each model with its interval, the best on top."""
    table = standing.table.dropna(subset=["value"])
    figure = Figure(figsize=(7, 1.1 + 0.34 * max(len(table), 1)), layout="constrained")
    axes = figure.subplots()
    at = np.arange(len(table))
    spans = table.dropna(subset=["low", "high"])
    axes.hlines(at[table["low"].notna()], spans["low"], spans["high"], color="C0", lw=2, alpha=0.6)
    axes.plot(table["value"], at, ls="", marker="o", ms=7, color="C0")
    axes.set_yticks(at, [label_text(name) for name in table["model"]])
    axes.set_ylim(len(table) - 0.5, -0.5)
    axes.set_xlabel(standing.measure)
    axes.grid(axis="x", alpha=0.3)
    return figure


def _caption(standing: Standing) -> str:
    table = standing.table
    best = table[table["rank"] == table["rank"].min()]
    missing = int(table["value"].isna().sum())
    text = f"Models without a value, not drawn: {missing}." if missing else ""
    if len(best):
        value = number_text(best["value"].iloc[0], "{:.4g}")
        text = f"Best: {listed(best['model'].tolist())} with {value}. {text}".strip()
    return text
