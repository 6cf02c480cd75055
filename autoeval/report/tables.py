"""Tables as text and as cells of a page, and the numerals in them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from typing_extensions import Self

MARKUP = re.compile(r"[\\`*\[<|]|(?<!\w)_|_(?!\w)")


def format_cells(table: pd.DataFrame, formats: Mapping[str, str]) -> pd.DataFrame:
    """Turn every value into one line of text by its column's format; missing ones become a dash.

    >>> format_cells(pd.DataFrame({"mAP": [.256, None]}), {"mAP": "{:.1%}"})["mAP"].tolist()
    ['25.6%', '–']
    """

    def text(value: object, spec: str) -> str:
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return "–"
        written = number_text(value, spec) if isinstance(value, float) else spec.format(value)
        return _one_line(written)

    return pd.DataFrame(
        {name: [text(value, formats.get(name, "{}")) for value in table[name]] for name in table}
    )


def _one_line(text: str) -> str:
    """Replace line breaks, which end a table, and escape sequences, which reach the terminal."""
    return "".join(c if c.isprintable() else " " for c in text)


def to_terminal(table: pd.DataFrame) -> str:
    """Align columns with spaces: text to the left, everything else to the right."""
    rows = [[_one_line(str(v)) for v in row] for row in (table.columns, *table.to_numpy(object))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *rest in rows:
        right = (v.rjust(w) for v, w in zip(rest, widths[1:], strict=True))
        lines.append("  ".join([first.ljust(widths[0]), *right]).rstrip())
    return "\n".join(lines)


def to_markdown(table: pd.DataFrame) -> str:
    r"""Write a Markdown table; the first column to the left, the others to the right.

    Text is shown as it is: what Markdown or HTML would read as markup is escaped.

    >>> print(to_markdown(pd.DataFrame({"a": ["x|y_z"], "b": ["<i>1"]})))
    | a | b |
    |:---|---:|
    | x\|y_z | \<i>1 |
    """
    head = "| " + " | ".join(escaped_markdown(name) for name in table.columns) + " |"
    rule = "|:---|" + "---:|" * (table.shape[1] - 1)
    rows = (
        "| " + " | ".join(escaped_markdown(value) for value in row) + " |"
        for row in table.itertuples(index=False)
    )
    return "\n".join([head, rule, *rows])


def escaped_markdown(value: object) -> str:
    r"""Write a value in one line that Markdown and HTML show as it is.

    >>> print(escaped_markdown("a_b *x* <b>"))
    a_b \*x\* \<b>
    """
    return MARKUP.sub(r"\\\g<0>", _one_line(str(value)))


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
        cls, frame: pd.DataFrame, formats: Mapping[str, str], *, sortable: bool, n_footer: int
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


def number_text(value: float, spec: str) -> str:
    """Write a number by a format, or in short where that would take more than fifteen digits.

    >>> number_text(2.5, "{:.2f}"), number_text(1e300, "{:.2f}")
    ('2.50', '1e+300')
    """
    return f"{value:.4g}" if 1e15 <= abs(value) < math.inf else spec.format(value)
