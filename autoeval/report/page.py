"""A report as one self-contained HTML file: no script, font or picture is fetched from elsewhere.

Text given to a page is always shown as text; markup in it (in a file name, say) has no effect.
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from autoeval.report.text import Table, number_text
from autoeval.runtime.files import PathLike, write_figure, write_text
from autoeval.targets import Target

if TYPE_CHECKING:
    import pandas as pd
    from jinja2 import Template
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


ALL = "all categories"
MEDIA_TYPES = {"svg": "image/svg+xml", "png": "image/png"}
TEMPLATES = Path(__file__).parent / "templates"


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


@dataclass(frozen=True)
class Cell:
    """A table cell: what is shown, and the number it sorts by (None sorts by the text)."""

    text: str
    number: float | None = None


@dataclass(frozen=True)
class HtmlTable:
    """Header, body and footer of a table as the template wants them."""

    columns: tuple[str, ...]
    body: tuple[tuple[Cell, ...], ...]
    footer: tuple[tuple[Cell, ...], ...]
    sortable: bool

    @cached_property
    def alignments(self) -> tuple[str, ...]:
        """Class of each column: ``"number"`` where any of its cells is one, else ``"text"``."""
        return tuple(
            "number" if any(row[k].number is not None for row in self.body) else "text"
            for k in range(len(self.columns))
        )


def html_table(
    frame: pd.DataFrame, formats: Mapping[str, str], *, sortable: bool, n_footer: int
) -> HtmlTable:
    """Lay out a table; the parameters are those of `Page.add_table`."""
    import pandas as pd

    plain = isinstance(frame.index, pd.RangeIndex) and frame.index.name is None
    shown = frame if plain else frame.reset_index()
    specs = [dict(formats).get(name) for name in shown.columns]
    rows = tuple(
        tuple(_cell(value, spec) for value, spec in zip(row, specs, strict=True))
        for row in shown.itertuples(index=False, name=None)
    )
    split = len(rows) - n_footer
    return HtmlTable(tuple(map(str, shown.columns)), rows[:split], rows[split:], sortable)


@dataclass
class Page:
    """A report that is built block by block, then written.

    Tables and figures that have a name are written beside the page, too.

    >>> page = Page("Counts <of> cars")
    >>> page.add_headline("MAE", "3.2", "95 % interval 2.9 to 3.6")
    >>> import pandas as pd
    >>> page.add_table(pd.DataFrame({"bin": ["0-5"], "MAE": [1.25]}), caption="Error by bin")
    >>> "Counts &lt;of&gt; cars" in page.render()
    True
    """

    title: str
    blocks: list[Block] = field(default_factory=list)
    tables: dict[str, Table] = field(default_factory=dict)
    figures: dict[str, Figure] = field(default_factory=dict)

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
        table: pd.DataFrame | Table,
        caption: str = "",
        *,
        sortable: bool = True,
        formats: Mapping[str, str] | None = None,
        n_footer: int = 0,
        folded: bool = False,
    ) -> None:
        """Add a table, with its index unless that is a plain unnamed range.

        A `Table` is shown as people see it, and kept for its files. A click on a header of a
        `sortable` one sorts by that column, numbers as numbers, but for the last `n_footer` rows.
        `formats` are of a column's numbers such as ``"{:.3f}"``; four significant digits otherwise.
        A `folded` table is its caption alone until that is clicked.
        """
        if isinstance(table, Table):
            self.keep_table(table)
            table, formats = table.for_people, table.formats
        laid_out = html_table(table, formats or {}, sortable=sortable, n_footer=n_footer)
        self.blocks.append(Block("folded" if folded else "table", laid_out, caption))

    def keep_table(self, table: Table) -> None:
        """Write a table beside the page without showing it."""
        self.tables[table.name] = table

    def add_figure(
        self, figure: Figure | Axes, caption: str = "", *, name: str = "", image_format: str = "svg"
    ) -> None:
        """Add a matplotlib figure, drawn now; the caption is also read out in place of the picture.

        figure: or the axes of a plot on it.
        name: of its file beside the page; without one there is none.
        image_format: ``"png"`` keeps a chart of many thousand marks small.
        """
        drawn = cast("Figure", figure.figure)  # of a figure itself
        self.blocks.append(Block("figure", figure_uri(drawn, image_format), caption))
        drawn.set_layout_engine("none")  # laid out once: its file has the layout of the page
        if name:
            self.keep_figure(name, drawn)

    def keep_figure(self, name: str, figure: Figure | Axes) -> None:
        """Write a figure, or the one of some axes, beside the page without showing it."""
        self.figures[name] = cast("Figure", figure.figure)

    def add_scatter(self, chart: Mapping[str, Any], caption: str = "") -> None:
        """Add a scatter plot that names each point, and lets the reader choose the score.

        See `autoeval.report.scatter.ScatterChart.to_dict`.
        """
        self.blocks.append(Block("scatter", chart, caption))

    def add_board(self, board: Mapping[str, Any], caption: str = "") -> None:
        """Add many things side by side that can be searched, sorted and opened.

        See `autoeval.report.monitor.site_board`.
        """
        self.blocks.append(Block("board", board, caption))

    def add_thumbnails(
        self, images: Iterable[tuple[np.ndarray, str]], caption: str = "", *, side: int = 320
    ) -> None:
        """Add pictures (H, W, 3) uint8 BGR with captions; larger ones are shrunk to `side`.

        They are loaded when they are looked at.
        """
        from autoeval.report.pictures import thumbnail_size, thumbnail_uri

        listed = [
            (thumbnail_uri(image, side), thumbnail_size(image, side), text)
            for image, text in images
        ]
        self.blocks.append(Block("thumbnails", listed, caption))

    def render(self) -> str:
        """Return the page as HTML text."""
        kinds = {block.kind for block in self.blocks}
        return _template().render(title=self.title, blocks=self.blocks, kinds=kinds)

    def write(self, path: PathLike) -> list[Path]:
        """Write the page atomically, and what has a name into a folder beside it; return both.

        The folder has the name of the page without its suffix.
        """
        path, html = Path(path), self.render()
        folder = path.with_suffix("")
        for table in self.tables.values():
            table.write(folder)
        for name, figure in self.figures.items():
            write_figure(folder / f"{name}.png", figure)
        write_text(path, html)
        return [path, folder] if self.tables or self.figures else [path]

    def add_about(self, facts: Mapping[str, str]) -> None:
        """Add where the page comes from, see `autoeval.report.text.about`; nothing for nothing."""
        import pandas as pd

        if facts:
            table = pd.DataFrame({"what": list(facts), "value": list(facts.values())})
            self.add_table(Table("about", table), "What this page is about", sortable=False)

    def add_categories(
        self,
        whole: IntervalRow,
        categories: Iterable[IntervalRow],
        target: Target,
        level: float,
        *,
        note: str = "",
    ) -> None:
        """Add a dot and an interval of all together and of each category, the highest first.

        Values are in [0, 1]; categories without an estimate stand last.
        """
        rows = list(categories)
        order = sorted(rows, key=lambda row: -row.value if row.value == row.value else 1.0)
        self.add_intervals(
            [_scaled(row, target.scale) for row in (replace(whole, name=ALL), *order)],
            f"{target.name} of each category in {target.unit}, with {level:.0%} intervals{note}",
            top=target.scale * target.upper,
            number_format=target.format,
            names=("with labels", "without labels"),
        )


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


def _scaled(row: IntervalRow, scale: float) -> IntervalRow:
    before = row.before and (scale * row.before[0], scale * row.before[1], scale * row.before[2])
    return IntervalRow(row.name, scale * row.value, scale * row.lower, scale * row.upper, before)


def _cell(value: Any, spec: str | None) -> Cell:
    import pandas as pd

    if isinstance(value, (bool, np.bool_)):
        return Cell("yes" if value else "no")
    if isinstance(value, (int, float, np.integer, np.floating)):
        return _number_cell(float(value), isinstance(value, (int, np.integer)), spec)
    return Cell("–" if value is None or value is pd.NA or value is pd.NaT else str(value))


def _number_cell(value: float, whole: bool, spec: str | None) -> Cell:
    if np.isnan(value):
        return Cell("–")
    if spec is not None or (whole and abs(value) >= 1e15):
        text = number_text(value, spec or "{:.0f}")
    else:
        text = f"{value:.0f}" if whole or 1e4 <= abs(value) < 1e15 else f"{value:.4g}"
    return Cell(text.replace("-", "\N{MINUS SIGN}", 1) if value < 0 else text, value)


def figure_uri(figure: Figure, image_format: str = "svg") -> str:
    """Draw a matplotlib figure into a data URI of an SVG or PNG picture.

    Equal figures give equal text: no date is stored, and the ids within an SVG are fixed. Raises
    `KeyError` if the format is neither.
    """
    import matplotlib as mpl

    media_type, buffer = MEDIA_TYPES[image_format], io.BytesIO()
    metadata = {"Date": None} if image_format == "svg" else None
    with mpl.rc_context({"svg.hashsalt": "autoeval"}):
        figure.savefig(buffer, format=image_format, dpi=150, metadata=metadata, bbox_inches="tight")
    return f"data:{media_type};base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("autoeval.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"sort_keys": False}
    # styles and scripts hold no expressions: they are put in as they are
    environment.globals["files"] = {
        path.name: Markup(path.read_text(encoding="utf-8").strip())
        for path in TEMPLATES.iterdir()
        if path.suffix in (".css", ".js")
    }
    return environment.get_template("page.html.j2")
