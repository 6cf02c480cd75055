"""A printed table of rows and columns, and our own values for some of its cells."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from autoeval.counting.modes import mode_line
from autoeval.report.page import Page
from autoeval.report.printed_beside import Beside
from autoeval.report.sections import Section

Own = Mapping[tuple[str, str], float]


def beside(
    name: str, entry: Mapping[str, Any], own: Own, *, row: str = "model", **options: Any
) -> Beside:
    """Put our own values beside those of a printed table.

    Parameters
    ----------
    name : str
        Of the table, such as ``"1"``.
    entry : mapping
        The table in `configs/papers`: ``title``, ``rows`` (a list of values by name), and
        ``columns``, a mapping of each name to its decimals; ``decimals`` of single rows.
    own : mapping of (str, str) to float
        By row and column. Rows that print does not have come behind.
    row : str
        What a row is.
    **options
        Of `Beside`.
    """
    columns: Mapping[str, int] = entry["columns"]
    printed = {
        (model, column): value
        for model, values in entry["rows"].items()
        for column, value in zip(columns, values, strict=True)
    }
    models = dict.fromkeys([*entry["rows"], *(model for model, _ in own)])
    rows = [
        {
            row: model,
            "column": column,
            "printed": printed.get((model, column), np.nan),
            "own": own.get((model, column), np.nan),
            "decimals": entry.get("decimals", {}).get(model, decimals),
        }
        for model in models
        for column, decimals in columns.items()
    ]
    return Beside(f"table_{name}", entry["title"], pd.DataFrame(rows), **options)


def printed_name(name: str, known: Mapping[str, Any]) -> str:
    """Return the name that print has for a model, whatever its case and hyphens; else its own.

    Examples
    --------
    >>> printed_name("clipcount", {"CLIP-Count": 0}), printed_name("mine", {"CLIP-Count": 0})
    ('CLIP-Count', 'mine')
    """
    plain = {_plain(model): model for model in known}
    return plain.get(_plain(name), name)


def not_as_printed(*parts: str) -> str:
    """Say in what our side differs from print; empty where nothing does."""
    found = [part for part in parts if part]
    return f"NOT AS PRINTED: {', '.join(found)}" if found else ""


def rows_at_hand(entry: Mapping[str, Any], rows: Collection[str]) -> str:
    """Say of how many printed rows there are predictions; empty where it is all."""
    n, n_printed = len(set(entry["rows"]) & set(rows)), len(entry["rows"])
    if not n:
        return f"no predictions for any of its {n_printed} rows"
    return f"predictions for {n} of {n_printed} rows" if n < n_printed else ""


def _plain(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())


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
