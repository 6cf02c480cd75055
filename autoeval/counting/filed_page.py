"""The one writer of counting's reports: a page, its tables and its figures as files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from autoeval.report.page import Page
from autoeval.report.sections import Part, Report
from autoeval.report.tables import format_cells
from autoeval.runtime.files import write_figure, write_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE, FIGURES = "report.html", "figures"


@dataclass
class FiledPage(Page):
    """A page that keeps what it shows under a name, to be written beside it."""

    figures: dict[str, Figure] = field(default_factory=dict)
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    for_people: dict[str, pd.DataFrame] = field(default_factory=dict)

    def file_figure(
        self, name: str, figure: Figure, caption: str = "", *, image_format: str = "svg"
    ) -> None:
        """Add a figure; the parameters are those of `add_figure`, and the name of its files."""
        self.figures[name] = figure
        self.add_figure(figure, caption, image_format=image_format)

    def file_table(
        self,
        name: str,
        table: pd.DataFrame,
        caption: str = "",
        *,
        shown: pd.DataFrame | None = None,
        sortable: bool = True,
        formats: Mapping[str, str] | None = None,
    ) -> None:
        """Add a table; ``shown`` is what people see of it, all of it by default."""
        seen = table if shown is None else shown
        self.tables[name] = table
        self.for_people[name] = format_cells(_with_index(seen), formats or {})
        self.add_table(seen, caption, sortable=sortable, formats=formats)

    def write_all(self, folder: Path) -> list[Path]:
        """Write ``report.html``, the tables and ``figures/NAME.png`` and ``.svg``; return them."""
        self.write(folder / PAGE)
        written = [folder / PAGE]
        for name, table in self.tables.items():
            written += Part(name, _with_index(table), self.for_people.get(name)).write(folder)
        for name, figure in self.figures.items():
            for suffix in ("png", "svg"):
                written.append(write_figure(folder / FIGURES / f"{name}.{suffix}", figure))
        return written


def _with_index(table: pd.DataFrame) -> pd.DataFrame:
    return table if table.index.name is None else table.reset_index()


def write_sections(report: Report, folder: Path) -> list[Path]:
    """Write a report as `FiledPage.write_all` does, and ``result.json``; return all paths."""
    page = FiledPage(report.title)
    for section in report.sections:
        section.show(page)
        for part in section.parts():
            page.tables[part.name] = part.table
            page.for_people[part.name] = format_cells(part.for_people, part.formats)
        page.figures |= section.charts
    return [*page.write_all(folder), write_json(folder / "result.json", report.to_dict())]


def merged_notes(named: Iterable[tuple[str, Iterable[str]]]) -> list[str]:
    """Say once what is said of several models; of all of them without their names.

    Examples
    --------
    >>> merged_notes([("a", ["no objects", "odd"]), ("b", ["no objects"])])
    ['no objects', 'a: odd']
    """
    names: dict[str, list[str]] = {}
    everyone: dict[str, None] = {}
    for name, notes in named:
        everyone[name] = None
        for note in dict.fromkeys(notes):
            names.setdefault(note, []).append(name)
    return [
        note if models == [*everyone] and len(models) > 1 else f"{', '.join(models)}: {note}"
        for note, models in names.items()
    ]
