"""Tables as text: for the terminal and for Markdown."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd


def format_cells(table: pd.DataFrame, formats: Mapping[str, str]) -> pd.DataFrame:
    """Turn every value into text, by the format of its column; missing values become a dash.

    Examples
    --------
    >>> format_cells(pd.DataFrame({"mAP": [.256, None]}), {"mAP": "{:.1%}"})["mAP"].tolist()
    ['25.6%', '–']
    """

    def text(value: object, spec: str) -> str:
        missing = value is None or (isinstance(value, float) and math.isnan(value))
        return "–" if missing else spec.format(value)

    return pd.DataFrame(
        {name: [text(value, formats.get(name, "{}")) for value in table[name]] for name in table}
    )


def to_terminal(table: pd.DataFrame) -> str:
    """Align columns with spaces: text to the left, everything else to the right."""
    widths = [
        max(len(str(c)), *(len(v) for v in table[c])) if len(table) else len(c) for c in table
    ]
    rows = [list(table.columns), *table.itertuples(index=False)]
    lines = []
    for row in rows:
        first, *rest = (str(v) for v in row)
        cells = [
            first.ljust(widths[0]),
            *(v.rjust(w) for v, w in zip(rest, widths[1:], strict=True)),
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def to_markdown(table: pd.DataFrame) -> str:
    r"""Write a Markdown table; the first column to the left, the others to the right.

    Examples
    --------
    >>> print(to_markdown(pd.DataFrame({"a": ["x|y"], "b": ["1"]})))
    | a | b |
    |:---|---:|
    | x\|y | 1 |
    """
    head = "| " + " | ".join(map(str, table.columns)) + " |"
    rule = "|:---|" + "---:|" * (table.shape[1] - 1)
    rows = (
        "| " + " | ".join(str(v).replace("|", "\\|") for v in row) + " |"
        for row in table.itertuples(index=False)
    )
    return "\n".join([head, rule, *rows])
