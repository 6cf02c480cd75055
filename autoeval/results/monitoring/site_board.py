"""The sites as lines of a board, and the histories of the first ones as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from matplotlib.figure import Figure

from autoeval.monitoring.looks import TESTED
from autoeval.monitoring.monitored import OK, Monitored, MonitoredSite
from autoeval.report.interactive import Board, BoardItem
from autoeval.targets import Target, find_target
from autoeval.words import counted

MOST_POINTS = 60_000  # of all lines over time together, so that a page stays small
MOST_HISTORIES = 12  # that are drawn where nobody has to open them
Pictures = Mapping[str, Sequence[tuple[str, str]]]
"""Data URIs with captions, by site."""


def site_board(monitored: Monitored, pictures: Pictures = MappingProxyType({})) -> Board:
    """Lay out all sites, alarms first, then the worst."""
    target = find_target(monitored.target)
    most = MOST_POINTS // max(1, len(monitored.sites))
    items = [_item(site, monitored, target, pictures, most) for site in monitored.sites]
    axis = f"{target.name} ({target.unit})"
    return Board(items, axis, target.scale * target.upper, "alarms first, then the worst")


def histories(monitored: Monitored) -> Figure | None:
    """Draw the history of the first sites: value and interval of each window, one below another."""
    sites = [site for site in monitored.sites if site.history["value"].notna().sum() > 1]
    sites = sites[:MOST_HISTORIES]
    if not sites:
        return None
    figure = Figure(figsize=(8, 1.7 * len(sites) + 0.4), layout="constrained")
    axes = figure.subplots(len(sites), squeeze=False)[:, 0]
    for site, ax in zip(sites, axes, strict=True):
        site.plot(ax)
        ax.set_title(f"{site.name}: {site.state}", loc="left", fontsize=9, parse_math=False)
        n = int(site.history["baseline"].sum())
        if n:
            ax.axvspan(-0.5, n - 0.5, color="0.93", zorder=0)
    return figure


def _item(
    site: MonitoredSite, monitored: Monitored, target: Target, pictures: Pictures, most: int
) -> BoardItem:
    at, lower, upper = (float(target.scale * end) for end in (site.value, site.lower, site.upper))
    note = f"{site.state}; {counted(site.n_images, 'image')} in {site.window or 'no window'}"
    if site.p_worst == site.p_worst:
        note += f"; among the {monitored.settings.k} worst: {site.p_worst:.0%}"
    rows = site.history.tail(most)
    values = (target.scale * rows["value"]).tolist()
    alarm = "; ".join(f"{kind}: {site.reasons[kind]}" for kind in monitored.kinds(site))
    return BoardItem(
        site.name,
        at,
        lower,
        upper,
        note=note,
        alarm=alarm,
        facts=list(_facts(site, monitored)),
        series=list(zip(rows["window"], values, strict=True)),
        marks=[site.window] if alarm else [],
        pictures=pictures.get(site.name, ()),
    )


def _facts(site: MonitoredSite, monitored: Monitored) -> Iterator[str]:
    if site.state != OK:
        yield f"{site.state}: {site.reason}"
    if site.value == site.value:
        yield f"{monitored.target} {site.value_text}"
    for name, ends in site.beside.items():
        text = find_target(name).text
        yield f"{name} {text(ends['value'])} ({text(ends['lower'])} to {text(ends['upper'])})"
    if site.change_text:
        yield f"against its own baseline: {site.change_text}; {site.units}"
    for drift in site.drifts:
        of = f" of {drift['category']}" if drift["category"] else ""
        numbers = f"{drift['before']:.2f} before, {drift['after']:.2f} now"
        yield f"{TESTED[drift['name']]}{of}: {numbers} (p {drift['p']:.2g})"
    if site.n_unreadable:
        yield f"cannot be read: {counted(site.n_unreadable, 'image')}"
    yield from site.warnings
