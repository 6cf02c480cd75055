"""The report on many sites: alarms, the board, the order in words, and warnings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import pandas as pd

from autoeval.io.wording import listed
from autoeval.monitoring.candidate import OF_KNOWN
from autoeval.monitoring.order.row_estimates import FALSE_ALARMS
from autoeval.monitoring.watched import ALARM, BELOW, Watched
from autoeval.report.interactive import Board
from autoeval.report.page import Page
from autoeval.report.sections import Notes, Part, Report, Section
from autoeval.report.tables import counted, format_cells, to_terminal
from autoeval.results.estimate.about import about_section
from autoeval.results.monitoring.new_alarms import known_rows
from autoeval.results.monitoring.site_board import alarm_text, change_text
from autoeval.targets import find_target

SHOWN = 12
OF_CATEGORY = "estimate/"
MOST_CATEGORIES = 4  # in columns of the terminal; the tables in files have all
CAPTION = (
    "Each line is a site: a dot for the estimate, a bar for its interval. Intervals overlap more "
    "than the order is uncertain, for much of the error is the same at all sites; the probability "
    "to be among the worst takes that into account. Open a line for what happened there over time."
)


def sites_report(
    watched: Watched,
    board: Board,
    given: Mapping[str, str] = MappingProxyType({}),
    candidate: tuple[pd.DataFrame, tuple[str, ...]] | None = None,
) -> Report:
    """Compose the report, with the `site_board` and what the page is about.

    `candidate` is another detector at these sites, from `compare_at_sites`.
    """
    n_sites = len(watched.table.sites)
    title = f"{find_target(watched.target).name} at {counted(n_sites, 'site')}"
    return Report(
        title,
        [
            Alarms(watched),
            Order(watched, board),
            *([CandidateAtSites(*candidate)] if candidate else []),
            Notes("missing", watched.missing),
            run_warnings(watched),
            _how_seen(watched),
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
        return {"candidate": known_rows(self.table)}


@dataclass(frozen=True)
class Alarms(Section):
    """Sites that have changed, for the worse or not known to be, or are below a threshold."""

    watched: Watched

    def lines(self) -> list[str]:
        """Return one sentence an alarm."""
        target = find_target(self.watched.target)
        return [
            f"{row['group']} {alarm_text(row, target)}"
            + (f"; moved: {row['moved']}" if row.get("moved") else "")
            for row in self.watched.alarms.to_dict("records")
        ]

    def show(self, page: Page) -> None:
        alarms, title = self.watched.alarms, []
        sites, target = self.watched.table.sites, find_target(self.watched.target)
        page.add_headline("Sites with an alarm", str(len(alarms)), f"of {len(sites)}")
        estimated = sites[sites["lower"].notna()]
        if len(estimated):
            row = estimated.loc[estimated["estimate"].idxmin()]
            ends = " to ".join(target.text(row[end]) for end in ("lower", "upper"))
            note = f"{row['group']}; interval {ends}, in {target.unit}"
            page.add_headline(f"Lowest {target.name}", target.text(row["estimate"]), note)
        if BELOW in alarms:
            title.append(f"Below the threshold for alarms: {(alarms[BELOW] != '').sum()}")
        if ALARM in alarms:
            changed = alarms[alarms[ALARM].astype(bool)]
            worse = (changed["change_upper"] < 0).sum()
            title.append(f"Changed: {len(changed)}, known to be worse: {worse}")
        page.add_warnings(self.lines(), "; ".join(title))

    def headline(self) -> str:
        return "\n".join(f"ALARM: {line}" for line in self.lines())

    def to_dict(self) -> dict[str, Any]:
        return {"alarms": known_rows(self.watched.alarms)}


@dataclass(frozen=True)
class Order(Section):
    """All sites, the worst first."""

    watched: Watched
    board: Board = field(repr=False)

    def show(self, page: Page) -> None:
        page.add_board(self.board, f"{self.board.axis}. {CAPTION}")

    def headline(self) -> str:
        table, n_more = self._table().head(SHOWN), len(self.watched.table.sites) - SHOWN
        more = f"\nand {counted(n_more, 'more site')}" if n_more > 0 else ""
        unit = find_target(self.watched.target).unit
        head = f"Sites by {self.watched.target}, in {unit}, the worst first:"
        return f"{head}\n\n{to_terminal(format_cells(table, {}))}{more}"

    def all_warnings(self) -> Iterator[str]:
        sites = self.watched.table.sites
        if "unwatched" in sites:  # those of one reason together
            reasons = sites[sites["unwatched"] != ""].groupby("unwatched", sort=False)["group"]
            for reason, groups in reasons:
                yield f"no change estimated for {listed(list(groups))}: {reason}"

    def parts(self) -> Sequence[Part]:
        shown = self.watched.table.rows.drop(columns=["influential"], errors="ignore")
        return [Part("groups", shown.drop(columns=["digest"]))]

    def to_dict(self) -> dict[str, Any]:
        return {"sites": known_rows(self.watched.table.sites)}

    def _table(self) -> pd.DataFrame:
        target, sites = find_target(self.watched.target), self.watched.table.sites
        after = [*self.watched.neighbours()]
        after += [float("nan")] * (len(sites) - len(after))
        k = self.watched.table.k
        categories = [
            str(name).removeprefix(OF_CATEGORY)
            for name in sites
            if str(name).startswith(OF_CATEGORY)
        ]
        categories = categories if len(categories) <= MOST_CATEGORIES else []
        rows = []
        for row, worse in zip(sites.to_dict("records"), after, strict=True):
            estimated = not pd.isna(row["lower"])
            rows.append(
                {
                    "site": row["group"],
                    "images": int(row["n_images"]),
                    target.name: target.text(row["estimate"]) if estimated else "–",
                    "interval": f"{target.text(row['lower'])} to {target.text(row['upper'])}"
                    if estimated
                    else "–",
                    f"among the {k} worst": _percent(row["p_worst"]),
                    "worse than the next": _percent(worse),
                    **{
                        f"{target.name} {name}": _known(target.text, row[f"{OF_CATEGORY}{name}"])
                        for name in categories
                    },
                    **_at_threshold(row),
                    "against its baseline": change_text(row, target),
                }
            )
        empty = {
            "against its baseline": "change" not in sites,
            f"among the {k} worst": sites["p_worst"].isna().all(),
        }
        return pd.DataFrame(rows).drop(columns=[name for name, none in empty.items() if none])


def run_warnings(watched: Watched) -> Notes:
    """Say what could not be read, and which times are uncertain."""
    return Notes("warnings", watched.warnings, "Warnings")


def _how_seen(watched: Watched) -> Notes:
    """Say how many images there are, and where their times are from."""
    sites = watched.table.sites
    n_images = int(sites["n_images"].sum()) if len(sites) else 0
    clocks = ", ".join(f"{name} {n}" for name, n in (watched.clocks or {}).items())
    line = (
        f"{counted(n_images, 'image')} of {counted(len(sites), 'site')}, "
        f"{watched.n_new} of them new in this run; times from: {clocks or 'nothing'}."
    )
    return Notes("", [line], leading=True)


def _at_threshold(row: Mapping[str, Any]) -> dict[str, str]:
    """Return recall and false alarms an image, where they are estimated at a threshold."""
    shown = {}
    for name in (name for name in row if name.startswith(FALSE_ALARMS)):
        recall = f"recall@{name.removeprefix(FALSE_ALARMS)}"
        if recall in row:
            estimated = not pd.isna(row[recall])
            shown[recall] = find_target(recall).text(row[recall]) if estimated else "–"
        shown["false alarms an image"] = "–" if pd.isna(row[name]) else f"{row[name]:.2f}"
    return shown


def _known(text: Callable[[float], str], value: float) -> str:
    return "–" if pd.isna(value) else text(value)


def _percent(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:.0%}"
