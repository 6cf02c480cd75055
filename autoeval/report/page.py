"""A report as one self-contained HTML file: no script, font or picture is fetched from elsewhere.

Text given to a page is always shown as text; markup in it (in a file name, say) has no effect.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from matplotlib.figure import Figure

from autoeval.report.embed import figure_uri, thumbnail_uri
from autoeval.runtime.files import write_text


@dataclass(frozen=True)
class Block:
    """One piece of a page.

    Parameters
    ----------
    kind : str
        Which part of the template shows it.
    content : Any
        What that part expects.
    caption : str
        Shown with it; empty for none.
    """

    kind: str
    content: Any
    caption: str = ""


@dataclass(frozen=True)
class Cell:
    """A table cell: what is shown, and the number it sorts by (None sorts by the text)."""

    text: str
    number: float | None = None


@dataclass(frozen=True)
class Table:
    """Header and body of a table as the template wants them."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    sortable: bool

    @property
    def alignments(self) -> tuple[str, ...]:
        """Class of each column: ``"number"`` where any of its cells is one, else ``"text"``."""
        return tuple(
            "number" if any(row[k].number is not None for row in self.rows) else "text"
            for k in range(len(self.columns))
        )


@dataclass
class Page:
    """A report that is built block by block, then written.

    Parameters
    ----------
    title : str
        Heading of the page and name of the browser's tab.

    Examples
    --------
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

    def add_warnings(self, warnings: Iterable[str]) -> None:
        """Add a box that lists warnings; nothing is shown where there are none."""
        if listed := [str(warning) for warning in warnings]:
            self.blocks.append(Block("warnings", listed))

    def add_table(
        self,
        frame: pd.DataFrame,
        caption: str = "",
        *,
        sortable: bool = True,
        formats: Mapping[str, str] | None = None,
    ) -> None:
        """Add a table.

        Parameters
        ----------
        frame : DataFrame
            Shown with its index, unless that is a plain unnamed range.
        caption : str
            Shown above the table.
        sortable : bool
            Whether a click on a header sorts by that column, numbers as numbers.
        formats : mapping of str to str, optional
            Format of a column's numbers such as ``"{:.3f}"``; four significant digits otherwise.
        """
        plain = isinstance(frame.index, pd.RangeIndex) and frame.index.name is None
        shown = frame if plain else frame.reset_index()
        specs = [dict(formats or {}).get(name) for name in shown.columns]
        rows = tuple(
            tuple(_cell(value, spec) for value, spec in zip(row, specs, strict=True))
            for row in shown.itertuples(index=False, name=None)
        )
        table = Table(tuple(map(str, shown.columns)), rows, sortable)
        self.blocks.append(Block("table", table, caption))

    def add_figure(self, figure: Figure, caption: str = "", *, image_format: str = "svg") -> None:
        """Add a matplotlib figure.

        Parameters
        ----------
        figure : Figure
            Drawn now; later changes to it are not seen.
        caption : str
            Shown below, and read out in place of the picture.
        image_format : {"svg", "png"}
            ``"png"`` keeps a chart of many thousand marks small.
        """
        self.blocks.append(Block("figure", figure_uri(figure, image_format), caption))

    def add_thumbnails(
        self, images: Iterable[tuple[np.ndarray, str]], caption: str = "", *, side: int = 320
    ) -> None:
        """Add small pictures, each with its own caption.

        Parameters
        ----------
        images : iterable of (ndarray of shape (H, W, 3) uint8 BGR, str)
            Pictures and captions.
        caption : str
            Shown above all of them.
        side : int
            Longer side of a thumbnail in pixels; larger pictures are shrunk to it.
        """
        listed = [(thumbnail_uri(image, side), text) for image, text in images]
        self.blocks.append(Block("thumbnails", listed, caption))

    def render(self) -> str:
        """Return the page as HTML text."""
        return _template().render(title=self.title, blocks=self.blocks)

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
    return environment.get_template("page.html.j2")


def _cell(value: Any, spec: str | None) -> Cell:
    if isinstance(value, (bool, np.bool_)):
        return Cell("yes" if value else "no")
    if isinstance(value, (int, float, np.integer, np.floating)):
        return _number_cell(float(value), isinstance(value, (int, np.integer)), spec)
    return Cell("–" if value is None or value is pd.NA or value is pd.NaT else str(value))


def _number_cell(value: float, whole: bool, spec: str | None) -> Cell:
    if np.isnan(value):
        return Cell("–")
    if spec is not None:
        text = spec.format(value)
    else:
        text = f"{value:.0f}" if whole or 1e4 <= abs(value) < 1e15 else f"{value:.4g}"
    return Cell(text.replace("-", "\N{MINUS SIGN}", 1) if value < 0 else text, value)
