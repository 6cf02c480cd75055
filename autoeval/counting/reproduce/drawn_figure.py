"""A figure of a paper, drawn from our own data, with what the paper states about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autoeval.report.page import Page
from autoeval.report.sections import Part, Section
from autoeval.report.tables import format_cells, to_terminal

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class DrawnFigure(Section):
    """A figure whose curves print gives no numbers of.

    Parameters
    ----------
    name : str
        Of its files, such as ``"figure_10"``.
    title : str
    words : str
        What print says of it.
    tables : sequence of Part
        The first is shown; none where there are no data.
    draw : callable of () -> Figure
        Called where there are tables.
    about : str
        What the axes are.
    notes : sequence of str
    """

    name: str
    title: str
    words: str
    tables: Sequence[Part]
    draw: Callable[[], Figure]
    about: str = ""
    notes: Sequence[str] = ()

    def text(self) -> str:
        """Return the words and the first table."""
        shown = [to_terminal(format_cells(t.for_people, t.formats)) for t in self.tables[:1]]
        return "\n".join([self.title, *self._said(), *shown])

    def show(self, page: Page) -> None:
        """Add words, figure and first table to a page."""
        page.add_heading(self.title)
        page.add_text(*self._said())
        for _, figure in self.figures():
            page.add_figure(figure, self.about)
        for table in self.tables[:1]:
            table.show(page)

    def parts(self) -> Sequence[Part]:
        """Return the tables."""
        return self.tables

    def figures(self) -> Iterable[tuple[str, Figure]]:
        """Draw the figure."""
        return [(self.name, self.draw())] if self.tables else []

    def to_dict(self) -> dict[str, Any]:
        """Return words, notes and the first table."""
        rows = [
            row
            for part in self.tables[:1]
            for row in part.table.astype(object).where(part.table.notna(), None).to_dict("records")
        ]
        return {self.name: {"in_print": self.words, "notes": list(self.notes), "rows": rows}}

    def _said(self) -> list[str]:
        return [f"In print: {self.words}", *filter(None, [self.about]), *self.notes]
