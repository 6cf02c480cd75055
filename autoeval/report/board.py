"""Many things side by side, each with an interval, and what happened to it over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class BoardItem:
    """One line of a `Board`.

    Parameters
    ----------
    name : str
    at, lower, upper : float
        Value and interval, in the unit of the board; NaN where there is none.
    note : str
        Shown small beside the name.
    alarm : str
        Shown in red; empty for none.
    facts : sequence of str
        Shown when the line is opened.
    series : sequence of tuple of (str, float)
        Names of periods, in their order, and the value in each.
    marks : sequence of str
        Periods at which there was an alarm.
    pictures : sequence of tuple of (str, str)
        Data URIs with captions.
    """

    name: str
    at: float
    lower: float = math.nan
    upper: float = math.nan
    note: str = ""
    alarm: str = ""
    facts: Sequence[str] = ()
    series: Sequence[tuple[str, float]] = ()
    marks: Sequence[str] = ()
    pictures: Sequence[tuple[str, str]] = ()

    def to_dict(self, digits: int) -> dict[str, Any]:
        """Return short plain values; what is empty is left out."""
        values = {
            "name": self.name,
            "at": _rounded(self.at, digits),
            "lower": _rounded(self.lower, digits),
            "upper": _rounded(self.upper, digits),
            "note": self.note,
            "alarm": self.alarm,
            "facts": list(self.facts),
            "times": [name for name, _ in self.series],
            "values": [_rounded(value, digits) for _, value in self.series],
            "marks": list(self.marks),
            "pictures": [list(pair) for pair in self.pictures],
        }
        return {key: value for key, value in values.items() if value not in ("", [], None)}


@dataclass(frozen=True)
class Board:
    """Lines that a reader can search, sort and open.

    Parameters
    ----------
    items : sequence of BoardItem
        In the order in which they are shown at first.
    axis : str
        What the values are, with their unit.
    top : float
        The largest possible value; the smallest is 0.
    order : str
        What the first order is, such as ``"worst first"``.
    digits : int
        Decimals of the values.
    """

    items: Sequence[BoardItem] = field(repr=False)
    axis: str
    top: float = 100.0
    order: str = "worst first"
    digits: int = 1

    def to_dict(self) -> dict[str, Any]:
        """Return what the script of the page draws."""
        items = [item.to_dict(self.digits) for item in self.items]
        shown = {"axis": self.axis, "top": self.top, "order": self.order, "digits": self.digits}
        return {**shown, "items": items}


def _rounded(value: float, digits: int) -> float | None:
    return None if math.isnan(value) else round(value, digits)
