"""Which sites of a table raise an alarm: those that changed, and those whose estimate is low."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from autoeval.monitoring.order.site_table import SiteTable
from autoeval.monitoring.periods import WHOLE
from autoeval.targets import find_target


def with_changes(table: SiteTable, changes: pd.DataFrame) -> SiteTable:
    """Put the changes of sites, see `site_changes`, into their rows."""
    rows = table.rows.merge(changes.assign(period=WHOLE), on=["group", "period"], how="left")
    rows["alarm"] = rows["alarm"].eq(True)
    for name in ("moved", "unwatched", "since_image"):
        rows[name] = rows[name].fillna("")
    return replace(table, rows=rows)


def with_alarms_below(table: SiteTable, threshold: float, target: str) -> SiteTable:
    """Note at which sites the interval of the latest period lies below a threshold, in [0, 1].

    The column ``below`` has the reason in words, empty at all others. Without periods the whole
    site counts. The upper end of a 90 % interval is too low at one in twenty sites.
    """
    text = find_target(target).text
    rows, whole = table.rows, table.rows["period"] == WHOLE
    seen = rows[rows["n_images"] > 0].assign(part=~whole)
    latest = seen.sort_values(["part", "first", "period"], kind="stable").groupby("group").tail(1)
    below = {}
    for row in latest[latest["upper"] < threshold].to_dict("records"):
        period = f" in {row['period']}" if row["part"] else ""
        interval = f"{text(row['lower'])} to {text(row['upper'])}"
        below[row["group"]] = f"{target} of {interval}{period}, below {text(threshold)}"
    reasons = rows["group"].where(whole).map(below).fillna("")
    return replace(table, rows=rows.assign(below=reasons))
