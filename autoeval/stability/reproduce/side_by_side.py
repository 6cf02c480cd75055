"""What a paper prints, tables of errors and what it states of figures, beside our own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.estimation.category_scores import sources, stack_categories
from autoeval.estimation.protocol import LeaveOneSourceOut
from autoeval.report.compared_with_print import ComparedWithPrint, not_as_printed
from autoeval.report.page import Block, Chart, Heading, Text
from autoeval.runtime.files import read_paper
from autoeval.stability.dropout_search.search import NestedTables
from autoeval.stability.methods.leave_one_out import leave_one_source_out
from autoeval.stability.methods.score_rows import split_threshold
from autoeval.stability.reports.box_quality import box_level_report
from autoeval.stability.reports.errors_by_size import (
    meta_set_size_report,
    sample_set_size_report,
    test_set_size_report,
)
from autoeval.stability.reports.score_correlation import (
    correlation_report,
    fusion_report,
    thresholds_report,
)
from autoeval.stability.reports.study_report import StudyReport
from autoeval.stability.studies.correlation import best_thresholds, correlation
from autoeval.stability.studies.kept_boxes import Observations

TRUE = "mAP"
METHOD = "bos"
Curve = tuple[str, str]  # detector and target
MAIN_DETECTOR = "retinanet_r50"
OF_SCORES = ("correlation", "thresholds", "meta_set_size", "fusion")
WITH_SAMPLES = ("sample_set_size", "test_set_size")


@dataclass(frozen=True)
class SideBySide:
    """A printed table, and what our own score tables say.

    Parameters
    ----------
    printed : PrintedTable
        The table in print.
    tables : mapping of str to DataFrame
        Score tables by the alias of the detector.
    n_sources : int
        Sources that the table has in print.
    instead : str
        The detector that stands in for those in print.
    differs : str
        In what else ours is not what was printed.
    nested : mapping of str to NestedTables
        Tables of detectors whose dropout was searched without each group.
    """

    printed: PrintedTable
    tables: Mapping[str, pd.DataFrame]
    n_sources: int
    instead: str = ""
    differs: str = ""
    nested: Mapping[str, NestedTables] = field(default_factory=dict)
    _held: dict[tuple[str, ...], LeaveOneSourceOut | None] = field(default_factory=dict)
    _why_not: dict[str, str] = field(default_factory=dict)

    @cached_property
    def rows(self) -> pd.DataFrame:
        """One row for each method and column, in points.

        The method ``mAP`` is the detector's accuracy; ``bos ±`` is the standard deviation of the
        errors of ``bos`` over the dropout repeats. An average of ours is over the columns measured,
        and so is the one in print that it is compared with, where single columns are printed.

        Columns are ``method``, ``column``, ``printed``, ``own`` (NaN: not measured) and
        ``decimals``.
        """
        single = [column for column in self.printed.columns if column.source]
        true = {column: self._measured("constant", column, "true") for column in single}
        rows = [
            {"method": TRUE, "column": c.label, "printed": c.true, "own": true[c]} for c in single
        ]
        for method, errors in self.printed.errors.items():
            rows += self._of_method(method, method, errors, "error")
            if method in self.printed.deviations:
                deviations = self.printed.deviations[method]
                rows += self._of_method(f"{method} ±", method, deviations, "error_std")
        table = pd.DataFrame(rows).astype({"printed": float, "own": float})
        digits = np.where(table["method"] == TRUE, self.printed.true_decimals, 2)
        return table.assign(decimals=digits)

    @property
    def marks(self) -> str:
        """Say in what the table is partial or of another detector; empty where it is neither."""
        partial = []
        for detector in self.printed.detectors:
            table = self.tables.get(detector)
            n = 0 if table is None else len(sources(table))
            if n < self.n_sources:
                partial.append(f"{self.instead or detector} on {n} of {self.n_sources} sources")
        return not_as_printed(self.differs, *partial)

    def section(self) -> ComparedWithPrint:
        """Return it for a report."""
        rows = self.rows  # makes the figures, and so finds out why some cannot be made
        notes = [
            f"{method} was not evaluated: {reason}" for method, reason in self._why_not.items()
        ]
        for (detector, method, *_), held in self._held.items():
            if held is not None and (n := int(held.per_source["missing"].sum())):
                notes.append(
                    f"{self.instead or detector}: {method} has no estimate for {n} of "
                    f"{len(held.per_source)} sources, which are left out"
                )
        notes = list(dict.fromkeys(notes))
        for detector in self.printed.detectors:
            if detector in self.nested:
                name = self.instead or detector
                notes += [f"{name}, dropout {line}" for line in self.nested[detector].lines()]
        name, title = f"table_{self.printed.name}", self.printed.title
        unit = "in points of mAP"
        return ComparedWithPrint(name, title, rows, unit=unit, marks=self.marks, notes=notes)

    def _of_method(
        self, label: str, method: str, values: Sequence[float], figure: str
    ) -> list[dict[str, Any]]:
        columns = self.printed.columns
        printed = dict(zip(columns, values, strict=True))
        by_column = {
            column: self._measured(method, column, figure) for column in columns if column.source
        }
        rows = [
            {"method": label, "column": c.label, "printed": printed[c], "own": by_column[c]}
            for c in by_column
        ]
        for column in (c for c in columns if not c.source):
            measured = [c for c in by_column if np.isfinite(by_column[c])]
            if by_column:
                mean = float(np.mean([by_column[c] for c in measured])) if measured else np.nan
                reference = printed[column]
                if 0 < len(measured) < len(by_column):
                    reference = float(np.mean([printed[c] for c in measured]))
            else:
                mean, reference = self._measured(method, column, figure), printed[column]
            rows.append(
                {"method": label, "column": column.label, "printed": reference, "own": mean}
            )
        return rows

    def _measured(self, method: str, column: Column, figure: str) -> float:
        """Return a figure of a column, or the mean over sources, in points; NaN for none.

        Sources that the method has no estimate for, where the constant's stands, take no part.
        """
        detector = column.detector or self.printed.detector
        key = (detector, method, column.category, column.target)
        if key not in self._held:
            self._held[key] = self._left_out(*key)
        held = self._held[key]
        if held is None:
            return np.nan
        rows = held.per_source
        if figure != "true":
            rows = rows[~rows["missing"]]
        if column.source:
            rows = rows[rows["source"] == column.source]
        return 100 * float(rows[figure].mean()) if len(rows) else np.nan

    def _left_out(
        self, detector: str, method: str, category: str, target: str
    ) -> LeaveOneSourceOut | None:
        """Leave each source out; nothing where the detector was not run or cannot be evaluated."""
        table = self.tables.get(detector)
        if table is None:
            return None
        nested = self.nested[detector].tables if detector in self.nested else None
        if category:
            table = stack_categories(table, [category])
            if nested:
                nested = {name: stack_categories(t, [category]) for name, t in nested.items()}
        try:
            return leave_one_source_out(table, method, target=target, by_group=nested)
        except InputError as error:
            self._why_not[method] = str(error)
            return None


@dataclass(frozen=True)
class OwnFigure:
    """A printed figure, and the studies of our own that draw the same.

    Parameters
    ----------
    printed : PrintedFigure
        The figure in print.
    reports : mapping of (str, str) to StudyReport
        By detector and target.
    marks : str
        In what our side differs from print.
    notes : sequence of str
        What could not be made.
    instead : str
        The detector that stands in for those in print.
    """

    printed: PrintedFigure
    reports: Mapping[Curve, StudyReport]
    marks: str = ""
    notes: Sequence[str] = ()
    instead: str = ""

    @cached_property
    def stated(self) -> ComparedWithPrint | None:
        """The numbers that the paper states, with ours; None where it states none."""
        rows = [
            {
                "stated": number.what,
                "column": "figure",
                "printed": number.printed,
                "own": self._measured(number),
                "decimals": number.decimals,
            }
            for number in self.printed.stated
        ]
        name = f"{self._name}_stated"
        return ComparedWithPrint(name, "Stated in print", pd.DataFrame(rows)) if rows else None

    def text(self) -> str:
        head = [self.printed.title, *self._said()]
        curves = [f"{label}\n{report.text()}" for label, report in self._named()]
        stated = [self.stated.text()] if self.stated else []
        return "\n\n".join(["\n".join(head), *curves, *stated])

    def blocks(self) -> list[Block]:
        blocks: list[Block] = [Heading(self.printed.title), *map(Text, self._said())]
        for label, report in self._named():
            name = f"{self._name}_{label}"
            caption = f"{label}: {report.title}. {report.about}"
            blocks.append(Chart(report.figure, caption, name))
            blocks += [replace(table, name=name) for table in report.parts]
        return [*blocks, *([self.stated.table()] if self.stated else [])]

    def to_dict(self) -> dict[str, Any]:
        stated = self.stated.to_dict()[self.stated.name]["rows"] if self.stated else []
        values = {"not_as_printed": self.marks, "notes": list(self.notes), "stated": stated}
        return {self._name: {"in_print": self.printed.words, **values}}

    @property
    def _name(self) -> str:
        return f"figure_{self.printed.name}"

    def _named(self) -> list[tuple[str, StudyReport]]:
        reports = self.reports.items()
        return [
            (f"{self.instead or alias}_{target}", report) for (alias, target), report in reports
        ]

    def _said(self) -> list[str]:
        return [*filter(None, [self.marks]), f"In print: {self.printed.words}", *self.notes]

    def _measured(self, stated: StatedNumber) -> float:
        report = self.reports.get((stated.detector, self.printed.targets[0]))
        if report is None:
            return np.nan
        table = report.parts[0].table
        table = best_thresholds(table) if self.printed.study == "thresholds" else table
        for column, value in stated.row.items():
            table = table[table[column] == value]
        return stated.scale * float(table[stated.value].iloc[0]) if len(table) else np.nan


def own_figure(
    printed: PrintedFigure,
    measured: Mapping[str, pd.DataFrame | Observations],
    *,
    marks: str,
    instead: str,
) -> OwnFigure:
    """Make the studies of a figure; what cannot be made is a note.

    Parameters
    ----------
    printed : PrintedFigure
        The figure in print.
    measured : mapping of str to (DataFrame or Observations)
        By the alias of the detector: a score table, or boxes where the figure is of boxes.
    marks, instead : str
        See `OwnFigure`.
    """
    reports: dict[Curve, StudyReport] = {}
    notes = [f"{alias} was not run" for alias in printed.detectors if alias not in measured]
    for alias in printed.detectors:
        for target in printed.targets if alias in measured else ():
            try:
                reports[alias, target] = _study(printed, measured[alias], target)
            except InputError as error:
                notes.append(f"{alias}, {target}: not made: {error}")
            else:
                notes += reports[alias, target].warnings
    return OwnFigure(printed, reports, marks, notes, instead)


def _study(
    printed: PrintedFigure, measured: pd.DataFrame | Observations, target: str
) -> StudyReport:
    study = printed.study
    if isinstance(measured, pd.DataFrame):
        if study == "correlation":
            drawn = _features(measured, printed.scores, target)
            return correlation_report(measured, target=target, features=drawn)
        if study == "thresholds":
            return thresholds_report(measured, target=target)
        if study == "fusion":
            return fusion_report(measured, methods=printed.scores, target=target)
        return meta_set_size_report(measured, methods=[METHOD], target=target)
    if study == "box_level":
        return box_level_report(measured)
    make = sample_set_size_report if study == "sample_set_size" else test_set_size_report
    return make(measured, methods=[METHOD], target=target)


def _features(table: pd.DataFrame, scores: Sequence[str], target: str) -> list[str]:
    """Name the columns of scores, at their best thresholds; constant ones are left out."""
    correlated = correlation(table, target=target).dropna(subset=["r2"])["feature"]
    shown = [name for name in correlated if (split_threshold(name) or (name,))[0] in scores]
    if not shown:
        raise InputError(f"None of the scores {', '.join(scores)} varies over the sample sets.")
    return shown


@dataclass(frozen=True)
class Column:
    """One column of a printed table.

    Parameters
    ----------
    label : str
        As printed.
    source : str
        The one held out, empty for the average over all.
    category : str
        Named where there are several.
    detector : str
        Alias, where the columns of a table differ in it.
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
    """A printed table of errors, in points.

    Parameters
    ----------
    name, title : str
        Number and title in print.
    task : str
        A file in ``configs/tasks``.
    columns : tuple of Column
        Its columns.
    errors : mapping of str to sequence of float
        By method, one a column.
    deviations : mapping of str to sequence of float
        The numbers behind a ±.
    detector : str
        Alias of that of columns that name none.
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
    """What a paper prints, and where people get each source.

    Parameters
    ----------
    tables : tuple of PrintedTable
        In the order asked for.
    downloads : mapping of str to str
        Address of each source.
    """

    tables: tuple[PrintedTable, ...]
    downloads: Mapping[str, str]


def load_printed(paper: str, names: Sequence[str] = ()) -> Printed:
    """Read the tables of errors that a paper prints.

    Parameters
    ----------
    paper : str
        Name of its file in ``configs/papers``.
    names : sequence of str
        Of tables; all by default.

    Raises
    ------
    InputError
        If there is no such table.
    """
    tables, downloads = read_paper(paper, names)
    printed_tables = []
    for name, entry in tables.items():
        columns = tuple(Column(**column) for column in entry["columns"])
        fields: dict[str, Any] = {**entry, "columns": columns}
        printed_tables.append(PrintedTable(name, **fields))
    return Printed(tuple(printed_tables), downloads)


@dataclass(frozen=True)
class StatedNumber:
    """One number that the paper states about a figure.

    Parameters
    ----------
    what : str
        In words.
    row : mapping
        Values by column that select the row of our own study.
    value : str
        Column that holds the number.
    printed : float
        In the paper.
    detector : str
        Alias.
    scale : float
        Turns ours into what is printed.
    decimals : int
        Digits in print.
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
    name, title : str
        Number and title in print.
    study : str
        The one of ours that draws it: one of `OF_SCORES`, of `WITH_SAMPLES`, or ``"box_level"``.
    task : str
        A file in ``configs/tasks``.
    words : str
        What the paper says of the figure.
    stated : sequence of StatedNumber
        What it states in numbers.
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
    """Read what a paper states about some of its figures.

    Parameters
    ----------
    paper : str
        See `load_printed`.
    names : sequence of str
        Of figures; none where none are named.

    Raises
    ------
    InputError
        If there is no such figure.
    """
    if not names:
        return ()
    entries, _ = read_paper(paper, names, kind="figure")
    figures = []
    for name, entry in entries.items():
        stated = tuple(StatedNumber(**number) for number in entry.get("stated", ()))
        fields: dict[str, Any] = {**entry, "stated": stated}
        figures.append(PrintedFigure(name, **fields))
    return tuple(figures)
