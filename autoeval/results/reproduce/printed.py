"""The figures that a paper prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from autoeval.data.paper_tables import read_paper

MAIN_DETECTOR = "retinanet_r50"


@dataclass(frozen=True)
class Column:
    """One column of a printed table.

    Parameters
    ----------
    label : str
    source : str
        Source held out; empty for the average over all.
    category : str
        Where there are several.
    target : str
        What is estimated.
    detector : str
        Alias of the detector, where the columns of a table differ in it.
    true : float, optional
        Printed mAP of the detector there, in points.
    """

    label: str
    source: str = ""
    category: str = ""
    target: str = "mAP"
    detector: str = ""
    true: float | None = None


@dataclass(frozen=True)
class PrintedTable:
    """A printed table of errors.

    Parameters
    ----------
    name, title : str
    task : str
        Name of its task file in ``configs/tasks``.
    columns : tuple of Column
    errors : mapping of str to sequence of float
        For each method one error a column, in points.
    deviations : mapping of str to sequence of float
        For each method printed with a ± that number a column, in points.
    detector : str
        Alias of the detector of columns that name none.
    true_decimals : int
        Digits of the printed mAP; errors have two.
    """

    name: str
    title: str
    task: str
    columns: tuple[Column, ...]
    errors: Mapping[str, Sequence[float]]
    deviations: Mapping[str, Sequence[float]] = field(default_factory=dict)
    detector: str = MAIN_DETECTOR
    true_decimals: int = 1

    @property
    def detectors(self) -> tuple[str, ...]:
        """All detectors that it needs."""
        return tuple(dict.fromkeys(column.detector or self.detector for column in self.columns))


@dataclass(frozen=True)
class Printed:
    """What a paper prints.

    Parameters
    ----------
    tables : tuple of PrintedTable
    downloads : mapping of str to str
        Where people get each source.
    """

    tables: tuple[PrintedTable, ...]
    downloads: Mapping[str, str]


def load_printed(paper: str, names: Sequence[str] = ()) -> Printed:
    """Read what a paper prints.

    Parameters
    ----------
    paper : str
        Name of a file in ``configs/papers``.
    names : sequence of str
        Numbers of the tables; all by default.

    Raises
    ------
    InputError
        If there is no such table.
    """
    tables, downloads = read_paper(paper, names)
    return Printed(tuple(_table(name, entry) for name, entry in tables.items()), downloads)


def _table(name: str, entry: Mapping[str, Any]) -> PrintedTable:
    columns = tuple(Column(**column) for column in entry["columns"])
    return PrintedTable(name, **{**entry, "columns": columns})
