"""What a run over many places leaves behind."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import pandas as pd

from autoeval.monitoring.order.place_table import PlaceTable
from autoeval.monitoring.times.periods import WHOLE

ALARM = "alarm"


@dataclass(frozen=True, eq=False)
class Watched:
    """Places, their changes, and what went wrong on the way.

    Parameters
    ----------
    table : PlaceTable
        Its rows of places also have, where changes are watched, ``change``, ``change_lower``,
        ``change_upper`` (NaN where there is none), ``since`` (time), ``alarm`` (bool),
        ``alarm_at`` (time), ``moved`` (which scores and signals, in words), ``loud`` (names of the
        images that say most, a tuple) and ``unwatched`` (why no change is told).
    target : str
        What is estimated, such as ``"mAP"``.
    by : str
        See `autoeval.monitoring.times.periods.periods`.
    problems : tuple of str
        Sentences: what could not be read, what is strange about times.
    clocks : dict of str to int
        How many images each source of time told that of.
    n_new : int
        Images observed in this run.
    """

    table: PlaceTable
    target: str
    by: str
    problems: tuple[str, ...] = ()
    clocks: dict[str, int] | None = None
    n_new: int = 0

    @property
    def alarms(self) -> pd.DataFrame:
        """Rows of the places that have changed; for the worse where ``change_upper`` is under 0."""
        places = self.table.places
        return places[places[ALARM].astype(bool)] if ALARM in places else places.iloc[:0]

    def periods_of(self, group: str) -> pd.DataFrame:
        """Return the rows of a place's periods, in order of time."""
        return self._by_place.get(group, self.table.rows.iloc[:0])

    @cached_property
    def _by_place(self) -> dict[str, pd.DataFrame]:
        rows = self.table.rows
        periods = rows[rows["period"] != WHOLE].sort_values(["first", "period"], kind="stable")
        return {str(group): own for group, own in periods.groupby("group")}

    def neighbours(self) -> list[float]:
        """Return the probability of each place to be worse than the next one, the worst first."""
        names = [n for n in self.table.places["group"] if n in set(self.table.names)]
        at = {name: k for k, name in enumerate(self.table.names)}
        order = [at[name] for name in names]
        drawn = self.table.drawn
        return [float((drawn[:, a] < drawn[:, b]).mean()) for a, b in pairwise(order)]
