"""A report as one self-contained HTML file: no script, font or picture is fetched from elsewhere.

Text given to a page is always shown as text; markup in it (in a file name, say) has no effect.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from autoeval.report.tables import Table
from autoeval.runtime.files import PathLike, write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from autoeval.report.interactive import Board, ScatterChart


@dataclass(frozen=True)
class Block:
    """One piece of a page: which part of the template shows it, and what that part expects."""

    kind: str
    content: Any
    caption: str = ""


@dataclass(frozen=True)
class IntervalRow:
    """One line of a plot of intervals; NaN for a number that is not known.

    `before` is value, lower and upper bound without what the others rest on, drawn fainter.
    """

    name: str
    value: float
    lower: float
    upper: float
    before: tuple[float, float, float] | None = None


@dataclass
class Page:
    """A report that is built block by block, then written.

    >>> page = Page("Counts <of> cars")
    >>> page.add_headline("MAE", "3.2", "95 % interval 2.9 to 3.6")
    >>> page.add_table(pd.DataFrame({"bin": ["0-5"], "MAE": [1.25]}), caption="Error by bin")
    >>> "Counts &lt;of&gt; cars" in page.render()
    True
    """

    title: str
    blocks: list[Block] = field(default_factory=list)

    def add_heading(self, text: str) -> None:
        """Start a section."""
        self.blocks.append(Block("heading", text))

    def add_text(self, *paragraphs: str) -> None:
        """Add paragraphs of plain text."""
        self.blocks.extend(Block("text", paragraph) for paragraph in paragraphs)

    def add_headline(self, name: str, value: str, note: str = "") -> None:
        """Add a large figure; those added one after another stand side by side."""
        if not (self.blocks and self.blocks[-1].kind == "headlines"):
            self.blocks.append(Block("headlines", []))
        self.blocks[-1].content.append((name, value, note))

    def add_interval(
        self,
        name: str,
        value: str,
        interval: str,
        note: str = "",
        *,
        on_scale: tuple[float, float, float] | None = None,
        top: float = 100.0,
    ) -> None:
        """Add a very large figure with its interval, in words, or why there is none.

        `on_scale` draws value, lower and upper bound on a scale from 0 to `top`; NaN where there is
        none.
        """
        drawn = [None if math.isnan(v) else 100 * v / top for v in on_scale or (math.nan,) * 3]
        content: dict[str, Any] = dict(zip(("at", "lower", "upper"), drawn, strict=True))
        content |= {"value": value, "interval": interval, "note": note, "ticks": _ticks(top)}
        self.blocks.append(Block("interval", content, name))

    def add_intervals(
        self,
        rows: Iterable[IntervalRow],
        caption: str,
        *,
        top: float = 100.0,
        number_format: str = "{:.1f}",
        names: tuple[str, str] = ("estimate", "before"),
    ) -> None:
        """Add a dot and an interval for each row, in their order, on a scale from 0 to `top`.

        `names` are those of the dots of a row and of what was `before`, for a legend.
        """
        listed = list(rows)
        lines = [
            {
                "name": row.name,
                "number": number_format.format(row.value) if row.value == row.value else "–",
                "marks": [
                    mark
                    for mark in (_mark("before", row.before, top), _mark("now", _ends(row), top))
                    if mark
                ],
            }
            for row in listed
        ]
        both = any(row.before for row in listed)
        content = {"lines": lines, "ticks": _ticks(top), "names": names if both else ()}
        self.blocks.append(Block("intervals", content, caption))

    def add_warnings(self, warnings: Iterable[str], title: str = "Warnings") -> None:
        """Add a box that lists warnings; nothing is shown where there are none."""
        if listed := [str(warning) for warning in warnings]:
            self.blocks.append(Block("warnings", listed, title))

    def add_table(
        self,
        frame: pd.DataFrame,
        caption: str = "",
        *,
        sortable: bool = True,
        formats: Mapping[str, str] | None = None,
        n_footer: int = 0,
        folded: bool = False,
    ) -> None:
        """Add a table, with its index unless that is a plain unnamed range.

        A click on a header of a `sortable` one sorts by that column, numbers as numbers, but for
        the last `n_footer` rows. `formats` are of a column's numbers such as ``"{:.3f}"``; four
        significant digits otherwise. A `folded` table is its caption alone until that is clicked.
        """
        table = Table.of(frame, formats or {}, sortable=sortable, n_footer=n_footer)
        self.blocks.append(Block("folded" if folded else "table", table, caption))

    def add_figure(self, figure: Figure, caption: str = "", *, image_format: str = "svg") -> None:
        """Add a matplotlib figure, drawn now; the caption is also read out in place of the picture.

        The format ``"png"`` keeps a chart of many thousand marks small. The figure keeps the layout
        that it was drawn with, so that files of it need not be laid out again.
        """
        from autoeval.report.embed import figure_uri

        self.blocks.append(Block("figure", figure_uri(figure, image_format), caption))
        figure.set_layout_engine("none")

    def add_scatter(self, chart: ScatterChart, caption: str = "") -> None:
        """Add a scatter plot that names each point, and lets the reader choose the score."""
        self.blocks.append(Block("scatter", chart.to_dict(), caption))

    def add_board(self, board: Board, caption: str = "") -> None:
        """Add many things side by side that can be searched, sorted and opened."""
        self.blocks.append(Block("board", board.to_dict(), caption))

    def add_thumbnails(
        self, images: Iterable[tuple[np.ndarray, str]], caption: str = "", *, side: int = 320
    ) -> None:
        """Add pictures (H, W, 3) uint8 BGR with captions; larger ones are shrunk to `side`.

        They are loaded when they are looked at.
        """
        from autoeval.report.embed import thumbnail_size, thumbnail_uri

        listed = [
            (thumbnail_uri(image, side), thumbnail_size(image, side), text)
            for image, text in images
        ]
        self.blocks.append(Block("thumbnails", listed, caption))

    def render(self) -> str:
        """Return the page as HTML text."""
        kinds = {block.kind for block in self.blocks}
        return _template().render(title=self.title, blocks=self.blocks, kinds=kinds)

    def write(self, path: PathLike) -> None:
        """Write the page to ``path`` atomically, making its folder where needed."""
        write_text(path, self.render())


def _ticks(top: float) -> list[tuple[int, str]]:
    """Return five numbers on a scale from 0 to `top`, each behind its place in per cent."""
    return [(25 * k, f"{top * k / 4:g}") for k in range(5)]


def _ends(row: IntervalRow) -> tuple[float, float, float]:
    return row.value, row.lower, row.upper


def _mark(
    kind: str, interval: tuple[float, float, float] | None, top: float
) -> dict[str, Any] | None:
    """Return where a dot and its bar stand, in per cent of the scale; None where it is unknown."""
    if interval is None or math.isnan(interval[0]):
        return None
    at, lower, upper = (min(max(100 * v / top, 0.0), 100.0) for v in interval)
    bounded = not (math.isnan(interval[1]) or math.isnan(interval[2]))
    text = f"{interval[0]:.1f}" + (f" ({interval[1]:.1f} to {interval[2]:.1f})" if bounded else "")
    bar = {"left": f"{lower:.2f}", "width": f"{upper - lower:.2f}"} if bounded else None
    return {"kind": kind, "at": f"{at:.2f}", "bar": bar, "text": text}


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("autoeval.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"sort_keys": False}
    return environment.get_template("page.html.j2")
