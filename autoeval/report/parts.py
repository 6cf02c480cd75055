"""The tables of a report as files, for those who want the numbers rather than the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from autoeval.report.tables import format_cells, to_markdown
from autoeval.runtime.files import atomic_path, write_text


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

    def write(self, folder: Path) -> list[Path]:
        """Write ``NAME.csv``, ``NAME.json`` (a list of rows) and ``NAME.md``; return them."""
        files = [folder / f"{self.name}.{suffix}" for suffix in ("csv", "json", "md")]
        with atomic_path(files[0]) as temporary:
            self.table.to_csv(temporary, index=False)
        with atomic_path(files[1]) as temporary:
            self.table.to_json(temporary, orient="records", indent=1, double_precision=15)
        write_text(files[2], to_markdown(format_cells(self.for_people, self.formats)) + "\n")
        return files
