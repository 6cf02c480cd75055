"""The result of a study as a picture, a page and tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from autoeval.report.page import Table
from autoeval.runtime.files import write_figure, write_table, write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class StudyReport:
    """The result of one study.

    Parameters
    ----------
    name : str
        Of its files.
    title : str
        What was studied.
    about : str
        How to read it.
    figure : Figure
        The picture.
    parts : sequence of Table
        The numbers.
    warnings : sequence of str
        What was left out.
    """

    name: str
    title: str
    about: str
    figure: Figure
    parts: Sequence[Table]
    warnings: Sequence[str] = ()

    def write(self, folder: Path) -> list[Path]:
        """Write ``NAME.png``, ``NAME.md`` and the CSV file of each table; return them.

        Parameters
        ----------
        folder : Path
            Made if it is missing.
        """
        files = [folder / f"{self.name}.png", folder / f"{self.name}.md"]
        write_figure(files[0], self.figure, dpi=90)
        write_text(files[1], self.markdown())
        for part in self.parts:
            path = folder / f"{part.name}.csv"
            files.append(write_table(path, part.table, float_format="%.6g"))
        return files

    def markdown(self) -> str:
        """Return title, words and tables as Markdown."""
        tables = [part.markdown() for part in self.parts]
        left_out = [f"Left out: {warning}" for warning in self.warnings]
        return "\n\n".join([f"# {self.title}", self.about, *tables, *left_out]) + "\n"

    def text(self) -> str:
        """Return title and tables for the terminal."""
        tables = [part.text() for part in self.parts]
        return "\n\n".join([self.title, *tables])


def interval_cells(
    table: pd.DataFrame, value: str, *, scale: float = 1.0, digits: int = 2
) -> list[str | None]:
    """Write a column with the interval of ``lower`` and ``upper`` behind it.

    Parameters
    ----------
    table : DataFrame
        With columns ``lower`` and ``upper``.
    value : str
        The column.
    scale : float
        Factor of what is shown.
    digits : int
        Decimals.

    Returns
    -------
    list of str or None
        None where the value is NaN.

    Examples
    --------
    >>> interval_cells(pd.DataFrame({"r2": [.5], "lower": [.25], "upper": [.75]}), "r2")
    ['0.50 (0.25 to 0.75)']
    """
    cells: list[str | None] = []
    for number, low, high in table[[value, "lower", "upper"]].to_numpy(np.float64):
        text = f"{scale * number:.{digits}f}"
        if not math.isnan(low):
            text += f" ({scale * low:.{digits}f} to {scale * high:.{digits}f})"
        cells.append(None if math.isnan(number) else text)
    return cells


def side_by_side(
    table: pd.DataFrame, index: str, columns: str, values: Sequence[str | None]
) -> pd.DataFrame:
    """Turn one row for each pair into one row for each `index`, one column for each `columns`.

    Parameters
    ----------
    table : DataFrame
        One row for each pair.
    index, columns : str
        Columns of the two names; orders are kept.
    values : sequence of str or None
        Cell of each row; None for an empty one.

    Examples
    --------
    >>> long = pd.DataFrame({"images": [5, 5, 10], "method": ["bos", "ac", "bos"]})
    >>> side_by_side(long, "images", "method", ["1", "2", "3"]).to_dict("list")
    {'images': [5, 10], 'bos': ['1', '3'], 'ac': ['2', nan]}
    """
    keys = list(dict.fromkeys(table[index]))
    names = list(dict.fromkeys(table[columns]))
    cells = table[[index, columns]].assign(cell=list(values))
    wide = cells.pivot(index=index, columns=columns, values="cell")
    return wide.reindex(index=keys, columns=names).rename_axis(columns=None).reset_index()
