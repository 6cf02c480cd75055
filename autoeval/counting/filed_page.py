"""The one writer of counting's reports: a page, its tables and its figures as files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pandas as pd

from autoeval.report.page import PAGE, Chart, Page, Table, left_beside
from autoeval.runtime.files import write_figure, write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURES = "figures"


class FiledPage(Page):
    """A page with its tables beside it, and its figures in a folder."""

    def file_figure(
        self, name: str, figure: Figure, caption: str, *, image_format: str = "svg"
    ) -> None:
        """Add a figure.

        Parameters
        ----------
        name, figure, caption, image_format
            See `autoeval.report.page.Chart`.
        """
        self.blocks.append(Chart(figure, caption, name, image_format))

    def file_table(
        self,
        name: str,
        table: pd.DataFrame,
        caption: str,
        *,
        shown: pd.DataFrame | None = None,
        sortable: bool = True,
        formats: Mapping[str, str] | None = None,
    ) -> None:
        """Add a table.

        Parameters
        ----------
        name : str
            Of its file, without suffix.
        table : DataFrame
            What is in the file.
        caption : str
            Above the table.
        shown : DataFrame, optional
            What people see of it; by default all.
        sortable : bool
            Whether people can sort it on the page.
        formats : mapping of str to str, optional
            Format of the numbers of each column.
        """
        seen = _with_index(table if shown is None else shown)
        whole = _with_index(table)
        self.blocks.append(Table(name, whole, seen, formats or {}, caption, sortable))

    def file_rows(self, name: str, rows: pd.DataFrame) -> None:
        """Write a table beside the page without showing it.

        Parameters
        ----------
        name : str
            Of its file, without suffix.
        rows : DataFrame
        """
        self.blocks.append(Table(name, _with_index(rows), on_page=False))

    def write_all(self, folder: Path) -> list[Path]:
        """Write ``report.html``, the tables and ``figures/NAME.png`` and ``.svg``.

        Those of an earlier page in the folder that this one lacks are removed: they are of another
        result.

        Parameters
        ----------
        folder : Path

        Returns
        -------
        list of Path
            What was written.
        """
        html, page = self.render(), folder / PAGE
        for name in map(Path, left_beside(page, html) if page.is_file() else ()):
            of_table = [folder / name.with_suffix(suffix) for suffix in (".csv", ".json", ".md")]
            of_figure = [folder / FIGURES / name.with_suffix(suffix) for suffix in (".png", ".svg")]
            files = of_table if name.suffix == ".csv" else of_figure
            if all(file.is_file() for file in files):  # fewer are not of such a page
                for file in files:
                    file.unlink()
        write_text(page, html)
        written = [page]
        for block in self.blocks:
            if isinstance(block, Table) and block.name:
                written += block.write(folder)
            elif isinstance(block, Chart) and block.name:
                for suffix in ("png", "svg"):
                    path = folder / FIGURES / f"{block.name}.{suffix}"
                    written.append(write_figure(path, cast("Figure", block.figure.figure)))
        return written


def _with_index(table: pd.DataFrame) -> pd.DataFrame:
    return table if table.index.name is None else table.reset_index()


def merged_notes(named: Iterable[tuple[str, Iterable[str]]]) -> list[str]:
    """Say once what is said of several models; of all of them without their names.

    Parameters
    ----------
    named : iterable of tuple of str and iterable of str
        Each model with its notes.

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
