"""A result as a list of sections, told on a page, on the terminal, as files and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoeval.report.page import Page
from autoeval.report.parts import Part
from autoeval.runtime.writers import write_figure, write_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Section:
    """One thing that a result has to say; a subclass overrides the ways in which it is said."""

    def show(self, page: Page) -> None:
        """Add it to a page."""

    def text(self) -> str:
        """Return what the terminal shows; nothing where empty."""
        return ""

    def parts(self) -> Sequence[Part]:
        """Return its tables."""
        return ()

    def figures(self) -> Iterable[tuple[str, Figure]]:
        """Draw its pictures, each with the name of its file."""
        return ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON, under keys that no other section has."""
        return {}


@dataclass(frozen=True)
class Report:
    """A result for people.

    Parameters
    ----------
    title : str
    sections : sequence of Section
        What matters most comes first: on top of the page, and last on the terminal, where the eye
        is.
    """

    title: str
    sections: Sequence[Section]

    def page(self) -> Page:
        """Build the page."""
        page = Page(self.title)
        for section in self.sections:
            section.show(page)
        return page

    def text(self) -> str:
        """Return what the terminal shows."""
        return "\n\n".join(filter(None, (s.text() for s in reversed(self.sections))))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        return {key: value for s in self.sections for key, value in s.to_dict().items()}

    def write(self, folder: Path, page: Path | None = None) -> list[Path]:
        """Write the page, its tables and pictures into a folder beside it, and ``result.json``.

        Parameters
        ----------
        folder : Path
            Where ``result.json`` goes.
        page : Path, optional
            By default ``report.html`` in `folder`. The folder of its parts has the same name
            without the suffix.

        Returns
        -------
        list of Path
            The page, the folder of its parts, the JSON file.
        """
        page = page or folder / "report.html"
        beside = page.with_suffix("")
        for section in self.sections:
            for part in section.parts():
                part.write(beside)
            for name, figure in section.figures():
                write_figure(beside / f"{name}.png", figure)
        self.page().write(page)
        return [page, beside, write_json(folder / "result.json", self.to_dict())]


def printed_text(report: Report, written: Iterable[Path], *, as_json: bool = False) -> str:
    """Return what a command prints: the report and the files it wrote, or the result as JSON."""
    if as_json:
        return json.dumps(report.to_dict(), indent=2)
    return f"{report.text()}\n\n{written_files(written)}"


def written_files(paths: Iterable[Path]) -> str:
    """Tell on the terminal which files a command wrote."""
    return "written:\n" + "\n".join(f"  {path}" for path in paths)
