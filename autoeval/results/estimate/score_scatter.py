"""Accuracy against the scores, sample set by sample set, with the estimate among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from autoeval.report.chart import ScatterChart
from autoeval.report.curves import figure_of
from autoeval.report.page import Page
from autoeval.report.scatter import plot_scatter
from autoeval.report.sections import Section
from autoeval.results.estimate.plotted_scores import PlottedScores
from autoeval.targets import Target


@dataclass(frozen=True)
class ScoreScatter(Section):
    """The plot of the target against any score.

    Parameters
    ----------
    title : str
        Of the picture.
    plotted : PlottedScores
    target : Target
    estimate : mapping, optional
        One more point: ``value``, and its scores.
    """

    title: str
    plotted: PlottedScores
    target: Target
    estimate: Mapping[str, Any] | None = None

    def show(self, page: Page) -> None:
        """Add the plot, which tells what each point is and lets the reader choose the score."""
        page.add_heading(f"{self.target.name} against the scores")
        plotted = self.plotted
        star = "The red star is the estimate. " if self.estimate is not None else ""
        page.add_scatter(
            ScatterChart(
                plotted.points, plotted.scores, self.target, plotted.lines, estimate=self.estimate
            ),
            "A small mark is a transformed sample set, a large one the own images of a source. "
            f"Point at a mark to see what it is, click a source to single it out. {star}What the "
            f"line is stands beside the choice of score. {' '.join(plotted.about)}",
        )

    def figures(self) -> Iterator[tuple[str, Figure]]:
        """Draw the first score."""
        first, star = self.plotted.scores[0], None
        if self.estimate is not None:
            star = (self.estimate.get(first, np.nan), self.estimate["value"], "estimate")
        axes = plot_scatter(
            self.plotted.points,
            x=first,
            target=self.target,
            band=self.plotted.lines.get(first),
            highlight=star,
        )
        axes.set_title(self.title, fontsize=11, parse_math=False)
        yield "scatter", figure_of(axes)
