"""Results as people read them: text on the terminal, tables, and one self-contained HTML file.

A page is a title and a list of blocks, plain data that one template shows, each by its kind; no
script, font or picture is fetched from elsewhere. Text given to a page is always shown as text;
markup in it (in a file name, say) has no effect.
"""

from __future__ import annotations

import base64
import io
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from html import unescape
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from autoeval.accuracy.measures import Target
from autoeval.report.pictures import thumbnail_size, thumbnail_uri
from autoeval.runtime.files import (
    PathLike,
    plain,
    write_figure,
    write_json,
    write_table,
    write_text,
)
from autoeval.words import MOST, Notice, codes_of, warning_lines

if TYPE_CHECKING:
    import pandas as pd
    from jinja2 import Template
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ALL = "all categories"
PAGE = "report.html"  # in the folder of a result
NOTHING: Mapping[str, str] = MappingProxyType({})
MEDIA_TYPES = {"svg": "image/svg+xml", "png": "image/png"}
TEMPLATES = Path(__file__).parent / "templates"
FILES_BESIDE = re.compile(r'<meta name="autoeval-files" content="([^"]*)">')
LONGEST_HEAD = 1 << 16  # bytes of a page in which its head ends that lists files
MARKUP = re.compile(r"[\\`*\[<|$~&]|(?<!\w)_|_(?!\w)")
Format = str | Callable[[float], str]
COLUMNS = {
    "expected_ap": "average precision that the calibrated probabilities of the boxes predict",
    "likely_share": "share of an image's boxes with a probability over .05 that have one over .3",
    "box_size": "mean logarithm of the side of boxes, relative to that of the image",
    "reference_ap": "average precision with the boxes of the reference detector as labels",
    "reference_ap50": "the same at an IoU of .5",
    "reference_ap75": "the same at an IoU of .75",
    "n_images": "images in which the category is likely to be found",
    "n_boxes": "labelled objects",
    "boxes": "boxes with a score over .05",
    "confident": "those of them with a score over .3",
    "share": "confident of all boxes over .05",
    "mean_score": "mean score of the boxes over .05",
}
"""What the columns of tables mean, where a name does not say it."""


@dataclass(frozen=True)
class Table:
    """A table in full, and what people see of it.

    Parameters
    ----------
    name : str
        Of its files; without one there is none.
    table : DataFrame
        In full, for CSV and JSON.
    shown : DataFrame, optional
        What people see, on the page, on the terminal and in Markdown; by default all.
    formats : mapping of str to Format
        Of the columns that people see, such as ``"{:.3f}"`` or `Target.text`; see `cell_text`.
    caption : str
        Above it on a page.
    sortable : bool
        Whether a click on a header sorts by that column, numbers as numbers, but for the last
        `n_footer` rows.
    n_footer : int
        Rows at the end that stay there.
    folded : bool
        A page shows the caption alone until that is clicked.
    on_page : bool
        False for a table that is written beside the page without being shown.

    Examples
    --------
    >>> import pandas as pd
    >>> print(Table("bins", pd.DataFrame({"bin": ["0-5"], "MAE": [1.25]})).text())
    bin   MAE
    0-5  1.25
    """

    kind: ClassVar = "table"
    name: str
    table: pd.DataFrame
    shown: pd.DataFrame | None = None
    formats: Mapping[str, Format] = field(default_factory=dict)
    caption: str = ""
    sortable: bool = True
    n_footer: int = 0
    folded: bool = False
    on_page: bool = True

    def text(self) -> str:
        """Return what people see of the table for a terminal."""
        shown = self.table if self.shown is None else self.shown
        return to_terminal(format_cells(shown, self.formats))

    def markdown(self) -> str:
        """Return what people see of the table in Markdown."""
        shown = self.table if self.shown is None else self.shown
        return to_markdown(format_cells(shown, self.formats))

    def write(self, folder: Path) -> list[Path]:
        """Write ``NAME.csv``, ``NAME.json`` (a list of rows) and ``NAME.md``; return them.

        Parameters
        ----------
        folder : Path
            Where they are written.
        """
        as_csv, as_json = folder / f"{self.name}.csv", folder / f"{self.name}.json"
        as_markdown = folder / f"{self.name}.md"
        write_table(as_csv, self.table)
        rows = self.table.to_json(orient="records", indent=1, double_precision=15)
        write_text(as_json, rows)
        write_text(as_markdown, self.markdown() + "\n")
        return [as_csv, as_json, as_markdown]


def cell_text(value: Any, spec: Format | None = None) -> str:
    """Write a value of a table in one line; a dash where it is missing.

    Line breaks, which end a table, and escape sequences, which reach the terminal, become spaces.

    Parameters
    ----------
    value : Any
        Of any type that a table holds.
    spec : Format, optional
        A format, or a function of a number that is known. Without one whole numbers, and those from
        10000 on, are written without decimals, others with four significant digits. A number of
        more than fifteen digits before the point is written in short.

    Examples
    --------
    >>> cell_text(2.5, "{:.2f}"), cell_text(1e300, "{:.2f}"), cell_text(3.14159), cell_text(None)
    ('2.50', '1e+300', '3.142', '–')
    """
    import pandas as pd

    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (int, float, np.integer, np.floating)):
        number, whole = float(value), isinstance(value, (int, np.integer))
        if math.isnan(number):
            return "–"
        if callable(spec):
            return spec(number)
        if 1e15 <= abs(number) < math.inf:
            return f"{number:.0f}" if whole and spec is None else f"{number:.4g}"
        if spec is None:
            spec = "{:.0f}" if whole or abs(number) >= 1e4 else "{:.4g}"
    if value is None or value is pd.NA or value is pd.NaT:
        return "–"
    text = spec.format(value) if isinstance(spec, str) else str(value)
    return "".join(c if c.isprintable() else " " for c in text)


def format_cells(table: pd.DataFrame, formats: Mapping[str, Format]) -> pd.DataFrame:
    """Turn every value into text by its column's format, see `cell_text`.

    Parameters
    ----------
    table : DataFrame
        Its index is left out.
    formats : mapping of str to Format
        By column.

    Examples
    --------
    >>> import pandas as pd
    >>> format_cells(pd.DataFrame({"mAP": [.256, None]}), {"mAP": "{:.1%}"})["mAP"].tolist()
    ['25.6%', '–']
    """
    import pandas as pd

    columns = {name: [cell_text(v, formats.get(name)) for v in table[name]] for name in table}
    return pd.DataFrame(columns)


def to_terminal(table: pd.DataFrame) -> str:
    """Align columns with spaces: the first to the left, all others to the right.

    Parameters
    ----------
    table : DataFrame
        Of texts, see `format_cells`; its index is left out.

    Examples
    --------
    >>> import pandas as pd
    >>> print(to_terminal(pd.DataFrame({"site": ["gate"], "mAP": ["31.0"]})))
    site   mAP
    gate  31.0
    """
    rows = [[cell_text(str(v)) for v in row] for row in (table.columns, *table.to_numpy(object))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *rest in rows:
        right = (v.rjust(w) for v, w in zip(rest, widths[1:], strict=True))
        lines.append("  ".join([first.ljust(widths[0]), *right]).rstrip())
    return "\n".join(lines)


def to_markdown(table: pd.DataFrame) -> str:
    r"""Write a Markdown table; the first column to the left, the others to the right.

    Text is shown as it is: what Markdown or HTML would read as markup is escaped.

    Parameters
    ----------
    table : DataFrame
        Of texts, see `format_cells`; its index is left out.

    Examples
    --------
    >>> import pandas as pd
    >>> print(to_markdown(pd.DataFrame({"a": ["x|y_z"], "b": ["<i>1"]})))
    | a | b |
    |:---|---:|
    | x\|y_z | \<i>1 |
    """
    head = "| " + " | ".join(escaped_markdown(name) for name in table.columns) + " |"
    rule = "|:---|" + "---:|" * (table.shape[1] - 1)
    rows = (
        "| " + " | ".join(escaped_markdown(value) for value in row) + " |"
        for row in table.itertuples(index=False)
    )
    return "\n".join([head, rule, *rows])


def escaped_markdown(value: object) -> str:
    r"""Write a value in one line that Markdown and HTML show as it is.

    Parameters
    ----------
    value : object
        Written by `str`; signs that do not print become spaces.

    Examples
    --------
    >>> print(escaped_markdown("a_b *x* <b>"))
    a_b \*x\* \<b>
    """
    return MARKUP.sub(r"\\\g<0>", cell_text(str(value)))


def explained(names: Iterable[str]) -> str:
    """Explain those columns of which a name does not say what they mean, in one sentence.

    Parameters
    ----------
    names : iterable of str
        Names of columns; those that `COLUMNS` lacks are left out.

    Examples
    --------
    >>> explained(["category", "confident"])
    'confident: those of them with a score over .3.'
    """
    explanations = [f"{name}: {COLUMNS[name]}" for name in names if name in COLUMNS]
    return f"{'; '.join(explanations)}." if explanations else ""


@dataclass(frozen=True)
class Facts:
    """Named facts, one a row, such as those of `about`; not shown where there are none.

    Parameters
    ----------
    facts : mapping of str to str
        By name.
    caption : str
        Above them.
    """

    kind: ClassVar = "facts"
    facts: Mapping[str, str]
    caption: str = ""


@dataclass(frozen=True)
class Heading:
    """The start of a section.

    Parameters
    ----------
    text : str
        Its title.
    """

    kind: ClassVar = "heading"
    text: str


@dataclass(frozen=True)
class Text:
    """A paragraph; what stands between backticks is code. An empty one is not shown.

    Parameters
    ----------
    text : str
        Of the paragraph.
    """

    kind: ClassVar = "text"
    text: str


@dataclass(frozen=True)
class Headline:
    """A large figure; those that follow one another stand side by side.

    Parameters
    ----------
    name : str
        What it is.
    value : str
        The figure, as text.
    note : str
        Small, below it.
    """

    kind: ClassVar = "headline"
    name: str
    value: str
    note: str = ""


def figures_text(figures: Iterable[Headline]) -> str:
    """Return what a terminal shows of large figures, one a line.

    Parameters
    ----------
    figures : iterable of Headline
        In their order.
    """
    return "\n".join(
        f"{figure.name}: {figure.value}" + (f" ({figure.note})" if figure.note else "")
        for figure in figures
    )


@dataclass(frozen=True)
class IntervalHeadline:
    """A very large figure with its interval.

    Parameters
    ----------
    name : str
        What it is.
    value : str
        The figure, as text.
    interval : str
        Its interval in words, or why there is none.
    note : str
        What it rests on.
    on_scale : (float, float, float)
        Value, lower and upper bound, drawn on a scale from 0 to `top`; NaN where there is none.
    top : float
        End of the scale.
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

    Parameters
    ----------
    name : str
        Of the line.
    value, lower, upper : float
        The dot and the ends of its interval.
    before : (float, float, float), optional
        The same without what the others rest on, drawn fainter.
    """

    name: str
    value: float
    lower: float
    upper: float
    before: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class Intervals:
    """A dot and an interval for each row.

    Parameters
    ----------
    rows : sequence of IntervalRow
        In their order; values are as `target` has them, in [0, 1] for an accuracy.
    target : Target
        Gives the unit.
    caption : str
        Above the plot.
    names : (str, str)
        Of the dots of a row and of what was `before`, for a legend.
    low, high : float, optional
        Ends of the scale; the upper one is by default the highest possible value.
    """

    kind: ClassVar = "intervals"
    rows: Sequence[IntervalRow]
    target: Target
    caption: str
    names: tuple[str, str] = ("with labels", "without labels")
    low: float = 0.0
    high: float | None = None


@dataclass(frozen=True)
class Warnings:
    """A box that lists warnings; it is not shown where there are none.

    Parameters
    ----------
    warnings : sequence of str
        As texts or notices.
    title : str
        Above them.
    """

    kind: ClassVar = "warnings"
    warnings: Sequence[str]
    title: str = "Warnings"


@dataclass(frozen=True)
class Chart:
    """A matplotlib figure.

    Parameters
    ----------
    figure : Figure or Axes
        The figure, or the axes of a plot on it.
    caption : str
        Also read out in place of the picture.
    name : str
        Of its file beside the page; without one there is none.
    image_format : {"svg", "png"}
        ``"png"`` keeps a chart of many thousand marks small.
    on_page : bool
        False for a figure that is written beside the page without being shown.
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

    Parameters
    ----------
    data : mapping
        See `autoeval.report.scatter.ScatterChart.block`.
    caption : str
        Above it.
    """

    kind: ClassVar = "scatter"
    data: Mapping[str, Any]
    caption: str = ""


@dataclass(frozen=True)
class Board:
    """Many things side by side that can be searched, sorted and opened.

    Parameters
    ----------
    data : mapping
        See `autoeval.report.monitor.site_board`.
    caption : str
        Above it.
    """

    kind: ClassVar = "board"
    data: Mapping[str, Any]
    caption: str = ""


@dataclass(frozen=True)
class Thumbnails:
    """Pictures with captions, which are loaded when they are looked at.

    Parameters
    ----------
    images : sequence of (ndarray of shape (H, W, 3), uint8, BGR; str)
        Each with its caption.
    caption : str
        Of all.
    side : int
        Larger pictures are shrunk to so many pixels.
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
    | Facts
    | Chart
    | Scatter
    | Board
    | Thumbnails
)


@dataclass
class Page:
    """A report: blocks from top to bottom.

    Tables and charts that have a name are written beside the page, too.

    Parameters
    ----------
    title : str
        Of the page.
    blocks : list of Block
        In their order.

    Examples
    --------
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
        files = [
            f"{block.name}.{'csv' if isinstance(block, Table) else 'png'}"
            for block in self.blocks
            if isinstance(block, Table | Chart) and block.name
        ]
        return _template().render(title=self.title, blocks=shown, kinds=kinds, files_beside=files)

    def write(self, path: PathLike, values: Mapping[str, Any] | None = None) -> list[Path]:
        """Write the page atomically, and what has a name into a folder beside it.

        Tables are written as CSV, figures as PNG. The folder has the name of the page without its
        suffix. What an earlier page in the same place wrote there, and names, and this one does not
        have, is removed: it is of another result. All else in the folder stays.

        Parameters
        ----------
        path : path-like
            Of the page, such as ``report.html``.
        values : mapping, optional
            The result as plain values, written as ``result.json`` beside the page, too.

        Returns
        -------
        list of Path
            The page, the folder where there is one, and ``result.json``.
        """
        path, html = Path(path), self.render()
        folder = path.with_suffix("")
        named = [block for block in self.blocks if isinstance(block, Table | Chart) and block.name]
        if path.is_file():
            for name in left_beside(path, html):
                (folder / name).unlink(missing_ok=True)
        for block in named:
            if isinstance(block, Table):
                write_table(folder / f"{block.name}.csv", block.table)
            else:
                write_figure(folder / f"{block.name}.png", cast("Figure", block.figure.figure))
        write_text(path, html)
        written = [path, folder] if named else [path]
        if values is not None:
            written.append(write_json(path.with_name("result.json"), plain(values)))
        return written


def left_beside(path: Path, html: str) -> set[str]:
    """Return the names of the files beside an earlier page that a new one in its place lacks.

    Parameters
    ----------
    path : Path
        Of both pages.
    html : str
        The new page.
    """
    with path.open("rb") as before:
        head = before.read(LONGEST_HEAD).decode("utf-8", "replace")
    return names_in(head) - names_in(html)


def names_in(html: str) -> set[str]:
    """Return the names of the files beside a page, which its head lists; none of another file.

    Parameters
    ----------
    html : str
        A page, or its beginning.
    """
    listed = FILES_BESIDE.search(html)
    names = unescape(listed[1]).split("/") if listed else []
    return {name for name in names if name not in ("", ".", "..")}


def category_intervals(
    whole: IntervalRow, rows: Iterable[IntervalRow], target: Target, level: float, note: str = ""
) -> Intervals:
    """Return a dot and an interval of all together and of each category, the highest first.

    Categories without an estimate stand last.

    Parameters
    ----------
    whole : IntervalRow
        All together, which comes first.
    rows : iterable of IntervalRow
        The categories.
    target : Target
        Gives name and unit.
    level : float
        Nominal coverage of the intervals.
    note : str
        End of the caption.
    """
    order = sorted(rows, key=lambda row: 1.0 if math.isnan(row.value) else -row.value)
    caption = f"{target.name} of each category in {target.unit}, with {level:.0%} intervals{note}"
    return Intervals([whole, *order], target, caption)


def table_cells(
    table: Table,
) -> tuple[list[tuple[str, str]], list[list[tuple[str, float | None]]]]:
    """Return what the template shows of a table.

    The index is a column unless it is a plain unnamed range.

    Parameters
    ----------
    table : Table
        Of which people see ``shown``, or all.

    Returns
    -------
    columns : list of (str, str)
        Name, and ``"number"`` where any cell of the column is one, else ``"text"``.
    rows : list of list of (str, float or None)
        Text of each cell, and the number that it sorts by; None sorts by the text.
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
    figure is laid out once, so that its file has the layout of the page.

    Parameters
    ----------
    chart : Chart
        On a figure itself, not on a subfigure.

    Raises
    ------
    KeyError
        If the format is neither.
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
    # jinja2 leaves the values of these mappings without a type: those of its own are taken for all
    environment.tests["nan"] = math.isnan  # type: ignore[unsupported-operation]
    for function in (table_cells, figure_uri, thumbnail_uri, thumbnail_size):
        environment.filters[function.__name__] = function
    # styles and scripts hold no expressions: they are put in as they are
    environment.globals["files"] = {  # type: ignore[unsupported-operation]
        path.name: Markup(path.read_text(encoding="utf-8").strip())
        for path in TEMPLATES.iterdir()
        if path.suffix in (".css", ".js")
    }
    return environment.get_template("page.html.j2")


def about(
    command: str = "", *, spec: Mapping[str, Any] | None = None, **facts: object
) -> dict[str, str]:
    """Return what a command was given, as it was typed, and when it was run.

    Parameters
    ----------
    command : str
        The command line.
    spec : mapping, optional
        How the detector of an estimator is loaded: its name and checkpoint, where these were not
        given.
    **facts
        What is named, by a word such as ``images``; None for nothing.

    Examples
    --------
    >>> list(about("autoeval fit", images="site", labels=None))
    ['images', 'date', 'command']
    """
    if spec:
        facts["detector"] = facts.get("detector") or spec.get("name")
        facts["checkpoint"] = facts.get("checkpoint") or spec.get("checkpoint")
    typed = {name.replace("_", " "): str(value) for name, value in facts.items() if value}
    date = datetime.now().astimezone().isoformat(" ", "minutes")
    return {**typed, "date": date, **({"command": command} if command else {})}


def result_text(
    heads: Sequence[str],
    warnings: Iterable[Notice],
    details: Sequence[str] = (),
    *,
    verbose: bool = True,
    of_fit: Collection[Notice] = (),
) -> str:
    """Return what a terminal shows of a result, in parts between empty lines.

    Empty parts are left out, and equal ones stand there once.

    Parameters
    ----------
    heads : sequence of str
        What comes first.
    warnings : iterable of Notice
        Of the result.
    details : sequence of str
        What comes last, if `verbose`.
    verbose : bool
        Otherwise there are at most `MOST` warnings, the most severe, besides what was refused and
        those of `ALWAYS_PRINTED`; no notes, and none of `of_fit`. The numbers of those left out are
        named.
    of_fit : collection of Notice
        Warnings that the fit has printed.
    """
    lines = warning_lines(warnings, None if verbose else MOST, of_fit=() if verbose else of_fit)
    parts = [*heads, "\n".join(lines), *(details if verbose else ())]
    return "\n\n".join(dict.fromkeys(filter(None, parts)))


def notice_values(warnings: Iterable[Notice]) -> dict[str, Any]:
    """Return warnings as JSON has them.

    Parameters
    ----------
    warnings : iterable of Notice
        Of a result.

    Returns
    -------
    dict
        ``warnings``, all of them as texts; ``notes``, those that are notes; ``warning_codes``, see
        `codes_of`.
    """
    listed = list(warnings)
    notes = [str(warning) for warning in listed if warning.severity == "note"]
    return {"warnings": listed, "notes": notes, "warning_codes": codes_of(listed)}


def print_result(text: str, values: Mapping[str, Any], *, as_json: bool = False) -> None:
    """Print a result, before its page is drawn: a full disk does not lose what was computed.

    Parameters
    ----------
    text : str
        For people.
    values : mapping
        For programs; printed in place of the text with `as_json`.
    as_json : bool
        Whether programs read it.
    """
    print(json.dumps(plain(values), indent=2) if as_json else text, flush=True)


def written_files(paths: Iterable[Path], purpose: str = "", command: str = "") -> str:
    """Name the files that a command wrote, and what to type next.

    Parameters
    ----------
    paths : iterable of Path
        The files.
    purpose : str
        Of the next step; used with `command` alone.
    command : str
        What to type next; empty for nothing.

    Examples
    --------
    >>> print(written_files([Path("a/report.html")], "label images", "autoeval label plan"))
    written:
      a/report.html
    <BLANKLINE>
    next step, label images:
      autoeval label plan
    """
    written = "\n".join(["written:", *(f"  {path}" for path in paths)])
    return f"{written}\n\nnext step, {purpose}:\n  {command}" if command else written
