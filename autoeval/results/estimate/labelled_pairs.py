"""The categories that an estimator was fitted on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from autoeval.report.page import Page
from autoeval.report.parts import Part
from autoeval.report.sections import Section
from autoeval.report.tables import format_cells, to_terminal
from autoeval.targets import Target

NAMES = ["category", "source", "n_images", "n_boxes"]


@dataclass(frozen=True)
class LabelledPairs(Section):
    """One row a pair of source and category, the most accurate first.

    Parameters
    ----------
    table : DataFrame
        Pair table.
    features : sequence of str
        Scores shown.
    target : Target
    """

    table: pd.DataFrame
    features: Sequence[str]
    target: Target

    def show(self, page: Page) -> None:
        """Add the table."""
        page.add_heading("What it was fitted on")
        for part in self.parts():
            part.show(page, f"Every category is a source; {self.target.name} in {self.target.unit}")

    def text(self) -> str:
        """Return the table, and what was not judged."""
        (part,) = self.parts()
        note = (
            "One labelled set tells how far categories stray, not how far another place does: that "
            "is in the intervals from what was measured on 41 pairs of place and category "
            "(docs/results/transfer.md). Images that it was trained on judge a detector too well: "
            "the set should hold none."
        )
        return f"{to_terminal(format_cells(part.for_people, part.formats))}\n\n{note}"

    def parts(self) -> list[Part]:
        """Return the table."""
        names = [name for name in (*NAMES, *self.features, self.target.name) if name in self.table]
        table = self.table[names].sort_values(self.target.name, ascending=False)
        shown = table.assign(**{self.target.name: self.target.scale * table[self.target.name]})
        formats = dict.fromkeys(self.features, "{:.3f}") | {self.target.name: self.target.format}
        formats |= {name: "{:.0f}" for name in ("n_images", "n_boxes") if name in table}
        return [Part("pairs", table, shown, formats)]
