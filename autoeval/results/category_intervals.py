"""All categories of a site as dots with intervals, ordered by estimate."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from autoeval.report.page import IntervalRow, Page
from autoeval.targets import Target

ALL = "all categories"
NAMES = ("with labels", "without labels")


def add_category_intervals(
    page: Page,
    whole: IntervalRow,
    categories: Iterable[IntervalRow],
    target: Target,
    level: float,
    *,
    note: str = "",
) -> None:
    """Add a dot and an interval of all together and of each category, the highest first.

    Values are in [0, 1]; categories without an estimate stand last.
    """
    rows = list(categories)
    order = sorted(rows, key=lambda row: -row.value if row.value == row.value else 1.0)
    page.add_intervals(
        [_scaled(row, target.scale) for row in (replace(whole, name=ALL), *order)],
        f"{target.name} of each category in {target.unit}, with {level:.0%} intervals{note}",
        top=target.scale * target.upper,
        number_format=target.format,
        names=NAMES,
    )


def _scaled(row: IntervalRow, scale: float) -> IntervalRow:
    before = row.before and (scale * row.before[0], scale * row.before[1], scale * row.before[2])
    return IntervalRow(row.name, scale * row.value, scale * row.lower, scale * row.upper, before)
