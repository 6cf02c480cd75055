"""Results as text: tables for the terminal and in Markdown, and what a command prints."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from autoeval.runtime.files import PathLike, plain, write_json, write_table, write_text
from autoeval.words import MOST, as_notice, codes_of, warning_lines

if TYPE_CHECKING:
    import pandas as pd

MARKUP = re.compile(r"[\\`*\[<|]|(?<!\w)_|_(?!\w)")
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


class Writable(Protocol):
    """A page, see `autoeval.report.page.Page`."""

    def write(self, path: PathLike, /) -> list[Path]:
        """Write it and what belongs to it; return the paths."""


@dataclass(frozen=True)
class Table:
    """A table in full, and what people see of it.

    name: of its files; without one there is none.
    table: in full, for CSV and JSON.
    shown: what people see, on the page, on the terminal and in Markdown; by default all.
    formats: of the columns that people see such as ``"{:.3f}"``; see `cell_text`.
    caption: above it on a page.
    sortable: whether a click on a header sorts by that column, numbers as numbers, but for the last
        `n_footer` rows.
    folded: a page shows the caption alone until that is clicked.
    on_page: False for a table that is written beside the page without being shown.
    """

    kind: ClassVar = "table"
    name: str
    table: pd.DataFrame
    shown: pd.DataFrame | None = None
    formats: Mapping[str, str] = field(default_factory=dict)
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
        """Write ``NAME.csv``, ``NAME.json`` (a list of rows) and ``NAME.md``; return them."""
        files = [folder / f"{self.name}.{suffix}" for suffix in ("csv", "json", "md")]
        write_table(files[0], self.table)
        rows = self.table.to_json(orient="records", indent=1, double_precision=15)
        write_text(files[1], rows)
        write_text(files[2], self.markdown() + "\n")
        return files


def cell_text(value: Any, spec: str | None = None) -> str:
    """Write a value of a table in one line; a dash where it is missing.

    Line breaks, which end a table, and escape sequences, which reach the terminal, become spaces.

    spec: a format; without one numbers have four significant digits. Where it would take more than
        fifteen digits a number is written in short.

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
        if 1e15 <= abs(number) < math.inf:
            return f"{number:.0f}" if whole and spec is None else f"{number:.4g}"
        if spec is None:
            spec = "{:.0f}" if whole or abs(number) >= 1e4 else "{:.4g}"
    if value is None or value is pd.NA or value is pd.NaT:
        return "–"
    return "".join(c if c.isprintable() else " " for c in (spec or "{}").format(value))


def format_cells(table: pd.DataFrame, formats: Mapping[str, str]) -> pd.DataFrame:
    """Turn every value into text by its column's format, see `cell_text`.

    >>> import pandas as pd
    >>> format_cells(pd.DataFrame({"mAP": [.256, None]}), {"mAP": "{:.1%}"})["mAP"].tolist()
    ['25.6%', '–']
    """
    import pandas as pd

    columns = {name: [cell_text(v, formats.get(name)) for v in table[name]] for name in table}
    return pd.DataFrame(columns)


def to_terminal(table: pd.DataFrame) -> str:
    """Align columns with spaces: text to the left, everything else to the right."""
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

    >>> print(escaped_markdown("a_b *x* <b>"))
    a_b \*x\* \<b>
    """
    return MARKUP.sub(r"\\\g<0>", cell_text(str(value)))


def explained(names: Iterable[str]) -> str:
    """Explain those columns that need it, in one sentence.

    >>> explained(["category", "confident"])
    'confident: those of them with a score over .3.'
    """
    explanations = [f"{name}: {COLUMNS[name]}" for name in names if name in COLUMNS]
    return f"{'; '.join(explanations)}." if explanations else ""


def about(command: str = "", **facts: object) -> dict[str, str]:
    """Return what a command was given, as it was typed, and when it was run.

    What is named, by a word such as ``images``, is None for nothing.
    """
    typed = {name.replace("_", " "): str(value) for name, value in facts.items() if value}
    date = datetime.now().astimezone().isoformat(" ", "minutes")
    return {**typed, "date": date, **({"command": command} if command else {})}


def result_text(
    heads: Sequence[str],
    warnings: Iterable[str],
    details: Sequence[str] = (),
    *,
    verbose: bool = True,
    of_fit: Collection[str] = (),
) -> str:
    """Return what a terminal shows of a result: heads, warnings, and details if `verbose`.

    They stand between empty lines; an empty text is left out, and each stands there once.

    Without `verbose` there are at most `MOST` warnings, the most severe, and none of those that
    the fit has printed, `of_fit`.
    """
    lines = warning_lines(warnings, None if verbose else MOST, of_fit=() if verbose else of_fit)
    parts = [*heads, "\n".join(lines), *(details if verbose else ())]
    return "\n\n".join(dict.fromkeys(filter(None, parts)))


def notice_values(warnings: Iterable[str]) -> dict[str, Any]:
    """Return warnings as JSON has them: ``warnings``, ``notes`` among them, ``warning_codes``."""
    listed = list(warnings)
    notes = [str(warning) for warning in listed if as_notice(warning).severity == "note"]
    return {"warnings": listed, "notes": notes, "warning_codes": codes_of(listed)}


def print_result(text: str, values: Mapping[str, Any], *, as_json: bool = False) -> None:
    """Print a result, before its page is drawn: a full disk does not lose what was computed."""
    print(json.dumps(plain(values), indent=2) if as_json else text, flush=True)


def write_result(folder: Path, page: Writable, values: Mapping[str, Any]) -> list[Path]:
    """Write ``report.html``, what belongs to it, and ``result.json`` into a folder; return them."""
    folder.mkdir(parents=True, exist_ok=True)
    written = page.write(folder / "report.html")
    return [*written, write_json(folder / "result.json", plain(values))]


def written_files(paths: Iterable[Path], purpose: str = "", command: str = "") -> str:
    """Name the files that a command wrote, and what to type next for a purpose, if anything."""
    written = "\n".join(["written:", *(f"  {path}" for path in paths)])
    return f"{written}\n\nnext step, {purpose}:\n  {command}" if command else written
