"""The categories that an estimator was fitted on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from autoeval.report.numerals import counted
from autoeval.report.page import Page
from autoeval.report.parts import Part
from autoeval.report.sections import Section
from autoeval.targets import Target

PAIR, COUNTS = ("category", "source"), ("n_images", "n_boxes")
ONE_SET = (
    "One labelled set shows how much categories vary, not how much sites do: the intervals take "
    "that from what was measured on 41 pairs of site and category (docs/results/transfer.md). "
    "The set should hold no image that the detector was trained on: its accuracy there is too high."
)


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
        """Say how many there are, and what a single set cannot show."""
        families = self.table["family"].nunique()
        pairs = counted(len(self.table), "pair")
        text = f"{pairs} of site and category, of {counted(families, 'group')}."
        return text if families > 1 else f"{text} {ONE_SET}"

    def parts(self) -> list[Part]:
        """Return the table."""
        names = [n for n in (*PAIR, self.target.name, *COUNTS, *self.features) if n in self.table]
        table = self.table[names].sort_values(self.target.name, ascending=False, ignore_index=True)
        shown = table.assign(**{self.target.name: self.target.scale * table[self.target.name]})
        formats = dict.fromkeys(self.features, "{:.3f}") | {self.target.name: self.target.format}
        formats |= {name: "{:.0f}" for name in COUNTS if name in table}
        return [Part("pairs", table, shown, formats)]
