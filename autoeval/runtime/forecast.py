"""How much there is to do, said beforehand, and how long it will take, said once it is known."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

FEW, SOON_S = 8, 5.0
"""Items and seconds after which the rate is taken to be known."""


@dataclass
class Forecast:
    """Says two lines: how many items there are, and how long they will take.

    The first call of `update` starts the clock, so what is slow but once is not counted.

    Parameters
    ----------
    total : int
    what : str
        What is being done.
    items : str
        Name of several items.
    say : callable
        Takes a line.
    kept : int
        How many of them are there already.
    clock : callable
        Seconds that never run backwards.

    Examples
    --------
    >>> forecast = Forecast(1000, "scoring", "images", print, clock=iter([0.0, 3.0, 9.0]).__next__)
    scoring: 1000 images
    >>> for n in (4, 4, 8):
    ...     forecast.update(n)
    scoring: about 12 minutes to go
    """

    total: int
    what: str
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
        self.say(f"{self.what}: {self.total} {self.items}{kept}")

    def update(self, n: int) -> None:
        """Count `n` more items as done."""
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
            self.say(f"{self.what}: about {duration(rest)} to go")


def duration(seconds: float) -> str:
    """Write a time in the unit in which people would tell it.

    Examples
    --------
    >>> duration(42), duration(60), duration(5000), duration(36000)
    ('42 seconds', '60 seconds', '83 minutes', '10.0 hours')
    """
    if seconds < 100:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 6000 else f"{seconds / 3600:.1f} hours"
