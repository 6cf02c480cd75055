"""Why not to trust an estimate, and what was left out on the way to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from autoeval.estimation.estimate import Estimate
from autoeval.estimation.fitting import BASELINE
from autoeval.estimation.protocol import LeaveOneSourceOut
from autoeval.report.page import Page
from autoeval.report.sections import Section
from autoeval.targets import find_target


@dataclass(frozen=True)
class ReasonsForDoubt(Section):
    """The guards of an estimate, and the verdict of the held-out sources.

    Parameters
    ----------
    estimate : Estimate or None
    held_out : sequence of LeaveOneSourceOut
        That of the method in use first.
    """

    estimate: Estimate | None
    held_out: Sequence[LeaveOneSourceOut] = ()

    def show(self, page: Page) -> None:
        """List them, or say that there are none."""
        doubts = [
            *(self.estimate.guards if self.estimate else ()),
            *worse_than_constant(*self.held_out),
        ]
        page.add_warnings(doubts, title="Reasons for doubt")
        if self.estimate is not None and not doubts:
            page.add_text("None of the checks of this estimate gives a reason for doubt.")


@dataclass(frozen=True)
class LeftOut(Section):
    """What could not be used.

    Parameters
    ----------
    problems : sequence of str
        Of the fit.
    unreadable : str
        Names and reasons of the images that could not be read; empty for none.
    """

    problems: Sequence[str] = ()
    unreadable: str = ""

    def show(self, page: Page) -> None:
        """List it."""
        page.add_warnings([*self.problems, *filter(None, [self.unreadable])], title="Left out")

    def text(self) -> str:
        """Name the images; what is wrong with the labelled data was said when it was met."""
        return f"not read: {self.unreadable}" if self.unreadable else ""

    def to_dict(self) -> dict[str, Any]:
        """Return both."""
        return {"unreadable": self.unreadable, "problems": list(self.problems)}


def worse_than_constant(*held_out: LeaveOneSourceOut) -> list[str]:
    """Say so where the method in use, the first, does no better than a constant."""
    errors = {result.method: result.summary()["mean_absolute_error"] for result in held_out}
    used = next(iter(errors), BASELINE)
    if used == BASELINE or BASELINE not in errors or errors[used] < errors[BASELINE]:
        return []
    text = find_target(held_out[0].target).text
    return [
        f"‘{used}’ misses a source that it has not seen by {text(errors[used])} on average, a "
        f"constant that ignores the images by {text(errors[BASELINE])}: these scores say nothing "
        "about places like these"
    ]
