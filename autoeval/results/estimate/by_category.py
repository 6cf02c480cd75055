"""The estimate of each category of a task that has several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from autoeval.report.page import Page
from autoeval.report.parts import Part
from autoeval.report.sections import Section
from autoeval.targets import Target

BOUNDS = ("lower", "upper")


@dataclass(frozen=True)
class ByCategory(Section):
    """One row a category; nothing where there are none.

    Parameters
    ----------
    per_category : mapping of str to mapping
        ``value``, ``lower`` and ``upper`` of each; see `Estimate`.
    target : Target
    """

    per_category: Mapping[str, Mapping[str, float]]
    target: Target

    def show(self, page: Page) -> None:
        """Add the table."""
        for part in self.parts():
            page.add_heading("Category by category")
            part.show(
                page, f"Estimated {self.target.name} with its interval, in {self.target.unit}"
            )

    def parts(self) -> list[Part]:
        """Return the table."""
        if not self.per_category:
            return []
        table = pd.DataFrame(
            {
                "category": list(map(str, self.per_category)),
                "estimate": [float(of["value"]) for of in self.per_category.values()],
                **{end: [float(of[end]) for of in self.per_category.values()] for end in BOUNDS},
            }
        )
        numbers = ["estimate", *BOUNDS]
        shown = table.assign(**{name: self.target.scale * table[name] for name in numbers})
        return [Part("categories", table, shown, dict.fromkeys(numbers, self.target.format))]
