"""A result as a list of sections: page, terminal, files and JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from autoeval.report.page import Page
from autoeval.report.tables import format_cells, to_markdown
from autoeval.runtime.files import write_figure, write_json, write_table, write_text
from autoeval.runtime.json_values import plain
from autoeval.words import MOST, warning_lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Section:
    """One thing that a result has to say; a subclass overrides the ways in which it is said."""

    def show(self, page: Page) -> None:
        """Add it to a page."""

    def headline(self) -> str:
        """Return what the terminal shows first: the number and its interval; mostly nothing."""
        return ""

    def all_warnings(self) -> Iterable[str]:
        """Return its warnings, which the terminal shows below the headlines of all sections."""
        return ()

    def text(self) -> str:
        """Return what the terminal shows besides, below all warnings; nothing where empty."""
        return ""

    def parts(self) -> Sequence[Part]:
        """Return its tables."""
        return ()

    def figures(self) -> Iterable[tuple[str, Figure]]:
        """Draw its pictures, each with the name of its file."""
        return ()

    @cached_property
    def charts(self) -> Mapping[str, Figure]:
        """Its pictures by the names of their files, drawn once for the page and for the files."""
        return dict(self.figures())

    def to_dict(self) -> dict[str, Any]:
        """Return values for JSON, see `plain`, under keys that no other section has."""
        return {}


@dataclass(frozen=True)
class Report:
    """A result for people, what matters most first."""

    title: str
    sections: Sequence[Section]

    def page(self) -> Page:
        """Build the page."""
        page = Page(self.title)
        for section in self.sections:
            section.show(page)
        return page

    def text(self, *, verbose: bool = True, of_fit: Collection[str] = ()) -> str:
        """Return what the terminal shows: headlines, warnings, and the rest if `verbose`.

        Without `verbose` there are at most `MOST` warnings, the most important, and none of those
        that the fit has printed, `of_fit`.
        """
        warnings = [warning for s in self.sections for warning in s.all_warnings()]
        shown = [s.headline() for s in self.sections]
        lines = warning_lines(warnings) if verbose else warning_lines(warnings, MOST, of_fit=of_fit)
        shown.append("\n".join(lines))
        if verbose:
            shown += [s.text() for s in self.sections]
        return "\n\n".join(dict.fromkeys(filter(None, shown)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON; see `plain`."""
        return plain({key: value for s in self.sections for key, value in s.to_dict().items()})

    def write(self, folder: Path, page: Path | None = None) -> list[Path]:
        """Write the page, its tables and pictures into a folder beside it, and ``result.json``.

        The page is by default ``report.html`` in `folder`; the folder of its parts has the same
        name without the suffix. Returns the page, the folder of its parts, the JSON file.
        """
        page = page or folder / "report.html"
        parts = page.with_suffix("")
        shown = self.page()  # this finds the place of everything in its figures, see `add_figure`
        for section in self.sections:
            for part in section.parts():
                part.write(parts)
            for name, figure in section.charts.items():
                write_figure(parts / f"{name}.png", figure)
        shown.write(page)
        return [page, parts, write_json(folder / "result.json", self.to_dict())]


@dataclass(frozen=True)
class Part:
    """One table of a report, written in full to CSV and JSON.

    People see `shown`, on the page and in Markdown, by default all; for `formats` see
    `autoeval.report.tables.format_cells`.
    """

    name: str
    table: pd.DataFrame
    shown: pd.DataFrame | None = None
    formats: Mapping[str, str] = field(default_factory=dict)

    @property
    def for_people(self) -> pd.DataFrame:
        """What people see."""
        return self.table if self.shown is None else self.shown

    def show(self, page: Page, caption: str = "", **options: Any) -> None:
        """Add the table to a page; the options are those of `Page.add_table`."""
        page.add_table(self.for_people, caption, formats=self.formats, **options)

    def write(self, folder: Path) -> list[Path]:
        """Write ``NAME.csv``, ``NAME.json`` (a list of rows) and ``NAME.md``; return them."""
        files = [folder / f"{self.name}.{suffix}" for suffix in ("csv", "json", "md")]
        write_table(files[0], self.table)
        rows = self.table.to_json(orient="records", indent=1, double_precision=15)
        write_text(files[1], rows)
        write_text(files[2], to_markdown(format_cells(self.for_people, self.formats)) + "\n")
        return files


@dataclass(frozen=True)
class Tables(Section):
    """Tables with their captions, below a heading; nothing on a page where there is none.

    `words` are for the terminal, where they stand first with `leading`; `values` are for JSON.
    """

    tables: Sequence[tuple[Part, str]]
    heading: str = ""
    words: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    sortable: bool = True
    leading: bool = False

    def show(self, page: Page) -> None:
        """Add heading and tables to a page."""
        if self.tables and self.heading:
            page.add_heading(self.heading)
        for part, caption in self.tables:
            part.show(page, caption, sortable=self.sortable)

    def headline(self) -> str:
        """Return the words where they lead."""
        return self.words if self.leading else ""

    def text(self) -> str:
        """Return the words where they do not lead."""
        return "" if self.leading else self.words

    def parts(self) -> Sequence[Part]:
        """Return the tables."""
        return [part for part, _ in self.tables]

    def to_dict(self) -> dict[str, Any]:
        """Return the values."""
        return dict(self.values)


@dataclass(frozen=True)
class Notes(Section):
    """Lines; `name` is their key among the plain values, empty for none.

    On a page they are a box with a title, or without a title a paragraph; those with a title are
    warnings. Others stand first on the terminal with `leading`.
    """

    name: str
    lines: Sequence[str]
    title: str = ""
    leading: bool = False

    def headline(self) -> str:
        """Return the lines where they lead."""
        return "\n".join(self.lines) if self.leading else ""

    def show(self, page: Page) -> None:
        """Add the lines to a page."""
        if self.title:
            page.add_warnings(self.lines, self.title)
        elif self.lines:
            page.add_text(" ".join(self.lines))

    def all_warnings(self) -> Iterable[str]:
        """Return the lines where they are warnings."""
        return self.lines if self.title else ()

    def text(self) -> str:
        """Return the lines where they neither lead nor are warnings."""
        return "" if self.title or self.leading else "\n".join(self.lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the lines."""
        return {self.name: list(self.lines)} if self.name else {}


@dataclass(frozen=True)
class Remarks(Section):
    """What a report says in words; `name` is its key among the plain values."""

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
