"""The tables and figures that a paper prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from autoeval.io.documents import read_paper

MAIN_DETECTOR = "retinanet_r50"
OF_SCORES = ("correlation", "thresholds", "meta_set_size", "fusion")
WITH_SAMPLES = ("sample_set_size", "test_set_size")


@dataclass(frozen=True)
class Column:
    """One column of a printed table.

    `source` is the one held out, empty for the average over all; `category` is named where there
    are several, the alias of the `detector` where the columns of a table differ in it; `true` is
    the printed mAP of the detector there, in points.
    """

    label: str
    source: str = ""
    category: str = ""
    target: str = "mAP"
    detector: str = ""
    true: float | None = None


@dataclass(frozen=True)
class PrintedTable:
    """A printed table of errors, one a column for each method, in points.

    `task` names a file in ``configs/tasks``; `deviations` are the numbers behind a ±; `detector` is
    the alias of that of columns that name none; `true_decimals` are the digits of the printed mAP,
    errors have two.
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
    """What a paper prints, and where people get each source."""

    tables: tuple[PrintedTable, ...]
    downloads: Mapping[str, str]


def load_printed(paper: str, names: Sequence[str] = ()) -> Printed:
    """Read what a paper prints, or raise `InputError` if there is no such table."""
    tables, downloads = read_paper(paper, names)
    made = []
    for name, entry in tables.items():
        columns = tuple(Column(**column) for column in entry["columns"])
        made.append(PrintedTable(name, **{**entry, "columns": columns}))
    return Printed(tuple(made), downloads)


def not_as_printed(instead: str, differs: str, partial: Sequence[str]) -> str:
    """Say in what own figures are of another detector or of part of the data; empty where none."""
    stand_in = f"own figures are those of {instead}" if instead else ""
    parts = [*filter(None, (stand_in, differs)), *partial]
    return f"NOT AS PRINTED: {', '.join(parts)}" if parts else ""


@dataclass(frozen=True)
class StatedNumber:
    """One number that the paper states about a figure.

    `row` has values by column that select the row of our own study, `value` is the column that
    holds the number, and `scale` turns ours into what is printed.
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

    `study` is the one of ours that draws it: one of `OF_SCORES`, of `WITH_SAMPLES`, or
    ``"box_level"``. `task` names a file in ``configs/tasks``; `words` is what the paper says of the
    figure; `detectors` are aliases, `targets` columns of the accuracy. `scores` are those that a
    correlation is drawn of, a thresholded one at its best threshold; of a fusion the methods, each
    compared with the first.
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
    """Read what a paper states about some of its figures."""
    if not names:
        return ()
    entries, _ = read_paper(paper, names, kind="figure")
    made = []
    for name, entry in entries.items():
        stated = tuple(StatedNumber(**fields) for fields in entry.get("stated", ()))
        made.append(PrintedFigure(name, **{**entry, "stated": stated}))
    return tuple(made)
