"""Precision, recall and F1 by score threshold, as a picture and a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from autoeval.estimation.operating_curve import ENDS, ThresholdChoice
from autoeval.report.page import Page
from autoeval.report.sections import Part, Section

COLOURS = {"precision": "tab:blue", "recall": "tab:orange", "f1": "tab:green"}


@dataclass(frozen=True)
class ThresholdCurve(Section):
    """The curve of a site, the threshold in use marked.

    Parameters
    ----------
    curve : DataFrame
        See `autoeval.estimation.operating_curve.expected_curve`.
    threshold : float, optional
    choice : ThresholdChoice, optional
        What is said of a threshold that was looked for.
    """

    curve: pd.DataFrame
    threshold: float | None = None
    choice: ThresholdChoice | None = None

    def show(self, page: Page) -> None:
        """Add the picture and the table."""
        page.add_heading("Precision, recall and F1 by score threshold")
        if self.choice is not None:
            page.add_text(*str(self.choice).splitlines())
        for _, figure in self.figures():
            page.add_figure(figure, "All categories together; bands are intervals")
        for part in self.parts():
            part.show(page, "In points of 100")

    def text(self) -> str:
        """Return the chosen threshold."""
        return "" if self.choice is None else str(self.choice)

    def to_dict(self) -> dict[str, Any]:
        """Return the chosen threshold and the curve."""
        rows = self.curve.astype(object).where(self.curve.notna(), None).to_dict("records")
        chosen = {} if self.choice is None else {"threshold": self.choice.to_dict()}
        return {**chosen, "curve": rows}

    def parts(self) -> list[Part]:
        """Return the curve with a column a measure."""
        shown = self.curve.assign(value=100 * self.curve["value"])
        shown = shown.pivot(index="threshold", columns="measure", values="value").reset_index()
        shown = shown[["threshold", *(name for name in COLOURS if name in shown)]]
        formats = {"threshold": "{:.2f}", **dict.fromkeys(COLOURS, "{:.1f}")}
        return [Part("threshold_curve", self.curve, shown, formats)]

    def figures(self) -> list[tuple[str, Figure]]:
        """Draw each measure by threshold, and precision by recall."""
        figure = Figure(figsize=(9, 3.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        by_name = {
            name: 100 * own.set_index("threshold")[list(ENDS)]
            for name, own in self.curve.groupby("measure")
        }
        for name, of in by_name.items():
            colour = COLOURS[str(name)]
            left.plot(of.index, of["value"], color=colour, label=name)
            left.fill_between(of.index, of["lower"], of["upper"], color=colour, alpha=0.15, lw=0)
        left.set(xlabel="score threshold", ylabel="points of 100", xlim=(0, 1), ylim=(0, 100))
        both = by_name["precision"].join(by_name["recall"], rsuffix="_r").dropna()
        right.fill_between(both["value_r"], both["lower"], both["upper"], alpha=0.15, lw=0)
        right.plot(both["value_r"], both["value"], marker=".", color="tab:blue")
        right.set(xlabel="recall", ylabel="precision", xlim=(0, 100), ylim=(0, 100))
        if self.threshold is not None and len(both):
            left.axvline(self.threshold, color="black", ls=":", lw=1)
            nearest = both.iloc[abs(both.index.to_numpy() - self.threshold).argmin()]
            label = f"threshold {self.threshold:.2f}"
            right.plot(nearest["value_r"], nearest["value"], "*", color="black", ms=12, label=label)
            right.legend(frameon=False)
        left.legend(frameon=False)
        for ax in (left, right):
            ax.grid(alpha=0.25)
        return [("threshold_curve", figure)]
