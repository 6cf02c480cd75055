"""The tables of a report as files, for those who want the numbers rather than the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from autoeval.report.page import Page
from autoeval.report.tables import format_cells, to_markdown
from autoeval.runtime.files import write_text
from autoeval.runtime.writers import write_table


@dataclass(frozen=True)
class Part:
    """One table of a report.

    Parameters
    ----------
    name : str
        Of its files.
    table : DataFrame
        Written in full to CSV and JSON.
    shown : DataFrame, optional
        What people see of it, on the page and in Markdown; `table` by default.
    formats : mapping of str to str
        How to print the columns of `shown`; see `autoeval.report.tables.format_cells`.
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
