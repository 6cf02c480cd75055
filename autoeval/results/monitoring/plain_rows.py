"""Rows of sites as plain values, for programs that read JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import pandas as pd

LEFT_OUT = {"digest"}


def plain_rows(rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield each row as values that JSON knows: times in ISO 8601, what is not there as None."""
    for row in rows.to_dict("records"):
        yield {str(k): plain(v) for k, v in row.items() if k not in LEFT_OUT}


def json_lines(rows: pd.DataFrame) -> str:
    """Return one line of JSON a row.

    Examples
    --------
    >>> print(json_lines(pd.DataFrame({"group": ["gate"], "estimate": [float("nan")]})))
    {"group": "gate", "estimate": null}
    """
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in plain_rows(rows))


def plain(value: Any) -> Any:
    """Return a value that JSON knows."""
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if value is None or value is pd.NaT or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, pd.Timestamp):
        return value.isoformat()
    return value.item() if hasattr(value, "item") else value
