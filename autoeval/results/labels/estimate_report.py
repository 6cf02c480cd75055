"""The estimate with labels as a page, on the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from autoeval.labels.labelled_estimate import GOALS, LabelledEstimate
from autoeval.report.page import Page
from autoeval.report.sections import Part, Report, Section, Tables
from autoeval.results.estimate.about import about_section
from autoeval.results.labels.category_sections import CategoriesInOrder
from autoeval.sites.label_check import contradicted
from autoeval.words import counted

ESTIMATORS = ("label-free", "sample estimate", "difference estimator", "combined")


@dataclass(frozen=True)
class Recommended(Section):
    """The combined estimate, large, and how many more labels a width takes."""

    estimate: LabelledEstimate

    def show(self, page: Page) -> None:
        estimate, value = self.estimate, self.estimate.value
        lower, upper = estimate.interval
        page.add_interval(
            f"Estimated {estimate.target}",
            f"{100 * value:.1f}",
            f"{estimate.level:.0%} interval: {100 * lower:.1f} to {100 * upper:.1f}",
            f"In points of 100, from {estimate.n_labelled} labelled images of {estimate.n_pool}, "
            "the predicted influence of all, and the label-free estimate.",
            on_scale=(100 * value, 100 * lower, 100 * upper),
        )
        for goal in () if contradicted(estimate.warnings) else GOALS:
            more = estimate.more_labels(goal)
            page.add_headline(
                f"±{100 * goal:.0f}", counted(more, "more label") if more else "reached", "expected"
            )
        page.add_warnings(estimate.warnings)

    def headline(self) -> str:
        return "\n".join(self.estimate.headline())

    def all_warnings(self) -> Sequence[str]:
        return self.estimate.warnings

    def text(self) -> str:
        return "\n".join(self.estimate.details())

    def to_dict(self) -> dict[str, Any]:
        return {"labelled_estimate": self.estimate.to_dict()}


def by_estimator(estimate: LabelledEstimate) -> Tables:
    """Put all estimators side by side, for mAP, mAP50 and mAP75."""
    rows = [
        {
            "what": name,
            "estimator": estimator,
            "value": estimated.value,
            "half_width": estimate.label_free_half_width(name)
            if estimated is measure.prior
            else estimated.half_width(estimate.level),
        }
        for name, measure in sorted(estimate.whole.items())
        for estimator, estimated in zip(
            ESTIMATORS,
            (measure.prior, measure.sample, measure.difference, measure.combined.estimate),
            strict=True,
        )
    ]
    part = _part("estimators", pd.DataFrame(rows))
    caption = "Values and half-widths in points of 100. " + estimate.about_label_free
    return Tables([(part, caption.strip())], "By estimator")


def by_category(estimate: LabelledEstimate) -> Tables:
    """Show the combined estimate of each category; nothing for one."""
    rows = [
        {
            "category": name,
            "value": category.combined.estimate.value,
            "half_width": category.combined.estimate.half_width(estimate.level),
            "sample_estimate": category.sample.value,
            "label_free": estimate.label_free(name)["value"],
            "images_that_hold_it": category.n_holding,
            "objects": category.n_true,
            "from": "labels"
            if category.measured
            else "few labels"
            if category.n_holding
            else "label-free",
        }
        for name, category in estimate.by_category.items()
    ]
    if len(rows) < 2:
        return Tables([])
    behind = f"labels measure {estimate.n_behind} of {len(rows)} categories"
    part = _part("categories", pd.DataFrame(rows).sort_values("value", ignore_index=True))
    caption = f"{estimate.target} in points of 100; {behind}"
    return Tables([(part, caption)], "Category by category, the lowest first")


@dataclass(frozen=True)
class Shrinking(Section):
    """How the interval shrinks with the number of labels."""

    estimate: LabelledEstimate

    def table(self) -> pd.DataFrame:
        """Return the combined estimate after the first labels, in the order of the draw."""
        free, level = self.estimate.label_free(), self.estimate.level
        steps = []
        if free["lower"] == free["lower"]:
            steps.append((0, free["value"], self.estimate.label_free_half_width()))
        for k, labelled in self.estimate.history:
            combined = labelled.combined.estimate
            steps.append((k, combined.value, combined.half_width(level)))
        return pd.DataFrame(steps, columns=["labels", "value", "half_width"])

    def show(self, page: Page) -> None:
        if len(self.estimate.history):
            page.add_heading("How the interval shrinks")
            for figure in self.charts.values():
                page.add_figure(figure, "Combined estimate and interval by the number of labels")

    def parts(self) -> list[Part]:
        return [_part("shrinking", self.table())]

    def figures(self) -> list[tuple[str, Figure]]:
        table, estimate = self.table(), self.estimate
        figure = Figure(figsize=(5.6, 3.2), layout="constrained")
        ax = figure.subplots()
        value, half = 100 * table["value"], 100 * table["half_width"]
        ax.fill_between(table["labels"], value - half, value + half, color="tab:blue", alpha=0.2)
        ax.plot(table["labels"], value, marker="o", color="tab:blue", label="so far")
        k = np.unique(np.linspace(estimate.n_labelled, min(100, estimate.n_pool), 20).astype(int))
        k = k[k > estimate.n_labelled]
        widths = np.array([100 * estimate.outlook.half_width(int(n)) for n in k])
        centre = 100 * estimate.recommended.value
        for sign in (1, -1):
            label = "expected" if sign == 1 else None
            ax.plot(k, centre + sign * widths, ls="--", color="tab:gray", label=label)
        ax.set(xlabel="labelled images", ylabel=f"{estimate.target} (points of 100)")
        ax.set_ylim(max(ax.get_ylim()[0], 0), min(ax.get_ylim()[1], 100))
        ax.grid(alpha=0.25)
        ax.legend(frameon=False)
        return [("shrinking", figure)]


def label_report(
    estimate: LabelledEstimate, given: Mapping[str, str] = MappingProxyType({})
) -> Report:
    """Compose the estimate with labels; `given` is what the page is about."""
    return Report("Estimate with labels", [*label_sections(estimate), about_section(given)])


def label_sections(estimate: LabelledEstimate) -> list[Section]:
    """Return all that an estimate with labels shows."""
    return [
        Recommended(estimate),
        CategoriesInOrder(estimate),
        Shrinking(estimate),
        by_estimator(estimate),
        by_category(estimate),
    ]


def _part(name: str, table: pd.DataFrame) -> Part:
    points = [c for c in ("value", "half_width", "sample_estimate", "label_free") if c in table]
    shown = table.assign(**{column: 100 * table[column] for column in points})
    shown = shown.rename(columns=lambda column: column.replace("_", " "))
    formats = {column.replace("_", " "): "{:.1f}" for column in points}
    return Part(name, table, shown, formats)
