"""The mode of measuring as a part of a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from autoeval.counting.modes import mode_line
from autoeval.report.page import Page
from autoeval.report.sections import Section


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
