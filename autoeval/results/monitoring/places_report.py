"""The report on many places: alarms, the board, the order in words, and what was strange."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from autoeval.data.wording import listed
from autoeval.monitoring.watched import Watched
from autoeval.report.board import Board
from autoeval.report.numerals import counted
from autoeval.report.page import Page
from autoeval.report.parts import Part
from autoeval.report.sections import Report, Section
from autoeval.report.tables import format_cells, to_terminal
from autoeval.results.monitoring.place_board import change_text
from autoeval.results.monitoring.plain_rows import plain_rows
from autoeval.targets import find_target

SHOWN = 12
CAPTION = (
    "Each line is a place: a dot for the estimate, a bar for its interval. Intervals overlap more "
    "than the order is uncertain, for much of the error is the same at all places; the probability "
    "to be among the worst takes that into account. Open a line for what happened there over time."
)


def places_report(watched: Watched, board: Board) -> Report:
    """Compose the report.

    Parameters
    ----------
    watched : Watched
    board : Board
        From `autoeval.results.monitoring.place_board.place_board`.
    """
    n_places = len(watched.table.places)
    title = f"{find_target(watched.target).name} at {counted(n_places, 'place')}"
    return Report(
        title, [Alarms(watched), Order(watched, board), Strange(watched.problems), HowSeen(watched)]
    )


@dataclass(frozen=True)
class Alarms(Section):
    """Places that have changed, for the worse or not known to be."""

    watched: Watched

    def lines(self) -> list[str]:
        """Return one sentence an alarm."""
        target = find_target(self.watched.target)
        return [
            f"{row['group']} {change_text(row, target)}"
            + (f"; moved: {row['moved']}" if row.get("moved") else "")
            for row in self.watched.alarms.to_dict("records")
        ]

    def show(self, page: Page) -> None:
        """Add a box that lists them; nothing where there are none."""
        worse = int((self.watched.alarms["change_upper"] < 0).sum()) if self.lines() else 0
        title = f"Changed: {len(self.lines())}, known to be worse: {worse}"
        page.add_warnings(self.lines(), title)

    def text(self) -> str:
        """Return one line an alarm."""
        return "\n".join(f"ALARM: {line}" for line in self.lines())

    def to_dict(self) -> dict[str, Any]:
        """Return the rows of the places with an alarm."""
        return {"alarms": list(plain_rows(self.watched.alarms))}


@dataclass(frozen=True)
class Order(Section):
    """All places, the worst first."""

    watched: Watched
    board: Board = field(repr=False)

    def show(self, page: Page) -> None:
        """Add the board."""
        page.add_board(self.board, f"{self.board.axis}. {CAPTION}")

    def text(self) -> str:
        """Return the worst places as a table."""
        table, n_more = self._table().head(SHOWN), len(self.watched.table.places) - SHOWN
        more = f"\nand {counted(n_more, 'more place')}" if n_more > 0 else ""
        unit = find_target(self.watched.target).unit
        head = f"Places by {self.watched.target}, in {unit}, the worst first:"
        why = "".join(f"\nno change told of {line}" for line in self._unwatched())
        return f"{head}\n\n{to_terminal(format_cells(table, {}))}{more}{why}"

    def parts(self) -> Sequence[Part]:
        """Return all rows, of places and of periods."""
        shown = self.watched.table.rows.drop(columns=["loud"], errors="ignore")
        return [Part("groups", shown.drop(columns=["digest"]))]

    def to_dict(self) -> dict[str, Any]:
        """Return the rows of all places."""
        return {"places": list(plain_rows(self.watched.table.places))}

    def _unwatched(self) -> list[str]:
        """Say of which places no change is told, those of one reason together."""
        places = self.watched.table.places
        if "unwatched" not in places:
            return []
        reasons = places[places["unwatched"] != ""].groupby("unwatched", sort=False)["group"]
        return [f"{listed(list(groups))}: {reason}" for reason, groups in reasons]

    def _table(self) -> pd.DataFrame:
        target, places = find_target(self.watched.target), self.watched.table.places
        after = [*self.watched.neighbours()]
        after += [float("nan")] * (len(places) - len(after))
        k = self.watched.table.k
        rows = []
        for row, worse in zip(places.to_dict("records"), after, strict=True):
            known = not pd.isna(row["lower"])
            rows.append(
                {
                    "place": row["group"],
                    "images": int(row["n_images"]),
                    target.name: target.text(row["estimate"]) if known else "–",
                    "interval": f"{target.text(row['lower'])} to {target.text(row['upper'])}"
                    if known
                    else "–",
                    f"among the {k} worst": _percent(row["p_worst"]),
                    "worse than the next": _percent(worse),
                    "against its baseline": change_text(row, target),
                }
            )
        unsaid = {
            "against its baseline": "change" not in places,
            f"among the {k} worst": places["p_worst"].isna().all(),
        }
        return pd.DataFrame(rows).drop(columns=[name for name, none in unsaid.items() if none])


@dataclass(frozen=True)
class Strange(Section):
    """What could not be read, and what is strange about times."""

    problems: Sequence[str]

    def show(self, page: Page) -> None:
        """Add a box that lists it."""
        page.add_warnings(self.problems)

    def text(self) -> str:
        """Return a line each."""
        return "\n".join(f"caution: {problem}" for problem in self.problems)

    def to_dict(self) -> dict[str, Any]:
        """Return the sentences."""
        return {"problems": list(self.problems)}


@dataclass(frozen=True)
class HowSeen(Section):
    """How many images, and what told their times."""

    watched: Watched

    def show(self, page: Page) -> None:
        """Add a paragraph."""
        page.add_text(self._sentence())

    def text(self) -> str:
        """Return the sentence."""
        return self._sentence()

    def _sentence(self) -> str:
        places = self.watched.table.places
        n_images = int(places["n_images"].sum()) if len(places) else 0
        told = ", ".join(f"{name} {n}" for name, n in (self.watched.clocks or {}).items())
        return (
            f"{counted(n_images, 'image')} of {counted(len(places), 'place')}, "
            f"{self.watched.n_new} of them observed in this run; time told by: {told or 'nothing'}."
        )


def _percent(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:.0%}"
