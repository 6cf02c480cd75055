"""Tables as a page shows them: text for people, numbers to sort by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from typing_extensions import Self

from autoeval.report.numerals import number_text


@dataclass(frozen=True)
class Cell:
    """A table cell: what is shown, and the number it sorts by (None sorts by the text)."""

    text: str
    number: float | None = None


@dataclass(frozen=True)
class Table:
    """Header, body and footer of a table as the template wants them."""

    columns: tuple[str, ...]
    body: tuple[tuple[Cell, ...], ...]
    footer: tuple[tuple[Cell, ...], ...]
    sortable: bool

    @classmethod
    def of(
        cls,
        frame: pd.DataFrame,
        formats: Mapping[str, str],
        *,
        sortable: bool,
        n_footer: int,
    ) -> Self:
        """Lay out a table; the parameters are those of `autoeval.report.page.Page.add_table`."""
        plain = isinstance(frame.index, pd.RangeIndex) and frame.index.name is None
        shown = frame if plain else frame.reset_index()
        specs = [dict(formats).get(name) for name in shown.columns]
        rows = tuple(
            tuple(_cell(value, spec) for value, spec in zip(row, specs, strict=True))
            for row in shown.itertuples(index=False, name=None)
        )
        split = len(rows) - n_footer
        return cls(tuple(map(str, shown.columns)), rows[:split], rows[split:], sortable)

    @cached_property
    def alignments(self) -> tuple[str, ...]:
        """Class of each column: ``"number"`` where any of its cells is one, else ``"text"``."""
        return tuple(
            "number" if any(row[k].number is not None for row in self.body) else "text"
            for k in range(len(self.columns))
        )


def _cell(value: Any, spec: str | None) -> Cell:
    if isinstance(value, (bool, np.bool_)):
        return Cell("yes" if value else "no")
    if isinstance(value, (int, float, np.integer, np.floating)):
        return _number_cell(float(value), isinstance(value, (int, np.integer)), spec)
    return Cell("–" if value is None or value is pd.NA or value is pd.NaT else str(value))


def _number_cell(value: float, whole: bool, spec: str | None) -> Cell:
    if np.isnan(value):
        return Cell("–")
    if spec is not None or (whole and abs(value) >= 1e15):
        text = number_text(value, spec or "{:.0f}")
    else:
        text = f"{value:.0f}" if whole or 1e4 <= abs(value) < 1e15 else f"{value:.4g}"
    return Cell(text.replace("-", "\N{MINUS SIGN}", 1) if value < 0 else text, value)
