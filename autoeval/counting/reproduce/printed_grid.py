"""Printed tables and figures with our own values for some of their cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from autoeval.counting import mode_line
from autoeval.report.compared_with_print import ComparedWithPrint, not_as_printed
from autoeval.report.page import Block, Chart, Heading, Table, Text
from autoeval.runtime.files import plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Own = Mapping[tuple[str, str], float]


def compare_with_print(
    name: str,
    entry: Mapping[str, Any],
    figures: Own,
    *differing: str,
    row: str = "model",
    notes: Sequence[str] = (),
    only_own: bool = False,
) -> ComparedWithPrint:
    """Compare our own values with those of a printed table in `configs/papers`.

    Parameters
    ----------
    name : str
        Of the table.
    entry : mapping
        ``title``, ``rows``, and ``columns`` with their decimals, or ``decimals`` of single rows.
    figures : mapping of tuple of str to float
        Our values by row and column. Rows that print does not have come behind.
    *differing : str
        In what our side is not as printed.
    row : str
        What a row is.
    notes : sequence of str
        See `ComparedWithPrint`.
    only_own : bool
        See `ComparedWithPrint`.
    """
    columns: Mapping[str, int] = entry["columns"]
    printed = {
        (model, column): value
        for model, values in entry["rows"].items()
        for column, value in zip(columns, values, strict=True)
    }
    models = dict.fromkeys([*entry["rows"], *(model for model, _ in figures)])
    rows = [
        {
            row: model,
            "column": column,
            "printed": printed.get((model, column), np.nan),
            "own": figures.get((model, column), np.nan),
            "decimals": entry.get("decimals", {}).get(model, decimals),
        }
        for model in models
        for column, decimals in columns.items()
    ]
    return ComparedWithPrint(
        f"table_{name}",
        entry["title"],
        pd.DataFrame(rows),
        marks=not_as_printed(*differing),
        notes=notes,
        only_own=only_own,
    )


def printed_name(name: str, printed: Iterable[str]) -> str:
    """Return the name that print has for a model, whatever its case and hyphens.

    Parameters
    ----------
    name : str
        Of the model.
    printed : iterable of str
        Names in print.

    Returns
    -------
    str
        Its own name where print does not have it.
    """
    plain = {"".join(filter(str.isalnum, model.lower())): model for model in printed}
    return plain.get("".join(filter(str.isalnum, name.lower())), name)


def available_rows(entry: Mapping[str, Any], figures: Own) -> str:
    """Say of how many printed rows there are predictions; empty where it is all.

    Parameters
    ----------
    entry : mapping
        With ``rows``.
    figures : mapping of tuple of str to float
        Our values by row and column.
    """
    n, n_printed = len(set(entry["rows"]) & {row for row, _ in figures}), len(entry["rows"])
    if not n:
        return f"no predictions for any of its {n_printed} rows"
    return f"predictions for {n} of {n_printed} rows" if n < n_printed else ""


@dataclass(frozen=True)
class StatedMode:
    """States the mode in a report.

    Parameters
    ----------
    mode : {"paper", "released"}
    """

    mode: str

    def text(self) -> str:
        return mode_line(self.mode)

    def blocks(self) -> list[Block]:
        return [Text(mode_line(self.mode))]

    def to_dict(self) -> dict[str, Any]:
        return {"mode": self.mode}


@dataclass(frozen=True)
class DrawnFigure:
    """A figure whose curves print gives no numbers of.

    Parameters
    ----------
    name : str
        Of its files.
    entry : mapping
        Of `configs/papers`: its ``title``, and what print says of it in ``words``.
    tables : sequence of Table
        The first is shown, the others are only written.
    draw : callable
        Draws it.
    about : str
        What it shows.
    notes : sequence of str
        Below the title.
    """

    name: str
    entry: Mapping[str, Any]
    tables: Sequence[Table]
    draw: Callable[[], Figure]
    about: str = ""
    notes: Sequence[str] = ()

    def text(self) -> str:
        shown = [table.text() for table in self.tables[:1]]
        return "\n".join([self.entry["title"], *self._said(), *shown])

    def blocks(self) -> list[Block]:
        blocks: list[Block] = [Heading(self.entry["title"]), *map(Text, self._said())]
        if self.tables:
            blocks += [Chart(self.draw(), self.about, self.name), self.tables[0]]
        return [*blocks, *(replace(table, on_page=False) for table in self.tables[1:])]

    def to_dict(self) -> dict[str, Any]:
        rows = [row for table in self.tables[:1] for row in plain(table.table.to_dict("records"))]
        words = {"in_print": self.entry["words"], "notes": list(self.notes)}
        return {self.name: {**words, "rows": rows}}

    def _said(self) -> list[str]:
        return [f"In print: {self.entry['words']}", *filter(None, [self.about]), *self.notes]
