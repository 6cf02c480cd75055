"""What a run over many sites leaves behind."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from autoeval.monitoring.monitored_site import MonitoredSite
from autoeval.monitoring.order.site_table import SiteTable
from autoeval.monitoring.periods import WHOLE
from autoeval.notices import codes_of

ALARM, BELOW = "alarm", "below"


@dataclass(frozen=True, eq=False)
class Watched:
    """Sites, their changes, and what went wrong on the way.

    The rows of sites in `table` also have, where changes are watched, ``change``, ``change_lower``,
    ``change_upper`` (NaN where there is none), ``since`` (time), ``alarm`` (bool), ``alarm_at``
    (time), ``since_image`` (where there is no time), ``moved`` (which scores and signals, in
    words), ``influential`` (names of the images with the largest part, a tuple) and ``unwatched``
    (why no change is estimated); and with a threshold for alarms ``below`` (which interval is below
    it, in words; empty where none is).
    """

    table: SiteTable
    target: str
    by: str  # see `periods`
    warnings: tuple[str, ...] = ()  # what could not be read, doubtful times
    clocks: dict[str, int] | None = None  # how many images have their time from each source
    n_new: int = 0  # images observed in this run
    missing: tuple[str, ...] = ()  # what this run does not have, and what that means
    level: float = 0.9  # nominal coverage of the intervals

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the sites, the worst first."""
        return tuple(str(name) for name in self.table.sites["group"])

    def __getitem__(self, name: str) -> MonitoredSite:
        """Return one site; KeyError if there is none of this name."""
        for row in self.table.sites.to_dict("records"):
            if row["group"] == name:
                notices = self.table.notices.get(name, ())
                return MonitoredSite.of_row(
                    row, target=self.target, level=self.level, warnings=notices
                )
        raise KeyError(f"No site {name!r}, only {', '.join(self.names)}.")

    def __str__(self) -> str:
        lines = [str(self[name]).splitlines()[0] for name in self.names]
        return "\n".join([*lines, *(f"warning: {warning}" for warning in self.warnings)])

    def __repr__(self) -> str:
        return f"<Watched: {len(self.names)} sites, warnings: {len(self.warnings)}>"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values of every site, fit for JSON; NaN becomes None."""
        sites = [self[name].to_dict() for name in self.names]
        return {
            "target": self.target,
            "sites": sites,
            "warnings": list(self.warnings),
            "warning_codes": codes_of(self.warnings),
        }

    def to_pandas(self) -> pd.DataFrame:
        """Return the table of sites, the worst first; its columns are those of `SiteTable`."""
        return self.table.sites.reset_index(drop=True)

    @property
    def alarms(self) -> pd.DataFrame:
        """Rows of the sites that have changed, or are below the threshold for alarms.

        Those with a ``change_upper`` under 0 have changed for the worse.
        """
        sites = self.table.sites
        raised = pd.Series(False, index=sites.index)
        if ALARM in sites:
            raised |= sites[ALARM].astype(bool)
        if BELOW in sites:
            raised |= sites[BELOW] != ""
        return sites[raised]

    def periods_of(self, group: str) -> pd.DataFrame:
        """Return the rows of a site's periods, in order of time."""
        return self._by_site.get(group, self.table.rows.iloc[:0])

    @cached_property
    def _by_site(self) -> dict[str, pd.DataFrame]:
        rows = self.table.rows
        periods = rows[rows["period"] != WHOLE].sort_values(["first", "period"], kind="stable")
        return {str(group): site_periods for group, site_periods in periods.groupby("group")}

    def neighbours(self) -> list[float]:
        """Return the probability of each site to be worse than the next one, the worst first.

        One half for two that are known to be equal.
        """
        names = [n for n in self.table.sites["group"] if n in set(self.table.names)]
        at = {name: k for k, name in enumerate(self.table.names)}
        order = [at[name] for name in names]
        drawn = self.table.drawn
        signs = (np.sign(drawn[:, b] - drawn[:, a]) for a, b in pairwise(order))
        return [float((1 + sign).mean() / 2) for sign in signs]
