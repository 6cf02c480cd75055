"""A report as one self-contained HTML file: no script, font or picture is fetched from elsewhere.

Text given to a page is always shown as text; markup in it (in a file name, say) has no effect.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from autoeval.report.tables import Table
from autoeval.runtime.files import write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from autoeval.report.interactive import Board, ScatterChart


@dataclass(frozen=True)
class Block:
    """One piece of a page: which part of the template shows it, and what that part expects."""

    kind: str
    content: Any
    caption: str = ""


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
    ) -> None:
        """Add a very large figure with its interval, in words, or why there is none.

        `on_scale` draws value, lower and upper bound on a scale from 0 to 100; NaN where there is
        none.
        """
        drawn = [None if math.isnan(v) else v for v in on_scale or (math.nan,) * 3]
        content: dict[str, Any] = dict(zip(("at", "lower", "upper"), drawn, strict=True))
        content |= {"value": value, "interval": interval, "note": note}
        self.blocks.append(Block("interval", content, name))

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

        The format ``"png"`` keeps a chart of many thousand marks small.
        """
        from autoeval.report.embed import figure_uri

        self.blocks.append(Block("figure", figure_uri(figure, image_format), caption))

    def add_scatter(self, chart: ScatterChart, caption: str = "") -> None:
        """Add a scatter plot that names each point, and lets the reader choose the score."""
        self.blocks.append(Block("scatter", chart.to_dict(), caption))

    def add_board(self, board: Board, caption: str = "") -> None:
        """Add many things side by side that can be searched, sorted and opened."""
        self.blocks.append(Block("board", board.to_dict(), caption))

    def add_thumbnails(
        self, images: Iterable[tuple[np.ndarray, str]], caption: str = "", *, side: int = 320
    ) -> None:
        """Add pictures (H, W, 3) uint8 BGR with captions; larger ones are shrunk to `side`."""
        from autoeval.report.embed import thumbnail_uri

        listed = [(thumbnail_uri(image, side), text) for image, text in images]
        self.blocks.append(Block("thumbnails", listed, caption))

    def render(self) -> str:
        """Return the page as HTML text."""
        kinds = {block.kind for block in self.blocks}
        return _template().render(title=self.title, blocks=self.blocks, kinds=kinds)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page to ``path`` atomically, making its folder where needed."""
        write_text(path, self.render())


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
