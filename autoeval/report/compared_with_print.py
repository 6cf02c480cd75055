"""Printed figures compared with our own, and reports of several such comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pandas as pd

from autoeval.report.page import Block, Heading, Table, Text

CELL = "own (printed, own less printed)"


class Chapter(Protocol):
    """One of several things that a report holds."""

    def text(self) -> str:
        """Return what the terminal shows."""

    def blocks(self) -> list[Block]:
        """Return it as a page shows it."""

    def to_dict(self) -> dict[str, Any]:
        """Return values for JSON, under keys that no other chapter has."""


def chapters_text(chapters: Sequence[Chapter]) -> str:
    """Return what the terminal shows of all chapters, equal texts once.

    Parameters
    ----------
    chapters : sequence of Chapter
        In their order.
    """
    texts = (chapter.text() for chapter in chapters)
    return "\n\n".join(dict.fromkeys(filter(None, texts)))


def chapters_values(chapters: Sequence[Chapter]) -> dict[str, Any]:
    """Return the values of all chapters in one dict, for JSON.

    Parameters
    ----------
    chapters : sequence of Chapter
        Without a key in common.
    """
    return {key: value for chapter in chapters for key, value in chapter.to_dict().items()}


def not_as_printed(*parts: str) -> str:
    """Say in what our side differs from print; empty where nothing does.

    Parameters
    ----------
    *parts : str
        Empty ones are left out.
    """
    reasons = [part for part in parts if part]
    return f"NOT AS PRINTED: {', '.join(reasons)}" if reasons else ""


@dataclass(frozen=True)
class ComparedWithPrint:
    """A printed table, and what we get.

    Parameters
    ----------
    name, title : str
        Of the table, in files and for people.
    figures_of : DataFrame
        One row a figure: what names its row (the first column), ``column``, ``printed`` and
        ``own``, either NaN where there is none, and ``decimals``, the digits in print, two where
        they are not given.
    unit : str
        Said after `CELL`.
    marks : str
        In what our side is not what was printed.
    notes : sequence of str
        Below the table.
    only_own : bool
        People see the rows alone that have a figure of ours, where any has.
    """

    name: str
    title: str
    figures_of: pd.DataFrame
    unit: str = ""
    marks: str = ""
    notes: Sequence[str] = ()
    only_own: bool = False

    @cached_property
    def rows(self) -> pd.DataFrame:
        """The figures with ``difference`` (own less printed) and ``same`` (to the digit in print).

        ``same`` is None where either figure is missing.
        """
        table = self.figures_of.astype({"printed": float, "own": float})
        decimals = table.pop("decimals") if "decimals" in table else pd.Series(2, table.index)
        pairs = zip(table["own"], table["printed"], decimals, strict=True)
        same = [_same(computed, printed, int(digits)) for computed, printed, digits in pairs]
        table["difference"] = table["own"] - table["printed"]
        return table.assign(
            decimals=decimals.astype(int), same=pd.Series(same, table.index, object)
        )

    def agreement(self) -> str:
        """Say how many printed figures we have, and how many of those are the same."""
        pairs = self.rows.dropna(subset=["own", "printed"])
        n = int(self.rows["printed"].notna().sum())
        same = int(pairs["same"].astype(bool).sum())
        return f"{len(pairs)} of {n} printed figures are here, {same} the same to the printed digit"

    def shown(self) -> pd.DataFrame:
        """Return a table for people: cells ``own (printed, difference)``."""
        named = self.rows.columns[0]
        cells = zip(self.rows["own"], self.rows["printed"], self.rows["decimals"], strict=True)
        rows = self.rows.assign(cell=[_cell(*values) for values in cells])
        if self.only_own and rows["own"].notna().any():
            kept = rows.loc[rows["own"].notna(), named].unique()
            rows = rows[rows[named].isin(kept)]
        wide = rows.pivot(index=named, columns="column", values="cell").fillna("–")
        order = list(dict.fromkeys(rows[named])), list(dict.fromkeys(self.rows["column"]))
        wide = wide.reindex(index=order[0], columns=order[1], fill_value="–")
        return wide.reset_index().rename_axis(columns=None)

    def table(self) -> Table:
        """Return it in full and for people."""
        return Table(self.name, self.rows, self.shown(), caption=self._caption)

    def text(self) -> str:
        """Return the table with its title."""
        return "\n".join(
            [self.title, self._caption, *self._said(), self.table().text(), *self.notes]
        )

    def blocks(self) -> list[Block]:
        """Return it as a page shows it."""
        return [Heading(self.title), *map(Text, (*self._said(), *self.notes)), self.table()]

    def to_dict(self) -> dict[str, Any]:
        """Return the rows, the mark and the notes."""
        values = {
            "not_as_printed": self.marks,
            "notes": list(self.notes),
            "rows": self.rows.to_dict("records"),
        }
        return {self.name: values}

    @property
    def _caption(self) -> str:
        return ", ".join(filter(None, [CELL, self.unit]))

    def _said(self) -> list[str]:
        return [*filter(None, [self.marks]), f"{self.agreement()}."]


def _same(computed: float, printed: float, decimals: int) -> bool | None:
    if not np.isfinite(computed) or not np.isfinite(printed):
        return None
    return round(computed, decimals) == round(printed, decimals)


def _cell(computed: float, printed: float, decimals: int) -> str:
    if not np.isfinite(printed):
        return f"{computed:.{decimals}f}" if np.isfinite(computed) else "–"
    if not np.isfinite(computed):
        return f"– ({printed:.{decimals}f})"
    less = round(computed - printed, decimals) + 0.0  # no minus before a zero
    return f"{computed:.{decimals}f} ({printed:.{decimals}f}, {less:+.{decimals}f})"
