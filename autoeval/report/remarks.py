"""Lines of text under a heading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from autoeval.report.page import Page
from autoeval.report.sections import Section


@dataclass(frozen=True)
class Remarks(Section):
    """What a report says in words.

    Parameters
    ----------
    name : str
        Its key among the plain values.
    heading : str
    lines : sequence of str
    """

    name: str
    heading: str
    lines: Sequence[str]

    def text(self) -> str:
        """Return the lines below the heading; nothing where there is no line."""
        return "\n".join([self.heading, *(f"  {line}" for line in self.lines)] * bool(self.lines))

    def show(self, page: Page) -> None:
        """Add the lines to a page."""
        if self.lines:
            page.add_heading(self.heading)
            page.add_text(*self.lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the lines."""
        return {self.name: list(self.lines)}
