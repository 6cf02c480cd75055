"""Progress bars: a rate and the time left on everything that takes over two seconds.

There are bars only where standard error is a terminal: a log file gets no carriage returns.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tqdm import tqdm

FEW = 8
SOON_S = 5.0
"""Items and seconds after which the rate is taken to be known."""

# Of tqdm: no bar for what takes less than two seconds, none that stays, none outside a terminal.
LOOKS: dict[str, Any] = {"delay": 2, "leave": False, "disable": None}


@dataclass
class Forecast:
    """Says two lines: how many items there are, and how long they will take.

    The first call of `update` starts the clock, so what is slow but once is not counted.

    Parameters
    ----------
    total : int
        Items.
    activity, items : str
        What is done, and with what.
    say : callable
        Takes a line.
    kept : int
        Items that are there already.
    clock : callable
        Returns seconds that never run backwards.

    Examples
    --------
    >>> forecast = Forecast(1000, "scoring", "images", print, clock=iter([0.0, 3.0, 9.0]).__next__)
    scoring: 1000 images
    >>> for n in (4, 4, 8):
    ...     forecast.update(n)
    scoring: about 12 minutes to go
    """

    total: int
    activity: str
    items: str
    say: Callable[[str], object]
    kept: int = 0
    clock: Callable[[], float] = time.monotonic
    _done: int = field(default=0, init=False)
    _first: tuple[int, float] | None = field(default=None, init=False)
    _said: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._done = self.kept
        kept = f", {self.kept} of them kept" if self.kept else ""
        self.say(f"{self.activity}: {self.total} {self.items}{kept}")

    def update(self, n: int) -> None:
        """Count items as done, and announce the time that is left as soon as it is known, once.

        Parameters
        ----------
        n : int
            How many.
        """
        if self._said:
            return
        self._done += n
        now = self.clock()
        if self._first is None:
            self._first = (self._done, now)
            return
        counted, seconds = self._done - self._first[0], now - self._first[1]
        if counted >= FEW and seconds >= SOON_S:
            self._said = True
            rest = seconds / counted * (self.total - self._done)
            self.say(f"{self.activity}: about {duration(rest)} to go")


def duration(seconds: float) -> str:
    """Write a time in the unit that people would use.

    Parameters
    ----------
    seconds : float
        From 0.

    Examples
    --------
    >>> duration(42), duration(60), duration(5000), duration(36000)
    ('42 seconds', '60 seconds', '83 minutes', '10.0 hours')
    """
    if seconds < 100:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 6000 else f"{seconds / 3600:.1f} hours"


def progress_bar(
    total: int | None, activity: str, *, unit: str = "img", kept: int = 0, disable: bool = False
) -> tqdm:
    """Make a bar on standard error that appears after two seconds and vanishes when done.

    Parameters
    ----------
    total : int or None
        Items; None is unknown.
    activity, unit : str
        What is done, and what an item is called.
    kept : int
        Items that were done before.
    disable : bool
        Whether there is none.
    """
    looks = {**LOOKS, "disable": True} if disable else LOOKS
    return tqdm(total=total, desc=activity, unit=unit, initial=kept, **looks)


def announced_bar(
    total: int,
    activity: str,
    *,
    kept: int = 0,
    items: str = "images",
    unit: str = "img",
) -> tqdm:
    """Make such a bar for what may take long: two lines stay, see `Forecast`.

    The lines are written where standard error is no terminal, too, but not where all is kept.

    Parameters
    ----------
    total, activity, kept, unit
        See `progress_bar`.
    items : str
        What items are called in the lines.
    """
    if kept == total:
        return progress_bar(total, activity, unit=unit, kept=kept)
    return _AnnouncedBar(total, activity, kept, items=items, unit=unit)


class _AnnouncedBar(tqdm):
    """A bar that says the lines of a `Forecast`, too."""

    def __init__(self, total: int, activity: str, kept: int, *, items: str, unit: str) -> None:
        # Before there is a bar, which a line written later would draw.
        say = partial(tqdm.write, file=sys.stderr)
        self._forecast = Forecast(total, activity, items, say, kept)
        super().__init__(total=total, desc=activity, initial=kept, unit=unit, **LOOKS)

    def update(self, n: float | None = 1) -> bool | None:
        """Count items, and say how long the rest takes as soon as it is known."""
        self._forecast.update(int(n or 0))
        return super().update(n)
