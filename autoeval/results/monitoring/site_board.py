"""The sites as lines of a board: value, interval, what happened over time, pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pandas as pd

from autoeval.monitoring.order.row_estimates import FALSE_ALARMS
from autoeval.monitoring.periods import FORMS
from autoeval.monitoring.watched import ALARM, BELOW, Watched
from autoeval.report.interactive import Board, BoardItem
from autoeval.report.tables import counted
from autoeval.targets import Target, find_target

NOT_KNOWN = "not known to be worse"
MOST_POINTS = 60_000  # of all lines over time together, so that a page stays small
Pictures = Mapping[str, Sequence[tuple[str, str]]]
"""Data URIs with captions, by site."""


def site_board(watched: Watched, pictures: Pictures = MappingProxyType({})) -> Board:
    """Lay out all sites, the worst first."""
    target, sites = find_target(watched.target), watched.table.sites
    most = MOST_POINTS // max(1, len(sites))
    items = [_item(row, watched, target, pictures, most) for row in sites.to_dict("records")]
    return Board(items, f"{target.name} ({target.unit})", target.scale * target.upper)


def change_text(row: Mapping[str, Any], target: Target) -> str:
    """Describe how a site changed, such as ``"fell by 9 ± 4 points since 2026-03-02 08:00"``.

    For an alarm whose interval does not exclude that nothing was lost, that comes first.
    """
    if "change" not in row or pd.isna(row["change"]):
        return f"changed, {NOT_KNOWN}" if row.get(ALARM) else ""
    change = target.scale * row["change"]
    half = target.scale * (row["change_upper"] - row["change_lower"]) / 2
    verb = "fell" if change < 0 else "rose"
    since = ""
    if not pd.isna(row.get("since")):
        since = f" since {row['since']:%Y-%m-%d %H:%M}"
    elif row.get("since_image"):
        since = f" since image {row['since_image']}"
    size = f"{verb} by {abs(change):.0f} ± {half:.0f} points"
    if row.get(ALARM) and not row["change_upper"] < 0:
        return f"changed{since}, {NOT_KNOWN} ({size})"
    return f"{size}{since}"


def alarm_text(row: Mapping[str, Any], target: Target) -> str:
    """Describe the alarms of a site: that it has changed, that its estimate is too low."""
    changed = change_text(row, target) if row.get(ALARM) else ""
    return "; ".join(filter(None, (row.get(BELOW), changed)))


def at_threshold(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield recall and false alarms, where they are estimated at a threshold."""
    for name in (name for name in row if name.startswith(FALSE_ALARMS)):
        recall = f"recall@{name.removeprefix(FALSE_ALARMS)}"
        if not pd.isna(row.get(recall)):
            ends = (row[f"{recall}{end}"] for end in ("_lower", "_upper"))
            text = find_target(recall).text
            yield f"{recall} {text(row[recall])}, interval {' to '.join(map(text, ends))}"
        if not pd.isna(row[name]):
            yield f"false alarms an image over {name.removeprefix(FALSE_ALARMS)}: {row[name]:.2f}"


def _item(
    row: Mapping[str, Any], watched: Watched, target: Target, pictures: Pictures, most: int
) -> BoardItem:
    at, lower, upper = (target.scale * row[name] for name in ("estimate", "lower", "upper"))
    periods = watched.periods_of(str(row["group"])).tail(most)
    values = (target.scale * periods["estimate"]).tolist()
    images, worst = counted(int(row["n_images"]), "image"), f"among the {watched.table.k} worst"
    return BoardItem(
        str(row["group"]),
        at,
        lower,
        upper,
        note=images if pd.isna(row["p_worst"]) else f"{images}; {worst}: {row['p_worst']:.0%}",
        alarm=alarm_text(row, target),
        facts=list(_facts(row, watched, target)),
        series=list(zip(periods["period"], values, strict=True)),
        marks=_marks(row, watched.by, periods),
        pictures=pictures.get(str(row["group"]), ()),
    )


def _facts(row: Mapping[str, Any], watched: Watched, target: Target) -> Iterator[str]:
    if not pd.isna(row["lower"]):
        interval = f"{target.text(row['lower'])} to {target.text(row['upper'])}"
        yield f"{target.name} {target.text(row['estimate'])}, interval {interval}"
    yield from at_threshold(row)
    if not pd.isna(row["first"]):
        yield f"images from {row['first']:%Y-%m-%d %H:%M} to {row['last']:%Y-%m-%d %H:%M}"
    if row["n_unreadable"]:
        yield f"cannot be read: {counted(int(row['n_unreadable']), 'image')}"
    if not row.get(ALARM) and (text := change_text(row, target)):
        yield f"against its own baseline: {text}"
    if not pd.isna(row.get("now", float("nan"))):
        ends = f"{target.text(row['now_lower'])} to {target.text(row['now_upper'])}"
        yield f"from its labelled baseline: {target.name} {target.text(row['now'])} now, {ends}"
    for name, head in (
        ("moved", "moved: "),
        ("unwatched", "no change estimated: "),
    ):
        if row.get(name):
            yield from (f"{head}{part}" for part in str(row[name]).split("; "))
    yield from watched.table.notices.get(str(row["group"]), ())


def _marks(row: Mapping[str, Any], by: str, periods: pd.DataFrame) -> list[str]:
    """Return the period in which the alarm was raised."""
    if not row.get(ALARM) or pd.isna(row.get("alarm_at")):
        return []
    if by in FORMS:
        return [row["alarm_at"].strftime(FORMS[by])]
    began = periods[periods["first"] <= row["alarm_at"]]["period"]
    return began.tail(1).tolist()
