"""Progress bars: a rate and the time left on everything that takes over two seconds.

There are bars only where standard error is a terminal: a log file gets no carriage returns.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

from tqdm import tqdm

from autoeval.runtime.forecast import Forecast

DELAY_S = 2  # what takes less has no bar


def progress_bar(
    total: int | None, what: str, *, unit: str = "img", disable: bool = False, **options: Any
) -> tqdm:
    """Make a bar on standard error that appears after two seconds and vanishes when done.

    Parameters
    ----------
    total : int or None
        Number of items, None when unknown.
    what : str
        What is being done, shown before the bar.
    unit : str
        Name of one item, shown in the rate.
    disable : bool
        Show nothing even where standard error is a terminal.
    **options
        Passed to `tqdm.tqdm`.
    """
    return tqdm(total=total, desc=what, unit=unit, **_looks(disable), **options)


def announced_bar(
    total: int,
    what: str,
    *,
    kept: int = 0,
    items: str = "images",
    unit: str = "img",
    disable: bool = False,
) -> tqdm:
    """Make such a bar for what may take long: two lines beside it stay, see `Forecast`.

    The lines are written where standard error is no terminal, too.

    Parameters
    ----------
    total : int
        With none to do, nothing is said.
    what : str
        What is being done.
    kept : int
        How many of them are done already.
    items : str
        Name of several items.
    unit : str
        Name of one item, shown in the rate.
    disable : bool
        Show and say nothing.
    """
    options: dict[str, Any] = {"initial": kept, "unit": unit}
    if disable or kept == total:
        return progress_bar(total, what, disable=disable, **options)
    return _AnnouncedBar(items, total=total, desc=what, **_looks(), **options)


def _looks(disable: bool = False) -> dict[str, Any]:
    """Return tqdm's options for a bar; its None for ``disable`` means: unless in a terminal."""
    return {"delay": DELAY_S, "leave": False, "disable": True if disable else None}


class _AnnouncedBar(tqdm):
    def __init__(self, items: str, **options: Any) -> None:
        # Before there is a bar, which a line written later would draw.
        say = partial(tqdm.write, file=sys.stderr)
        total, what, kept = (options[name] for name in ("total", "desc", "initial"))
        self._forecast = Forecast(total, what, items, say, kept)
        super().__init__(**options)

    def update(self, n: float | None = 1) -> bool | None:
        """Count items, and say how long the rest takes as soon as it is known."""
        self._forecast.update(int(n or 0))
        return super().update(n)
