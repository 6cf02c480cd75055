"""Many sites over time as text, page and JSON: states and alarms, histories, a board of all.

Functions of a `Monitored`; `autoeval monitor` prints and writes them. What is sent to other
programs is in ``alarms.py``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from autoeval.accuracy.measures import find_target
from autoeval.detections import Detections
from autoeval.io.images import UnreadableImageError, read_image
from autoeval.monitoring.candidate import OF_KNOWN
from autoeval.monitoring.looks import MOVED
from autoeval.monitoring.monitor_store import CameraImage, MonitorStore
from autoeval.monitoring.monitored import CHANGE, STATES, Monitored, MonitoredSite
from autoeval.monitoring.windows import in_time
from autoeval.report.page import (
    NOTHING,
    Block,
    Board,
    Facts,
    Heading,
    Headline,
    Page,
    Table,
    Text,
    Warnings,
    notice_values,
    result_text,
    to_terminal,
)
from autoeval.result_base import ENDS, JSON_NAMES
from autoeval.words import Notice, counted, listed, prefixed

SHOWN = 12  # sites on the terminal
NOTHING_FOUND = "nothing-found"
MOST_CATEGORIES = 4  # in columns of the terminal; the tables in files have all
MOST_POINTS = 30_000  # windows of all lines over time together, so that a page stays small
MOST_OPEN = 3  # sites with an alarm that nobody has to open
OF_SITE = 4
MOST_PICTURES = 12
SIDE = 240
SURE = 0.3  # score of boxes on pictures
DIGITS = 1  # of values on the board
CAPTION = (
    "Each line is a site: a dot for the estimate of its latest complete window, a bar for the "
    "interval. Intervals overlap more than the order is uncertain, for much of the error is the "
    "same at all sites; the probability to be among the worst takes that into account. A click "
    "opens a site: value and interval of each window, the baseline in grey. The second line there "
    "is the mean of the baseline, or its level by labels, and the change against it, estimated "
    "from the difference of the boxes."
)
BY_KNOWN = (
    "by_known: the current detector by the known accuracy of the candidate, which is measured: "
    "known less difference, with the interval of the difference. The order of the sites does not "
    "use it"
)
Pictures = Mapping[str, Sequence[tuple[str, str]]]
"""Data URIs with captions, by site."""


def monitored_text(
    monitored: Monitored, label_commands: Mapping[str, str], *, verbose: bool
) -> str:
    """Return what the terminal shows: alarms, the sites, why they are in their states, warnings.

    Parameters
    ----------
    monitored : Monitored
        A run over many sites.
    label_commands : mapping of str to str
        What plans labels of a site with an alarm, by site.
    verbose : bool
        All warnings.
    """
    sites, candidate, n_more = monitored.sites, monitored.candidate, len(monitored.sites) - SHOWN
    unit = find_target(monitored.target).unit
    table = to_terminal(site_rows(monitored).head(SHOWN))
    sites_of: dict[str, list[str]] = {}  # by what is said of them
    for site in sites:
        if site.reason and not site.alarms:
            sites_of.setdefault(f"{site.state}: {site.reason}", []).append(site.name)
    reasons = [f"{listed(names)} {text}" for text, names in sites_of.items()]
    commands = [f"label {name}: {command}" for name, command in label_commands.items()]
    heads = [
        "\n".join(f"ALARM: {line}" for line in alarm_lines(monitored)),
        f"Sites by {monitored.target}, in {unit}, alarms first, then the worst:",
        table,
        f"and {counted(n_more, 'more site')}" if n_more > 0 else "",
        "\n".join(reasons[:SHOWN]),
        "\n".join(commands[:3]),
        candidate_text(candidate[0]) if candidate else "",
        images_text(monitored),
    ]
    # Of the warnings of single sites only that nothing was found: the others are of every
    # estimate, and the page has them with the site.
    warnings: list[Notice] = []
    for site in sites:
        nothing = [w for w in site.warnings if w.code == NOTHING_FOUND]
        warnings += prefixed(site.name, nothing)
    warnings += [*(candidate[1] if candidate else ()), *monitored.warnings]
    return result_text(heads, warnings, verbose=verbose)


def monitored_values(monitored: Monitored, about: Mapping[str, str]) -> dict[str, Any]:
    """Return the content of ``result.json``.

    Parameters
    ----------
    monitored : Monitored
        A run over many sites.
    about : mapping of str to str
        What it is about; see `autoeval.report.page.about`.
    """
    sites, candidate = [], monitored.candidate
    for site in monitored.sites:
        values = {
            JSON_NAMES.get(name, name): value
            for name, value in vars(site).items()
            if name not in ("history", "alarms")
        }
        # far faster than pandas at a few rows of each of many sites
        columns = [site.history[name].tolist() for name in site.history]
        rows = [dict(zip(site.history, row, strict=True)) for row in zip(*columns, strict=True)]
        values |= {"reason": site.reason, **notice_values(site.warnings), "history": rows}
        sites.append(values)
    values = {
        "target": monitored.target,
        "level": monitored.level,
        "sites": sites,
        "alarms": [
            {"site": site.name, "kind": kind, "reason": site.reasons[kind]}
            for site in monitored.alarms
            for kind in site.alarms
        ],
        **notice_values((*(candidate[1] if candidate else ()), *monitored.warnings)),
    }
    if candidate:
        values["candidate"] = candidate[0].to_dict("records")
    return {**values, "about": dict(about)}


def monitored_page(
    monitored: Monitored,
    label_commands: Mapping[str, str] = NOTHING,
    *,
    pictures: Pictures,
    about: Mapping[str, str] = NOTHING,
) -> Page:
    """Make the page of a run over many sites.

    Parameters
    ----------
    monitored, label_commands
        See `monitored_text`.
    pictures : mapping of str to sequence of (str, str)
        See `site_pictures`.
    about : mapping of str to str
        What it is about; see `autoeval.report.page.about`.
    """
    counts = pd.Series([site.state for site in monitored.sites]).value_counts()
    alarms = str(len(monitored.alarms))
    blocks: list[Block] = [Headline("Sites with an alarm", alarms, f"of {counts.sum()}")]
    blocks += [Headline(str(state), str(n), STATES[str(state)]) for state, n in counts.items()]
    blocks.append(Warnings(alarm_lines(monitored), "Alarms"))
    board = site_board(monitored, pictures)
    blocks.append(Board(board, f"{board['axis']}. {CAPTION}"))
    if label_commands:
        commands = pd.DataFrame(label_commands.items(), columns=["site", "command"])
        caption = "What measures the accuracy at a site with an alarm"
        blocks += [
            Heading("Label a few images of these sites"),
            Table("", commands, caption=caption),
        ]
    meanings = pd.DataFrame(STATES.items(), columns=["state", "means"])
    caption = "States; where several hold, the first counts"
    blocks += [
        Table("", meanings, caption=caption, folded=True),
        Table("sites", monitored.to_pandas(), on_page=False),
        Table("windows", monitored.windows(), on_page=False),
    ]
    if monitored.candidate:
        rows, not_compared = monitored.candidate
        blocks += [
            Heading("Another detector at these sites"),
            Text(candidate_sentence(rows)),
            Text(f"{BY_KNOWN}." if known_columns(rows) else ""),
            candidate_table(rows),
            Warnings(not_compared, "Not compared"),
        ]
    blocks += [
        Warnings(monitored.warnings),
        Text(images_text(monitored)),
        Facts(about, "What this page is about"),
    ]
    n_sites = counted(len(monitored.sites), "site")
    return Page(f"{find_target(monitored.target).name} at {n_sites}", blocks)


def alarm_lines(monitored: Monitored) -> list[str]:
    """Return one sentence for each alarm.

    Parameters
    ----------
    monitored : Monitored
        A run over many sites.
    """
    lines = []
    for site in monitored.alarms:
        for kind in site.alarms:
            text = f"{site.name} {kind} in {site.window}: {site.reasons[kind]}"
            if site.change_text and kind != "below":
                text += f"; {monitored.target} {site.change_text}"
            lines.append(text)
    return lines


def images_text(monitored: Monitored) -> str:
    """State how many images there are, how many of them are new, and where their times are from.

    Parameters
    ----------
    monitored : Monitored
        A run over many sites.
    """
    n_images = sum(monitored.clocks.values())
    clocks = ", ".join(f"{name} {n}" for name, n in monitored.clocks.items())
    return (
        f"{counted(n_images, 'image')} of {counted(len(monitored.sites), 'site')}, "
        f"{monitored.n_new} of them new in this run; times from: {clocks or 'nothing'}."
    )


def site_rows(monitored: Monitored) -> pd.DataFrame:
    """Make the table of sites for the terminal, with accuracies as texts.

    Parameters
    ----------
    monitored : Monitored
        A run over many sites.
    """
    target, k = find_target(monitored.target), monitored.settings.k
    names = list(dict.fromkeys(name for site in monitored.sites for name in site.per_category))
    names = names if len(names) <= MOST_CATEGORIES else []
    rows = []
    for site in monitored.sites:
        row = {
            "site": site.name,
            "state": site.state,
            "window": site.window,
            "images": site.n_images,
            target.name: site.value_text,
            f"among the {k} worst": "–" if math.isnan(site.p_worst) else f"{site.p_worst:.0%}",
        }
        for name in names:
            ends = site.per_category.get(name)
            value = ends["value"] if ends else math.nan
            row[f"{target.name} {name}"] = target.text(value)
        for name, ends in site.other_targets.items():
            row[name] = find_target(name).text(ends["value"])
        rows.append({**row, "against its baseline": site.change_text or "–"})
    table = pd.DataFrame(rows)
    if all(math.isnan(site.p_worst) for site in monitored.sites):
        table = table.drop(columns=f"among the {k} worst")
    return table


def candidate_text(rows: pd.DataFrame) -> str:
    """Return at which sites another detector would be better, for the terminal.

    Parameters
    ----------
    rows : DataFrame
        See `compare_at_sites`.
    """
    lines = [candidate_sentence(rows), candidate_table(rows).text()]
    return "\n".join([*lines, BY_KNOWN] if known_columns(rows) else lines)


def candidate_sentence(rows: pd.DataFrame) -> str:
    """State at how many sites another detector is better, worse or undecided.

    Parameters
    ----------
    rows : DataFrame
        See `compare_at_sites`.
    """
    counts = rows["result"].value_counts()
    better, worse = int(counts.get("better", 0)), int(counts.get("worse", 0))
    undecided = int(counts.get("not distinguishable", 0))
    return (
        f"The candidate is better at {counted(better, 'site')}, worse at {worse}, undecided at "
        f"{undecided}"
    )


def candidate_table(rows: pd.DataFrame) -> Table:
    """Make the table of differences, one row a site; people see it in points of 100.

    Parameters
    ----------
    rows : DataFrame
        See `compare_at_sites`.
    """
    formats = dict.fromkeys(("difference", "lower", "upper"), "{:+z.1f}") | {"p_better": "{:.0f}"}
    formats |= dict.fromkeys(known_columns(rows), "{:.1f}")
    shown = rows.assign(**{name: 100 * rows[name] for name in formats})
    caption = "Candidate less current detector, points of 100"
    return Table("candidate", rows, shown, formats, caption)


def known_columns(rows: pd.DataFrame) -> list[str]:
    """Return which of the columns `OF_KNOWN`, of known accuracies of the candidate, a table has.

    Parameters
    ----------
    rows : DataFrame
        See `compare_at_sites`.
    """
    return [name for name in OF_KNOWN if name in rows]


def site_board(monitored: Monitored, pictures: Pictures) -> dict[str, Any]:
    """Return what the script of the page draws: all sites, alarms first, then the worst.

    A reader can search, sort and open its lines.

    Parameters
    ----------
    monitored : Monitored
        A run over many sites.
    pictures : mapping of str to sequence of (str, str)
        See `site_pictures`.

    Returns
    -------
    dict
        Short plain values; of a line what is empty is left out. ``note`` is shown small beside the
        name, ``alarm`` in red, the rest when the line is opened, as it is from the start where
        ``open`` is true. ``values`` are of the windows ``times``, with their intervals as
        ``ranges``; ``changes`` are the mean of the ``baseline``, the first so many windows, and the
        change against it, with its interval; ``marks`` are the windows with an alarm.
    """
    target, n_sites = find_target(monitored.target), len(monitored.sites)
    items: list[dict[str, Any]] = []
    for site in monitored.sites:
        note = f"{site.state}; {counted(site.n_images, 'image')} in {site.window or 'no window'}"
        if not math.isnan(site.p_worst):
            note += f"; among the {monitored.settings.k} worst: {site.p_worst:.0%}"
        alarm = "; ".join(f"{kind}: {site.reasons[kind]}" for kind in site.alarms)
        rows = site.history.tail(MOST_POINTS // n_sites)
        rows = rows if rows["value"].notna().any() else rows[:0]  # nothing to draw
        baseline = rows["baseline"].to_numpy(bool)
        changes = np.clip(site.baseline_level + rows[list(CHANGE)].to_numpy(float), 0, 1)
        columns = {
            "whole": [[site.value, site.lower, site.upper]],
            "windows": rows[list(ENDS)].to_numpy(float).tolist(),
            "changes": changes.tolist() if np.isfinite(changes).any() else [],
        }
        drawn = {
            name: [
                [None if math.isnan(v) else round(target.scale * float(v), DIGITS) for v in ends]
                for ends in of_rows
            ]
            for name, of_rows in columns.items()
        }
        at, lower, upper = drawn["whole"][0]
        item = {
            "name": site.name,
            "at": at,
            "lower": lower,
            "upper": upper,
            "note": note,
            "alarm": alarm,
            "open": True if alarm and len(items) < MOST_OPEN else None,
            "facts": site_facts(site),
            "times": rows["window"].tolist(),
            "values": [value for value, _, _ in drawn["windows"]],
            "ranges": [ends[1:] for ends in drawn["windows"]],
            "changes": drawn["changes"],
            "baseline": int(baseline.sum()),
            "marks": [site.window] if alarm else [],
            "pictures": [list(pair) for pair in pictures.get(site.name, ())],
        }
        items.append({key: value for key, value in item.items() if value not in ("", [], None)})
    return {
        "axis": f"{target.name} ({target.unit})",
        "top": target.scale * target.upper,
        "order": "alarms first, then the worst",
        "digits": DIGITS,
        "items": items,
    }


def site_facts(site: MonitoredSite) -> list[str]:
    """Return what is known of a site, one sentence each, with its warnings.

    Parameters
    ----------
    site : MonitoredSite
        One of a run.
    """
    facts = [f"{site.state}: {site.reason}"] if site.reason else []
    if not math.isnan(site.value):
        facts.append(f"{site.target} {site.value_text}")
    for name, ends in site.other_targets.items():
        text = find_target(name).text
        around = f"{text(ends['lower'])} to {text(ends['upper'])}"
        facts.append(f"{name} {text(ends['value'])} ({around})")
    if site.change_text:
        facts.append(f"against its own baseline: {site.change_text}; {site.units}")
    for drift in site.drifts:
        of_category = f" of {drift['category']}" if drift["category"] else ""
        numbers = f"{drift['before']:.2f} before, {drift['after']:.2f} now"
        facts.append(f"{MOVED[drift['name']]}{of_category}: {numbers} (p {drift['p']:.2g})")
    if site.last:
        facts.append(f"latest image: {site.last.replace('T', ' ')}")
    if site.n_unreadable:
        facts.append(f"cannot be read: {counted(site.n_unreadable, 'image')}")
    return [*facts, *site.warnings]


def site_pictures(monitored: Monitored, store: MonitorStore) -> dict[str, list[tuple[str, str]]]:
    """Return pictures of the first sites by name, data URIs with captions, for `site_board`.

    Each of the first `MOST_PICTURES` / `OF_SITE` sites has its `OF_SITE` latest images that are at
    hand; other sites have none.

    Parameters
    ----------
    monitored : Monitored
        A run over many sites.
    store : MonitorStore
        With the boxes.
    """
    paths, index = monitored.pictures, store.index()
    index = index[(index["unreadable"] == "") & index["kept"] & index["name"].isin(paths)]
    pictures = {}
    for site in monitored.sites[: MOST_PICTURES // OF_SITE]:
        images = in_time(index[index["site"] == site.name])
        records = store.read(images["name"].tail(OF_SITE).tolist())
        drawn = (_picture(record, paths[record.name]) for record in records)
        pictures[site.name] = [picture for picture in drawn if picture]
    return pictures


def _picture(record: CameraImage, path: Path) -> tuple[str, str] | None:
    """Draw an image with its boxes; None where it cannot be read any more."""
    from autoeval.report.pictures import draw_boxes, thumbnail_uri

    try:
        image = read_image(path)
    except UnreadableImageError:
        return None
    rows = record.boxes
    boxes = Detections(rows["box"], rows["score"], rows["label"].astype(int)).above(SURE)
    when = f", {record.taken:%Y-%m-%d %H:%M}" if record.taken else ""
    return thumbnail_uri(draw_boxes(image, boxes, (), side=SIDE), SIDE), f"{record.name}{when}"
