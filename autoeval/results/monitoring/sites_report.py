"""The report on many sites: states and alarms, histories, the board, and warnings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from autoeval.monitoring.candidate import OF_KNOWN
from autoeval.monitoring.monitored import OK, STATES, Monitored
from autoeval.notices import as_notice, prefixed
from autoeval.report.interactive import Board
from autoeval.report.page import Page
from autoeval.report.sections import Notes, Part, Report, Section
from autoeval.report.tables import format_cells, to_terminal
from autoeval.results.estimate.about import about_section
from autoeval.results.monitoring.site_board import histories
from autoeval.runtime.json_values import plain
from autoeval.targets import find_target
from autoeval.words import counted

SHOWN = 12
NOTHING_FOUND = "nothing-found"
MOST_CATEGORIES = 4  # in columns of the terminal; the tables in files have all
CAPTION = (
    "Each line is a site: a dot for the estimate of its latest complete window, a bar for the "
    "interval. Intervals overlap more than the order is uncertain, for much of the error is the "
    "same at all sites; the probability to be among the worst takes that into account."
)
HISTORY = (
    "Value and interval of each window of the sites with an alarm and of the worst; the baseline "
    "is grey"
)


def sites_report(
    monitored: Monitored,
    board: Board,
    given: Mapping[str, str] = MappingProxyType({}),
    candidate: tuple[pd.DataFrame, tuple[str, ...]] | None = None,
    label_commands: Mapping[str, str] = MappingProxyType({}),
) -> Report:
    """Compose the report, with the `site_board` and what the page is about.

    `candidate` is another detector at these sites, from `compare_at_sites`; `label_commands` plan
    labels of a site with an alarm.
    """
    n_sites = len(monitored.sites)
    title = f"{find_target(monitored.target).name} at {counted(n_sites, 'site')}"
    return Report(
        title,
        [
            Sites(monitored, board, label_commands),
            *([CandidateAtSites(*candidate)] if candidate else []),
            run_warnings(monitored),
            _how_seen(monitored),
            about_section(given),
        ],
    )


@dataclass(frozen=True)
class CandidateAtSites(Section):
    """At which sites another detector would be better, at which worse; see `compare_at_sites`."""

    table: pd.DataFrame
    warnings: tuple[str, ...]

    @property
    def of_known(self) -> list[str]:
        """Columns about known accuracies of the candidate."""
        return [name for name in OF_KNOWN if name in self.table]

    def sentence(self) -> str:
        """Count the sites by result."""
        counts = self.table["result"].value_counts()
        n = [int(counts.get(result, 0)) for result in ("better", "worse", "not distinguishable")]
        return f"The candidate is better at {n[0]} sites, worse at {n[1]}, undecided at {n[2]}"

    def about_known(self) -> str:
        """Say what the known accuracies of the candidate show; empty without any."""
        if not self.of_known:
            return ""
        return (
            "by_known: the current detector by the known accuracy of the candidate, which is "
            "measured: known less difference, with the interval of the difference. The order of "
            "the sites does not use it"
        )

    def show(self, page: Page) -> None:
        page.add_heading("Another detector at these sites")
        page.add_text(self.sentence())
        if self.of_known:
            page.add_text(f"{self.about_known()}.")
        for part in self.parts():
            part.show(page, "Candidate less current detector, points of 100")
        page.add_warnings(self.warnings, "Not compared")

    def all_warnings(self) -> Sequence[str]:
        return self.warnings

    def headline(self) -> str:
        part = self.parts()[0]
        table = to_terminal(format_cells(part.for_people, part.formats))
        return "\n".join(filter(None, [self.sentence(), table, self.about_known()]))

    def parts(self) -> list[Part]:
        formats = dict.fromkeys(("difference", "lower", "upper"), "{:+.1f}") | {
            "p_better": "{:.0f}"
        }
        formats |= dict.fromkeys(self.of_known, "{:.1f}")
        shown = self.table.assign(**{name: 100 * self.table[name] for name in formats})
        return [Part("candidate", self.table, shown, formats)]

    def to_dict(self) -> dict[str, Any]:
        return {"candidate": plain(self.table.to_dict("records"))}


@dataclass(frozen=True)
class Sites(Section):
    """All sites with their states, those with an alarm first."""

    monitored: Monitored
    board: Board = field(repr=False)
    label_commands: Mapping[str, str] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """Return one sentence an alarm."""
        lines = []
        for site in self.monitored.alarms:
            for kind in self.monitored.kinds(site):
                text = f"{site.name} {kind} in {site.window}: {site.reasons[kind]}"
                if site.change_text and kind != "below":
                    text += f"; {self.monitored.target} {site.change_text}"
                lines.append(text)
        return lines

    def show(self, page: Page) -> None:
        monitored = self.monitored
        counts = pd.Series([site.state for site in monitored.sites]).value_counts()
        page.add_headline("Sites with an alarm", str(len(monitored.alarms)), f"of {counts.sum()}")
        for state, n in counts.items():
            page.add_headline(str(state), str(n), STATES[str(state)])
        page.add_warnings(self.lines(), "Alarms")
        for figure in self.charts.values():
            page.add_figure(figure, HISTORY)
        page.add_board(self.board, f"{self.board.axis}. {CAPTION}")
        if self.label_commands:
            page.add_heading("Label a few images of these sites")
            commands = pd.DataFrame(self.label_commands.items(), columns=["site", "command"])
            page.add_table(commands, "What measures the accuracy at a site with an alarm")
        meanings = pd.DataFrame(STATES.items(), columns=["state", "means"])
        page.add_table(meanings, "States; where several hold, the first counts", folded=True)

    def figures(self) -> list[tuple[str, Figure]]:
        figure = histories(self.monitored)
        return [] if figure is None else [("histories", figure)]

    def headline(self) -> str:
        sites, n_more = self.monitored.sites, len(self.monitored.sites) - SHOWN
        alarms = "\n".join(f"ALARM: {line}" for line in self.lines())
        unit = find_target(self.monitored.target).unit
        head = f"Sites by {self.monitored.target}, in {unit}, alarms first, then the worst:"
        table = to_terminal(format_cells(self._table().head(SHOWN), {}))
        more = f"and {counted(n_more, 'more site')}" if n_more > 0 else ""
        why = [
            f"{site.name} {site.state}: {site.reason}" for site in sites if self._explained(site)
        ]
        reasons = "\n".join(why[:SHOWN])
        commands = "\n".join(
            f"label {name}: {command}" for name, command in [*self.label_commands.items()][:3]
        )
        parts = [alarms, f"{head}\n\n{table}", more, reasons, commands]
        return "\n\n".join(filter(None, parts))

    def _explained(self, site: Any) -> bool:
        """Whether the state of a site needs a reason on the terminal that no alarm gives."""
        return site.state != OK and not self.monitored.kinds(site)

    def all_warnings(self) -> Iterator[str]:
        for site in self.monitored.sites:
            found = (as_notice(warning) for warning in site.warnings)
            # others are of every estimate: the page has them with the site
            yield from prefixed(site.name, [of for of in found if of.code == NOTHING_FOUND])

    def parts(self) -> Sequence[Part]:
        return [
            Part("sites", self.monitored.to_pandas()),
            Part("windows", self.monitored.windows()),
        ]

    def to_dict(self) -> dict[str, Any]:
        return self.monitored.to_dict()

    def _table(self) -> pd.DataFrame:
        monitored = self.monitored
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
                f"among the {k} worst": _percent(site.p_worst),
            }
            for name in names:
                ends = site.per_category.get(name)
                value = ends["value"] if ends else float("nan")
                row[f"{target.name} {name}"] = "–" if pd.isna(value) else target.text(value)
            for name, ends in site.beside.items():
                row[name] = find_target(name).text(ends["value"])
            rows.append({**row, "against its baseline": site.change_text or "–"})
        table = pd.DataFrame(rows)
        if all(site.p_worst != site.p_worst for site in monitored.sites):
            table = table.drop(columns=f"among the {k} worst")
        return table


def run_warnings(monitored: Monitored) -> Notes:
    """Say what could not be read, and which times are uncertain."""
    return Notes("warnings", monitored.warnings, "Warnings")


def _how_seen(monitored: Monitored) -> Notes:
    """Say how many images there are, and where their times are from."""
    n_images = sum(monitored.clocks.values())
    clocks = ", ".join(f"{name} {n}" for name, n in monitored.clocks.items())
    line = (
        f"{counted(n_images, 'image')} of {counted(len(monitored.sites), 'site')}, "
        f"{monitored.n_new} of them new in this run; times from: {clocks or 'nothing'}."
    )
    return Notes("", [line], leading=True)


def _percent(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:.0%}"
