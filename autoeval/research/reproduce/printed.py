"""The tables and figures that a paper prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from autoeval.data.config_file import read_paper

MAIN_DETECTOR = "retinanet_r50"
OF_SCORES = ("correlation", "thresholds", "meta_set_size", "fusion")
WITH_SAMPLES = ("sample_set_size", "test_set_size")


@dataclass(frozen=True)
class Column:
    """One column of a printed table.

    Parameters
    ----------
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
    task : str
        Name of its task file in ``configs/tasks``.
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
    downloads : mapping of str to str
        Where people get each source.
    """

    tables: tuple[PrintedTable, ...]
    downloads: Mapping[str, str]


def load_printed(paper: str, names: Sequence[str] = ()) -> Printed:
    """Read what a paper prints.

    Raises `InputError` if there is no such table.
    """
    tables, downloads = read_paper(paper, names)
    return Printed(tuple(_table(name, entry) for name, entry in tables.items()), downloads)


def _table(name: str, entry: Mapping[str, Any]) -> PrintedTable:
    columns = tuple(Column(**column) for column in entry["columns"])
    return PrintedTable(name, **{**entry, "columns": columns})


@dataclass(frozen=True)
class StatedNumber:
    """One number that the paper states about a figure.

    Parameters
    ----------
    row : mapping
        Values by column that tell the row of our own study.
    value : str
        Column that holds the number.
    detector : str
        Alias; that of the figure by default.
    scale : float
        To turn ours into what is printed.
    """

    what: str
    row: Mapping[str, Any]
    value: str
    printed: float
    detector: str = MAIN_DETECTOR
    scale: float = 1
    decimals: int = 2


@dataclass(frozen=True)
class PrintedFigure:
    """A printed figure.

    Parameters
    ----------
    study : str
        Which of our studies draws it: one of `OF_SCORES`, of `WITH_SAMPLES`, or ``"box_level"``.
    task : str
        Name of its task file in ``configs/tasks``.
    words : str
        What the paper says of it.
    detectors : sequence of str
        Aliases.
    targets : sequence of str
        Columns of the accuracy.
    scores : sequence of str
        Those that a correlation is drawn of, a thresholded one at its best threshold; of a fusion
        the methods, each compared with the first.
    """

    name: str
    title: str
    study: str
    task: str
    words: str
    stated: Sequence[StatedNumber] = ()
    detectors: Sequence[str] = (MAIN_DETECTOR,)
    targets: Sequence[str] = ("mAP",)
    scores: Sequence[str] = ("es", "ps", "atc", "bos")

    @property
    def needs_boxes(self) -> bool:
        """Whether it takes a pass that keeps boxes, not a score table."""
        return self.study not in OF_SCORES

    @property
    def needs_samples(self) -> bool:
        """Whether that pass is over sample sets, too."""
        return self.study in WITH_SAMPLES


def load_figures(paper: str, names: Sequence[str]) -> tuple[PrintedFigure, ...]:
    """Read what a paper states about some of its figures; see `read_paper` for what is refused."""
    if not names:
        return ()
    found, _ = read_paper(paper, names, kind="figure")
    return tuple(_figure(name, entry) for name, entry in found.items())


def _figure(name: str, entry: Mapping[str, Any]) -> PrintedFigure:
    stated = tuple(StatedNumber(**each) for each in entry.get("stated", ()))
    return PrintedFigure(name, **{**entry, "stated": stated})
