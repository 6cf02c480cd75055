"""Our own curves compared with what a paper states about a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.report.compared_with_print import ComparedWithPrint
from autoeval.report.page import Block, Chart, Heading, Text
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
from autoeval.stability.reproduce.printed import PrintedFigure, StatedNumber
from autoeval.stability.studies.correlation import best_thresholds, correlation
from autoeval.stability.studies.kept_boxes import Observations

METHOD = "bos"
Curve = tuple[str, str]
"""Detector and target."""


@dataclass(frozen=True)
class OwnFigure:
    """A printed figure, and the studies of our own, by detector and target, that draw the same.

    `marks` say in what our side differs from print; `instead` is the detector that stands in for
    those in print.
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
        curves = [f"{what}\n{report.text()}" for what, report in self._named()]
        stated = [self.stated.text()] if self.stated else []
        return "\n\n".join(["\n".join(head), *curves, *stated])

    def blocks(self) -> list[Block]:
        blocks: list[Block] = [Heading(self.printed.title), *map(Text, self._said())]
        for what, report in self._named():
            name = f"{self._name}_{what}"
            caption = f"{what}: {report.title}. {report.about}"
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
    marks: str = "",
    instead: str = "",
) -> OwnFigure:
    """Make the studies of a figure."""
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
