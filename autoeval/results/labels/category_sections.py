"""The categories of an estimate with labels, in order: the lowest, and which labels would help."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from autoeval.labels.joint_outlook import JointOutlook
from autoeval.labels.labelled_estimate import FREE, LabelledEstimate
from autoeval.report.page import IntervalRow, Page
from autoeval.report.plots import figure_of
from autoeval.report.sections import Part, Section
from autoeval.results.category_intervals import add_category_intervals
from autoeval.targets import find_target

IN_PLOT = [*("category", "value", "lower", "upper"), *FREE]
FEWEST = 2  # categories of a picture
MANY = 6  # categories from which on some are named first
NAMED = 5
MORE_IMAGES = 10  # with a category, of which the gain is reported
SMALLEST = 0.995  # share of the half-width left, above which labels of a category are not named


def lowest(estimate: LabelledEstimate) -> pd.DataFrame:
    """Return the rows of the categories with the lowest estimates; see `to_pandas`."""
    rows = estimate.to_pandas()[1:]
    return rows.sort_values("value", kind="stable")[:NAMED].reset_index(drop=True)


def most_helpful(estimate: LabelledEstimate) -> pd.DataFrame:
    """Return the categories whose labels would narrow the interval of the mean most.

    ``category``, ``labelled_images`` that hold it so far, and ``half_width`` of the mean that
    `MORE_IMAGES` further images with it are expected to leave.
    """
    outlook, now = estimate.outlook, estimate.recommended.half_width(estimate.level)
    columns = ["category", "labelled_images", "half_width"]
    if not isinstance(outlook, JointOutlook) or not np.isfinite(now):
        return pd.DataFrame(columns=columns)
    left = outlook.narrowed_by(MORE_IMAGES)
    names = list(estimate.by_category)
    rows = [
        (names[k], estimate.by_category[names[k]].n_holding, now * left[k])
        for k in np.argsort(left, kind="stable")[:NAMED]
        if left[k] < SMALLEST
    ]
    return pd.DataFrame(rows, columns=columns)


@dataclass(frozen=True)
class CategoriesInOrder(Section):
    """How many categories rest on labels, which are lowest, and which labels would help most."""

    estimate: LabelledEstimate

    @property
    def n(self) -> int:
        """Number of categories."""
        return len(self.estimate.by_category)

    def headline(self) -> str:
        if self.n < MANY:
            return ""
        lines = [f"labels measure {self.estimate.n_behind} of {self.n} categories"]
        low = [
            f"{row.category} {100 * row.value:.0f} ({100 * row.lower:.0f} to {100 * row.upper:.0f})"
            for row in lowest(self.estimate).itertuples()
        ]
        lines.append(f"lowest: {', '.join(low)}")
        names = ", ".join(most_helpful(self.estimate)["category"])
        if names:
            lines.append(f"labels that would help most: of images with {names}")
        return "\n".join(lines)

    def show(self, page: Page) -> None:
        if self.n < FEWEST:
            return
        page.add_heading("Categories")
        if self.n >= MANY:
            low, helpful = self.parts()
            low.show(page, "The lowest estimates, in points of 100")
            if len(helpful.table):
                half = 100 * self.estimate.recommended.half_width(self.estimate.level)
                helpful.show(
                    page,
                    f"Whose labels would help most: half-width of the mean, ±{half:.1f} now, after "
                    f"{MORE_IMAGES} more images with the category",
                )
        first, *rows = [
            IntervalRow(row.category, row.value, row.lower, row.upper, row[4:])
            for row in self.estimate.to_pandas()[IN_PLOT].itertuples(index=False)
        ]
        note = (
            f". {self.estimate.n_behind} of {self.n} categories are measured by labels; the others "
            "rest on the label-free estimates and on what labels show of the rest"
        )
        target = find_target(self.estimate.target)
        add_category_intervals(page, first, rows, target, self.estimate.level, note=note)

    def parts(self) -> list[Part]:
        if self.n < MANY:
            return []
        low, helpful = lowest(self.estimate), most_helpful(self.estimate)
        points = ["value", "lower", "upper", "label_free"]
        shown = low[["category", *points, "measured"]]
        shown = shown.assign(**{name: 100 * low[name] for name in points})
        shown["measured"] = np.where(low["measured"], "labels", "few labels or none")
        shown = shown.rename(columns={"label_free": "label-free", "measured": "from"})
        more = helpful.assign(half_width=100 * helpful["half_width"])
        more.columns = pd.Index(["category", "labelled images so far", "half-width"])
        formats = dict.fromkeys([*shown.columns[1:5], "half-width"], "{:.1f}")
        return [
            Part("lowest", low, shown, formats),
            Part("most_helpful", helpful, more, formats),
        ]

    def figures(self) -> Iterator[tuple[str, Figure]]:
        if self.n >= FEWEST:
            yield "categories", figure_of(self.estimate.plot())
