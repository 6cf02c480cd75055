"""Tables as text: for the terminal and for Markdown."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

import pandas as pd

from autoeval.report.numerals import number_text

MARKUP = re.compile(r"[\\`*\[<|]|(?<!\w)_|_(?!\w)")


def format_cells(table: pd.DataFrame, formats: Mapping[str, str]) -> pd.DataFrame:
    """Turn every value into one line of text by its column's format; missing ones become a dash.

    Examples
    --------
    >>> format_cells(pd.DataFrame({"mAP": [.256, None]}), {"mAP": "{:.1%}"})["mAP"].tolist()
    ['25.6%', '–']
    """

    def text(value: object, spec: str) -> str:
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return "–"
        written = number_text(value, spec) if isinstance(value, float) else spec.format(value)
        return one_line(written)

    return pd.DataFrame(
        {name: [text(value, formats.get(name, "{}")) for value in table[name]] for name in table}
    )


def one_line(text: str) -> str:
    r"""Replace what a line cannot hold: line breaks and control characters.

    Names come from files of others: one with a line break ends a table, one with an escape sequence
    speaks to the terminal.

    Examples
    --------
    >>> one_line("a\nb\x1b[2J")
    'a b [2J'
    """
    return "".join(c if c.isprintable() else " " for c in text)


def to_terminal(table: pd.DataFrame) -> str:
    """Align columns with spaces: text to the left, everything else to the right."""
    rows = [[one_line(str(v)) for v in row] for row in (table.columns, *table.to_numpy(object))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *rest in rows:
        right = (v.rjust(w) for v, w in zip(rest, widths[1:], strict=True))
        lines.append("  ".join([first.ljust(widths[0]), *right]).rstrip())
    return "\n".join(lines)


def to_markdown(table: pd.DataFrame) -> str:
    r"""Write a Markdown table; the first column to the left, the others to the right.

    Text is shown as it is: what Markdown or HTML would read as markup is escaped.

    Examples
    --------
    >>> print(to_markdown(pd.DataFrame({"a": ["x|y_z"], "b": ["<i>1"]})))
    | a | b |
    |:---|---:|
    | x\|y_z | \<i>1 |
    """
    head = "| " + " | ".join(_plain(name) for name in table.columns) + " |"
    rule = "|:---|" + "---:|" * (table.shape[1] - 1)
    rows = (
        "| " + " | ".join(_plain(value) for value in row) + " |"
        for row in table.itertuples(index=False)
    )
    return "\n".join([head, rule, *rows])


def _plain(value: object) -> str:
    return MARKUP.sub(r"\\\g<0>", one_line(str(value)))
