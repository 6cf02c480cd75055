"""The estimate of each method that was fitted, with its error on held-out sources beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from autoeval.estimation.estimate import Estimate
from autoeval.estimation.protocol import BASELINE, LeaveOneSourceOut
from autoeval.report.page import Page
from autoeval.report.sections import Part, Section
from autoeval.report.tables import format_cells, to_terminal
from autoeval.targets import find_target

NAMES = {
    "bos": "box stability",
    "bayes": "the calibrated default",
    "fused": "ridge regression on confidence and agreement",
    BASELINE: "the mean accuracy of the other sources",
}


@dataclass(frozen=True)
class ComparedMethods(Section):
    """Estimates of one site by several methods, and which of them to use.

    estimates: by method, that in use first; empty where nothing was estimated.
    held_out: of all methods that were evaluated, among them the constant.
    """

    estimates: Mapping[str, Estimate]
    held_out: Sequence[LeaveOneSourceOut]

    def parts(self) -> Sequence[Part]:
        """Return one row a method."""
        if len(self.held_out) < 2:
            return ()
        target = find_target(self.held_out[0].target)
        rows = []
        for result in self.held_out:
            estimate = self.estimates.get(result.method)
            numbers = (math.nan,) * 3
            if estimate is not None:
                numbers = (estimate.value, estimate.lower, estimate.upper)
            names = ("estimate", "lower", "upper")
            row: dict[str, Any] = {"method": result.method, "meaning": NAMES.get(result.method, "")}
            row |= dict(zip(names, numbers, strict=True))
            rows.append({**row, "MAE held out": result.summary()["mean_absolute_error"]})
        table = pd.DataFrame(rows)
        scaled = {
            n: target.scale * table[n] for n in ("estimate", "lower", "upper", "MAE held out")
        }
        if not self.estimates:
            table = table.drop(columns=["estimate", "lower", "upper"])
        shown = table.assign(**{name: v for name, v in scaled.items() if name in table})
        return (Part("compared", table, shown, dict.fromkeys(scaled, target.format)),)

    def recommendation(self) -> str:
        """Say in one sentence which method had the smallest error, and what to use."""
        if len(self.held_out) < 2:
            return ""
        target = find_target(self.held_out[0].target)
        errors = {r.method: float(r.summary()["mean_absolute_error"]) for r in self.held_out}
        best = min(errors, key=lambda name: errors[name])
        n_sources, used = len(self.held_out[0].per_source), self.held_out[0].method
        where = f"on the {n_sources} held-out sources"
        if best == BASELINE:
            return (
                f"No method had a smaller error {where} than a constant "
                f"({target.text(errors[BASELINE])}): use none of these estimates, and label some "
                "images (autoeval label plan)."
            )
        estimate = self.estimates.get(best)
        value = "" if estimate is None else f", {estimate.value_text}"
        if best == used:
            return f"'{best}' had the smallest error {where}: use its estimate{value}."
        return (
            f"'{best}' had a smaller error {where} than '{used}', {target.text(errors[best])} "
            f"against {target.text(errors[used])}: use its estimate{value}."
        )

    def headline(self) -> str:
        """Return the table and the sentence below it."""
        parts = self.parts()
        if not parts:
            return ""
        (part,) = parts
        target = find_target(self.held_out[0].target)
        table = to_terminal(format_cells(part.for_people, part.formats))
        return f"{target.name} by method, in {target.unit}:\n\n{table}\n\n{self.recommendation()}"

    def show(self, page: Page) -> None:
        """Add the table and the sentence."""
        parts = self.parts()
        if not parts:
            return
        page.add_heading("By method")
        target = find_target(self.held_out[0].target)
        parts[0].show(page, f"{target.name} in {target.unit}; MAE on sources that were left out")
        page.add_text(self.recommendation())

    def to_dict(self) -> dict[str, Any]:
        """Return the estimates of the other methods, and the sentence."""
        if not self.parts():
            return {}
        others = {name: e.to_dict() for name, e in list(self.estimates.items())[1:]}
        return {"by_method": others, "recommendation": self.recommendation()}
