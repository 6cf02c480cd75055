"""A report page whose figures and tables are files, too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from autoeval.report.page import Page
from autoeval.runtime.writers import write_figure, write_table

PAGE, FIGURES = "report.html", "figures"


@dataclass
class FiledPage(Page):
    """A page that keeps what it shows under a name, to be written beside it.

    Examples
    --------
    >>> import tempfile
    >>> page = FiledPage("Counts")
    >>> page.file_table("measures", pd.DataFrame({"MAE": [1.25]}), "All images")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in page.write_all(Path(folder))]
    ['report.html', 'measures.csv']
    """

    figures: dict[str, Figure] = field(default_factory=dict)
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)

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
        self.tables[name] = table
        self.add_table(
            table if shown is None else shown, caption, sortable=sortable, formats=formats
        )

    def write_all(self, folder: Path) -> list[Path]:
        """Write ``report.html``, ``NAME.csv`` and ``figures/NAME.png`` and ``.svg``; return them.

        A table keeps its index where that has a name.
        """
        self.write(folder / PAGE)
        written = [folder / PAGE]
        for name, table in self.tables.items():
            plain = table if table.index.name is None else table.reset_index()
            written.append(write_table(folder / f"{name}.csv", plain))
        for name, figure in self.figures.items():
            for suffix in ("png", "svg"):
                written.append(write_figure(folder / FIGURES / f"{name}.{suffix}", figure))
        return written


def merged_notes(named: Iterable[tuple[str, Iterable[str]]]) -> list[str]:
    """Say once what is said of several models; of all of them without their names.

    Examples
    --------
    >>> merged_notes([("a", ["no objects", "odd"]), ("b", ["no objects"])])
    ['no objects', 'a: odd']
    """
    names: dict[str, list[str]] = {}
    everyone: list[str] = []
    for name, notes in named:
        everyone += [name] if name not in everyone else []
        for note in dict.fromkeys(notes):
            names.setdefault(note, []).append(name)
    several = len(everyone) > 1
    return [
        note if several and own == everyone else f"{', '.join(own)}: {note}"
        for note, own in names.items()
    ]
