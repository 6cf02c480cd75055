"""How far off the estimator is on pairs of place and category that it has not seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from autoeval.estimation.predictions.unseen_error import summary
from autoeval.report.page import Page
from autoeval.report.parts import Part
from autoeval.report.sections import Section
from autoeval.report.tables import format_cells, to_terminal
from autoeval.results.held_out_tables import formats_of, method_table, source_table
from autoeval.targets import Target

BY_CATEGORY = (
    "Groups of categories were left out in turn, of one place: this tells nothing of other places, "
    "where errors are larger (docs/results/predictions.md)."
)


@dataclass(frozen=True)
class UnseenPairs(Section):
    """Held-out estimates beside a constant, as large figures and as tables.

    Parameters
    ----------
    held_out : DataFrame
        See `autoeval.estimation.predictions.unseen_error.held_out_pairs`.
    by_family : bool
        Whether families were left out, or only categories of the same places.
    target : Target
    """

    held_out: pd.DataFrame
    by_family: bool
    target: Target

    def show(self, page: Page) -> None:
        """Add the error and its tables, or why there are none."""
        page.add_heading("How far off on a source it has not seen")
        if self.held_out.empty:
            page.add_text(self.text())
            return
        ours, constant = self._summaries()
        for name, of in (("Mean error on unseen sources", ours), ("Constant", constant)):
            page.add_headline(name, self.target.text(of["mean_absolute_error"]), self.target.unit)
        page.add_headline("True value in the interval", f"{ours['coverage']:.0%}")
        if not self.by_family:
            page.add_warnings([BY_CATEGORY])
        methods, sources = self.parts()
        methods.show(page, f"Methods over all held-out sources, in {self.target.unit}")
        sources.show(page, f"Each source when it was left out, in {self.target.unit}", n_footer=1)

    def text(self) -> str:
        """Return both tables, or why there are none."""
        if self.held_out.empty:
            return "Fewer than three pairs: nothing can be left out, so the error is not known."
        methods, sources = self.parts()
        shown = [to_terminal(format_cells(p.for_people, p.formats)) for p in (sources, methods)]
        head = f"Sources left out in turn ({self.target.name}, in {self.target.unit}):"
        return "\n\n".join([head, *shown, *([] if self.by_family else [BY_CATEGORY])])

    def parts(self) -> list[Part]:
        """Return the table of methods and that of sources."""
        if self.held_out.empty:
            return []
        by_method = method_table(self._summaries(), scale=self.target.scale)
        by_method = by_method.dropna(axis=1, how="all")
        by_source = source_table(
            _by_method(self.held_out), target=self.target.name, scale=self.target.scale
        )
        formats = formats_of(by_source, digits=self.target.digits)
        return [
            Part("methods", pd.DataFrame(self._summaries()), by_method, formats_of(by_method)),
            Part("held_out", self.held_out, by_source, formats),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the summary of each method, and its results source by source."""
        if self.held_out.empty:
            return {"held_out": [], "per_source": []}
        summaries = [{k: _plain(v) for k, v in of.items()} for of in self._summaries()]
        columns = ["source", "n_images", "true", "estimate", "lower", "upper", "error", "constant"]
        rows = self.held_out[columns].to_dict("records")
        return {
            "held_out": summaries,
            "per_source": [{k: _plain(v) for k, v in row.items()} for row in rows],
        }

    def _summaries(self) -> list[dict[str, Any]]:
        return [
            summary(self.held_out, "pairs", "estimate", "error"),
            summary(self.held_out, "constant", "constant", "constant_error"),
        ]


def _by_method(held_out: pd.DataFrame) -> Mapping[str, pd.DataFrame]:
    constant = held_out.assign(estimate=held_out["constant"], error=held_out["constant_error"])
    return {"pairs": held_out, "constant": constant}


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and value != value else value
