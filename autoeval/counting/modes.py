"""The two ways to measure: by the formulas of a paper, or as its authors' code computes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from autoeval.report.page import Page
from autoeval.report.sections import Section

MODES = ("paper", "released")
DEFAULT_MODE = "paper"
MEANING = {
    "paper": "the formulas as printed",
    "released": "as the authors' code computes, which made the printed figures",
}


def mode_line(mode: str) -> str:
    """Say in one sentence how figures were measured.

    Examples
    --------
    >>> mode_line("paper")
    'Measured in the mode paper: the formulas as printed.'
    """
    return f"Measured in the mode {mode}: {MEANING[mode]}."


@dataclass(frozen=True)
class ModeSection(Section):
    """States the mode in a report."""

    mode: str

    def text(self) -> str:
        """Return the sentence."""
        return mode_line(self.mode)

    def show(self, page: Page) -> None:
        """Add the sentence to a page."""
        page.add_text(mode_line(self.mode))

    def to_dict(self) -> dict[str, Any]:
        """Return the name of the mode."""
        return {"mode": self.mode}
