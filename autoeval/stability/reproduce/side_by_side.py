"""A printed table of errors, compared with our own figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.estimation.protocol import LeaveOneSourceOut
from autoeval.estimation.score_table import sources, stack_categories
from autoeval.report.compared_with_print import ComparedWithPrint
from autoeval.stability.dropout_search.nested_search import NestedTables
from autoeval.stability.methods.leave_one_out import leave_one_source_out
from autoeval.stability.reproduce.printed import Column, PrintedTable, not_as_printed

TRUE = "mAP"


@dataclass(frozen=True)
class SideBySide:
    """A printed table, and what our own score tables, by the alias of the detector, say.

    `n_sources` is the number of sources that it has in print; `instead` the detector that stands in
    for those in print; `differs` says in what else ours is not what was printed. `nested` has the
    tables of detectors whose dropout was searched without each group, see `nested_tables`.
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
        """One row for each method and column: ``printed``, ``own`` (NaN: not measured), in points.

        The method ``mAP`` is the detector's accuracy; ``bos ±`` is the standard deviation of the
        errors of ``bos`` over the dropout repeats. An average of ours is over the columns measured,
        and so is the one in print that it is compared with, where single columns are printed.
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
        return not_as_printed(self.instead, self.differs, partial)

    def section(self) -> ComparedWithPrint:
        """Return it for a report."""
        rows = self.rows  # makes the figures, and so finds out why some cannot be made
        why = [f"{method} was not evaluated: {reason}" for method, reason in self._why_not.items()]
        for detector in self.printed.detectors:
            if detector in self.nested:
                name = self.instead or detector
                why += [f"{name}, dropout {line}" for line in self.nested[detector].lines()]
        name, title = f"table_{self.printed.name}", self.printed.title
        unit = "in points of mAP"
        return ComparedWithPrint(name, title, rows, unit=unit, marks=self.marks, notes=why)

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
        """Return a figure of a column, or the mean over sources, in points; NaN for none."""
        detector = column.detector or self.printed.detector
        key = (detector, method, column.category, column.target)
        if key not in self._held:
            self._held[key] = self._left_out(*key)
        held = self._held[key]
        if held is None:
            return np.nan
        if not column.source:
            return 100 * float(held.per_source[figure].mean())
        row = held.per_source[held.per_source["source"] == column.source]
        if row.empty or (figure != "true" and row["missing"].iloc[0]):
            return np.nan
        return 100 * float(row[figure].iloc[0])

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
