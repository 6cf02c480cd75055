"""A report as one self-contained HTML file: no script, font or picture is fetched from elsewhere.

A page is a title and a list of blocks, plain data that one template shows, each by its kind. Text
given to a page is always shown as text; markup in it (in a file name, say) has no effect.
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from autoeval.report.pictures import thumbnail_size, thumbnail_uri
from autoeval.report.text import Table, cell_text
from autoeval.runtime.files import PathLike, write_figure, write_table, write_text
from autoeval.targets import Target

if TYPE_CHECKING:
    from jinja2 import Template
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ALL = "all categories"
MEDIA_TYPES = {"svg": "image/svg+xml", "png": "image/png"}
TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Heading:
    """The start of a section."""

    kind: ClassVar = "heading"
    text: str


@dataclass(frozen=True)
class Text:
    """A paragraph; what stands between backticks is code. An empty one is not shown."""

    kind: ClassVar = "text"
    text: str


@dataclass(frozen=True)
class Headline:
    """A large figure; those that follow one another stand side by side."""

    kind: ClassVar = "headline"
    name: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class IntervalHeadline:
    """A very large figure with its interval, in words, or why there is none.

    `on_scale` draws value, lower and upper bound on a scale from 0 to `top`; NaN where there is
    none.
    """

    kind: ClassVar = "interval"
    name: str
    value: str
    interval: str
    note: str = ""
    on_scale: tuple[float, float, float] = (math.nan, math.nan, math.nan)
    top: float = 100.0


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
class Intervals:
    """A dot and an interval for each row, in their order; values are as `target` has them.

    `names` are those of the dots of a row and of what was `before`, for a legend.
    """

    kind: ClassVar = "intervals"
    rows: Sequence[IntervalRow]
    target: Target
    caption: str
    names: tuple[str, str] = ("with labels", "without labels")


@dataclass(frozen=True)
class Warnings:
    """A box that lists warnings; it is not shown where there are none."""

    kind: ClassVar = "warnings"
    warnings: Sequence[str]
    title: str = "Warnings"


@dataclass(frozen=True)
class Chart:
    """A matplotlib figure; the caption is also read out in place of the picture.

    figure: or the axes of a plot on it.
    name: of its file beside the page; without one there is none.
    image_format: ``"png"`` keeps a chart of many thousand marks small.
    on_page: False for a figure that is written beside the page without being shown.
    """

    kind: ClassVar = "chart"
    figure: Figure | Axes
    caption: str = ""
    name: str = ""
    image_format: str = "svg"
    on_page: bool = True


@dataclass(frozen=True)
class Scatter:
    """A scatter plot that names each point, and lets the reader choose the score.

    data: see `autoeval.report.charts.ScatterChart.to_dict`.
    """

    kind: ClassVar = "scatter"
    data: Mapping[str, Any]
    caption: str = ""


@dataclass(frozen=True)
class Board:
    """Many things side by side that can be searched, sorted and opened.

    data: see `autoeval.report.monitor.site_board`.
    """

    kind: ClassVar = "board"
    data: Mapping[str, Any]
    caption: str = ""


@dataclass(frozen=True)
class Thumbnails:
    """Pictures (H, W, 3) uint8 BGR with captions; larger ones are shrunk to `side` pixels.

    They are loaded when they are looked at.
    """

    kind: ClassVar = "thumbnails"
    images: Sequence[tuple[np.ndarray, str]]
    caption: str = ""
    side: int = 320


Block = (
    Heading
    | Text
    | Headline
    | IntervalHeadline
    | Intervals
    | Warnings
    | Table
    | Chart
    | Scatter
    | Board
    | Thumbnails
)


@dataclass
class Page:
    """A report: blocks from top to bottom.

    Tables and charts that have a name are written beside the page, too.

    >>> import pandas as pd
    >>> page = Page("Counts <of> cars", [Headline("MAE", "3.2", "95 % interval 2.9 to 3.6")])
    >>> page.blocks += [Table("", pd.DataFrame({"bin": ["0-5"], "MAE": [1.25]}), caption="By bin")]
    >>> "Counts &lt;of&gt; cars" in page.render()
    True
    """

    title: str
    blocks: list[Block] = field(default_factory=list)

    def render(self) -> str:
        """Return the page as HTML text."""
        shown = [block for block in self.blocks if getattr(block, "on_page", True)]
        kinds = {block.kind for block in shown}
        return _template().render(title=self.title, blocks=shown, kinds=kinds)

    def write(self, path: PathLike) -> list[Path]:
        """Write the page atomically, and what has a name into a folder beside it; return both.

        Tables are written as CSV, figures as PNG. The folder has the name of the page without its
        suffix.
        """
        path, html = Path(path), self.render()
        folder = path.with_suffix("")
        named = [block for block in self.blocks if isinstance(block, Table | Chart) and block.name]
        for block in named:
            if isinstance(block, Table):
                write_table(folder / f"{block.name}.csv", block.table)
            else:
                write_figure(folder / f"{block.name}.png", cast("Figure", block.figure.figure))
        write_text(path, html)
        return [path, folder] if named else [path]


def facts_table(name: str, caption: str, facts: Mapping[str, str]) -> list[Table]:
    """Lay out named facts, such as those of `autoeval.report.text.about`; no table for none."""
    import pandas as pd

    table = pd.DataFrame({"what": list(facts), "value": list(facts.values())})
    return [Table(name, table, caption=caption, sortable=False)] if facts else []


def category_intervals(
    whole: IntervalRow, rows: Iterable[IntervalRow], target: Target, level: float, note: str = ""
) -> Intervals:
    """Return a dot and an interval of all together and of each category, the highest first.

    Categories without an estimate stand last.
    """
    order = sorted(rows, key=lambda row: 1.0 if math.isnan(row.value) else -row.value)
    caption = f"{target.name} of each category in {target.unit}, with {level:.0%} intervals{note}"
    return Intervals([whole, *order], target, caption)


def table_cells(
    table: Table,
) -> tuple[list[tuple[str, str]], list[list[tuple[str, float | None]]]]:
    """Return what the template shows of a table: columns and rows.

    A column is its name and ``"number"`` where any of its cells is one, else ``"text"``. A cell is
    its text and the number that it sorts by (None sorts by the text). The index is a column unless
    it is a plain unnamed range.
    """
    import pandas as pd

    frame = table.table if table.shown is None else table.shown
    if not isinstance(frame.index, pd.RangeIndex) or frame.index.name is not None:
        frame = frame.reset_index()
    rows = []
    for values in frame.itertuples(index=False, name=None):
        cells: list[tuple[str, float | None]] = []
        for name, value in zip(frame.columns, values, strict=True):
            is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
            number = float(value) if is_number and not math.isnan(value) else None
            cells.append((cell_text(value, table.formats.get(name)), number))
        rows.append(cells)
    body = rows[: len(rows) - table.n_footer]
    kinds = [
        "number" if any(row[k][1] is not None for row in body) else "text"
        for k in range(frame.shape[1])
    ]
    return list(zip(map(str, frame.columns), kinds, strict=True)), rows


def figure_uri(chart: Chart) -> str:
    """Draw a chart into a data URI of an SVG or PNG picture.

    Equal figures give equal text: no date is stored, and the ids within an SVG are fixed. The
    figure is laid out once, so that its file has the layout of the page. Raises `KeyError` if the
    format is neither.
    """
    import matplotlib as mpl

    media_type, buffer = MEDIA_TYPES[chart.image_format], io.BytesIO()
    figure = cast("Figure", chart.figure.figure)  # of a figure itself
    options: dict[str, Any] = {"format": chart.image_format, "dpi": 150, "bbox_inches": "tight"}
    if chart.image_format == "svg":
        options["metadata"] = {"Date": None}
    with mpl.rc_context({"svg.hashsalt": "autoeval"}):
        figure.savefig(buffer, **options)
    figure.set_layout_engine("none")
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
    environment.tests["nan"] = math.isnan
    for function in (table_cells, figure_uri, thumbnail_uri, thumbnail_size):
        environment.filters[function.__name__] = function
    # styles and scripts hold no expressions: they are put in as they are
    environment.globals["files"] = {
        path.name: Markup(path.read_text(encoding="utf-8").strip())
        for path in TEMPLATES.iterdir()
        if path.suffix in (".css", ".js")
    }
    return environment.get_template("page.html.j2")
