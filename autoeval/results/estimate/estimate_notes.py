"""Warnings of an estimate, and what was left out on the way to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from autoeval.estimation.estimate import Estimate
from autoeval.estimation.evaluation import worse_than_constant
from autoeval.estimation.protocol import LeaveOneSourceOut
from autoeval.report.page import Page
from autoeval.report.sections import Section


@dataclass(frozen=True)
class Warnings(Section):
    """The warnings of an estimate, and that of its evaluation.

    Parameters
    ----------
    estimate : Estimate or None
    results : sequence of LeaveOneSourceOut
        That of the method in use first.
    """

    estimate: Estimate | None
    results: Sequence[LeaveOneSourceOut] = ()

    def show(self, page: Page) -> None:
        """List them, or say that there are none."""
        found = dict.fromkeys(self.estimate.warnings if self.estimate else ())
        found |= dict.fromkeys(worse_than_constant(tuple(self.results)))
        page.add_warnings(list(found), title="Warnings")
        if self.estimate is not None and not found:
            page.add_text("None of the checks of this estimate gives a warning.")


@dataclass(frozen=True)
class LeftOut(Section):
    """What could not be used, or is odd.

    Parameters
    ----------
    problems : sequence of str
        Of the fit, and of the predictions.
    unreadable : str
        Names and reasons of the images that could not be read; empty for none.
    """

    problems: Sequence[str] = ()
    unreadable: str = ""

    def show(self, page: Page) -> None:
        """List it."""
        page.add_warnings([*self.problems, *filter(None, [self.unreadable])], title="Left out")

    def text(self) -> str:
        """Return a line each."""
        lines = [f"note: {problem}" for problem in self.problems]
        return "\n".join([*lines, *([f"not read: {self.unreadable}"] if self.unreadable else [])])

    def to_dict(self) -> dict[str, Any]:
        """Return both."""
        return {"unreadable": self.unreadable, "problems": list(self.problems)}
