"""The error of the estimator on sources that it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from autoeval.estimation.protocol import BASELINE, LeaveOneSourceOut
from autoeval.report.page import Page
from autoeval.report.sections import Part, Section
from autoeval.report.tables import format_cells, to_terminal
from autoeval.results.held_out_tables import formats_of, method_table, source_table
from autoeval.targets import find_target

ABOUT_R2 = (
    "R² in this table is 1 - (mean squared error of the held-out estimates) / (variance of the "
    "true values), on the sources' own images; it is negative where their mean has less error. "
    "‘score R²’ and the R² in the plot are squared correlations over the sample sets: they measure "
    "how linear the relation is, not the error of the estimates."
)

BY_CATEGORY = (
    "The groups of this cross-validation are categories of one site: errors at other sites are "
    "larger (docs/results/predictions.md)."
)


@dataclass(frozen=True)
class AtAGlance(Section):
    """The error on unseen sources in three figures; the method in use first, the baseline last.

    `why_none` is what the terminal shows where `held_out` is empty. With `by_category` categories
    of the same sites were left out, which says nothing of other sites.
    """

    held_out: Sequence[LeaveOneSourceOut]
    why_none: str = ""
    by_category: bool = False

    @property
    def _what(self) -> str:
        """What was left out, in words."""
        return "categories of the same images" if self.by_category else "sources"

    def headline(self) -> str:
        if not self.held_out:
            return self.why_none
        used, last = self.held_out[0].summary(), self.held_out[-1].summary()
        target = find_target(self.held_out[0].target)
        head = (
            f"MAE on {len(self.held_out[0].per_source)} held-out {self._what}: "
            f"{target.text(used['mean_absolute_error'])} ({target.name}, in {target.unit})"
        )
        if last["method"] == BASELINE != used["method"]:
            constant = target.text(last["mean_absolute_error"])
            head += f"; with the mean of the others as the estimate: {constant}"
        if used["coverage"] != used["coverage"]:
            return head
        return (
            f"{head}\nintervals: {used['coverage']:.0%} hold the true value, "
            f"mean width {target.text(used['width'])}"
        )

    def show(self, page: Page) -> None:
        if not self.held_out:
            return
        used, last = self.held_out[0].summary(), self.held_out[-1].summary()
        target = find_target(self.held_out[0].target)
        error, baseline = (target.text(s["mean_absolute_error"]) for s in (used, last))
        by = f"{target.unit}, by ‘{used['method']}’"
        page.add_headline(f"MAE on held-out {self._what}", error, by)
        if last["method"] == BASELINE != used["method"]:
            page.add_headline(
                "MAE of the baseline", baseline, f"the mean of the other {self._what}"
            )
        if used["coverage"] == used["coverage"]:
            n_sources = len(self.held_out[0].per_source)
            note = f"of {n_sources} held-out {self._what}; mean width {target.text(used['width'])}"
            page.add_headline("True value in the interval", f"{used['coverage']:.0%}", note)


@dataclass(frozen=True)
class UnseenSources(Section):
    """Each source with its held-out estimate, and one line a method, that in use first.

    `why_none` is what is known of the error where `held_out` is empty; with `by_category`, groups
    of categories of the same sites were left out.
    """

    held_out: Sequence[LeaveOneSourceOut]
    why_none: str = ""
    by_category: bool = False

    def show(self, page: Page) -> None:
        what = "categories" if self.by_category else "sources"
        page.add_heading(f"Error on {what} that were left out")
        if not self.held_out:
            page.add_text(self.why_none)
            return
        unit = find_target(self.held_out[0].target).unit
        if self.by_category:
            page.add_warnings([BY_CATEGORY])
        methods, sources = self.parts()
        methods.show(page, f"Methods over all held-out sources, in {unit}")
        page.add_text(ABOUT_R2)
        sources.show(page, f"Estimates of held-out sources, in {unit}", n_footer=1)

    def all_warnings(self) -> Sequence[str]:
        return [BY_CATEGORY] if self.held_out and self.by_category else []

    def text(self) -> str:
        if not self.held_out:
            return self.why_none
        target = find_target(self.held_out[0].target)
        head = f"Cross-validation, one group of sources held out ({target.name}, in {target.unit}):"
        methods, sources = self.parts()
        shown = [to_terminal(format_cells(p.for_people, p.formats)) for p in (sources, methods)]
        return "\n\n".join([head, *shown])

    def parts(self) -> list[Part]:
        if not self.held_out:
            return []
        target = find_target(self.held_out[0].target)
        long = pd.concat([r.per_source.assign(method=r.method) for r in self.held_out])
        summaries = pd.DataFrame([result.summary() for result in self.held_out])
        by_source = source_table({r.method: r.per_source for r in self.held_out}, target)
        by_method = method_table([r.summary() for r in self.held_out], target)
        return [
            Part("methods", summaries, by_method, formats_of(by_method, target)),
            Part("held_out", long, by_source, formats_of(by_source, target)),
        ]

    def to_dict(self) -> dict[str, Any]:
        return {
            "held_out": [result.summary() for result in self.held_out],
            "per_source": {r.method: r.per_source.to_dict("records") for r in self.held_out},
        }
