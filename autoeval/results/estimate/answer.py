"""The estimate, its categories and the labelled pairs, at the top of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from autoeval.estimation.estimate import WIDEST_TEXT, Estimate
from autoeval.report.page import IntervalRow, Page
from autoeval.report.sections import Part, Section, Tables
from autoeval.results.category_intervals import add_category_intervals
from autoeval.results.columns import explained
from autoeval.targets import Target, find_target
from autoeval.words import counted

TIGHTNESS = (
    "How tightly labellers draw boxes at a site is seen by no score: it moves mAP75 and mAP, and "
    "mAP50 least."
)
BOUNDS = ("lower", "upper")
WHY = "not in the mean"  # column: why a category is not
MANY = 12  # categories from which on their table is folded: a plot shows them
PAIR, COUNTS = ("category", "source"), ("n_images", "n_boxes")
ONE_SET = (
    "One labelled set shows how much categories vary, not how much sites do: the intervals take "
    "that from what was measured on a panel of detectors and sites (docs/results/generality.md). "
    "The set should hold no image that the detector was trained on: its accuracy there is too high."
)


@dataclass(frozen=True)
class Answer(Section):
    """What was estimated, with its interval; nothing where there were no images to estimate on."""

    estimate: Estimate | None

    def show(self, page: Page) -> None:
        estimate = self.estimate
        if estimate is None:
            return
        target = find_target(estimate.target)
        value, low, high = estimate.value, estimate.lower, estimate.upper
        interval = f"No interval ({estimate.interval_method})"
        if low == low:
            interval = f"{estimate.level:.0%} interval: {target.text(low)} to {target.text(high)}"
        images = counted(estimate.n_images, "unlabelled image")
        page.add_interval(
            f"Estimated {target.name}",
            target.text(value) if value == value else "–",
            interval,
            f"In {target.unit}, from {images}, by the method ‘{estimate.method}’"
            f"{estimate.variation_text()}.",
            on_scale=(100 * value, 100 * low, 100 * high) if target.upper == 1 else None,
        )
        page.add_warnings(filter(None, [estimate.width_warning]), "Before you act on it")
        beside = []
        for name, estimated in estimate.beside.items():
            if estimated["value"] == estimated["value"]:
                shown, *ends = (find_target(name).text(estimated[k]) for k in ("value", *BOUNDS))
                beside.append(f"{name}: {shown} ({' to '.join(ends)})")
            elif value == value and name not in estimate.undefined:
                beside.append(
                    f"{name}: no estimate, its interval would be wider than {WIDEST_TEXT}"
                )
        if beside:
            page.add_text(f"From the same pass, {'; '.join(beside)}. {TIGHTNESS}")

    def headline(self) -> str:
        return "\n".join(self.estimate.headline()) if self.estimate else ""

    def text(self) -> str:
        return "\n".join(self.estimate.details()) if self.estimate else ""

    def to_dict(self) -> dict[str, Any]:
        return {"estimate": self.estimate and self.estimate.to_dict()}


def star(estimate: Estimate, scores: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return where the estimate stands among the scores, under `name` by its own value."""
    scaled = find_target(estimate.target).scale * estimate.value
    ends = {end: getattr(estimate, end) for end in ("value", *BOUNDS)}
    return {**scores, **estimate.features, name: scaled, **ends}


@dataclass(frozen=True)
class EstimatesByCategory(Section):
    """Each category, from `Estimate.per_category`; nothing where there are none."""

    estimate: Estimate | None

    @property
    def _target(self) -> Target:
        assert self.estimate is not None
        return find_target(self.estimate.target)

    def show(self, page: Page) -> None:
        estimate = self.estimate
        for part in self.parts():
            assert estimate is not None
            page.add_heading("Category by category")
            if self._target.upper == 1:
                rows = [
                    IntervalRow(str(name), category["value"], category["lower"], category["upper"])
                    for name, category in estimate.per_category.items()
                ]
                whole = IntervalRow("", estimate.value, estimate.lower, estimate.upper)
                add_category_intervals(page, whole, rows, self._target, estimate.level)
            caption = f"Estimated {self._target.name} with its interval, in {self._target.unit}"
            part.show(page, caption, folded=len(part.table) > MANY)

    def parts(self) -> list[Part]:
        if self.estimate is None or not self.estimate.per_category:
            return []
        numbers = {"estimate": "value", **dict(zip(BOUNDS, BOUNDS, strict=True))}
        each = self.estimate.per_category
        columns = {
            name: [float(category[key]) for category in each.values()]
            for name, key in numbers.items()
        }
        table = pd.DataFrame({"category": list(map(str, each)), **columns})
        why = [
            "" if value == value else "no box is over the threshold" for value in table["estimate"]
        ]
        if self.estimate.left_out:
            left_out = [
                {"category": name, **{key: facts[of] for key, of in numbers.items()}}
                for name, facts in self.estimate.left_out.items()
            ]
            table = pd.concat([table, pd.DataFrame(left_out)], ignore_index=True)
            why += map(self.estimate.why_left_out, self.estimate.left_out)
        if any(why):
            table = table.assign(**{WHY: why})
        shown = table.assign(**{name: self._target.scale * table[name] for name in numbers})
        return [Part("categories", table, shown, dict.fromkeys(numbers, self._target.format))]


def labelled_pairs(table: pd.DataFrame, features: Sequence[str], target: Target) -> Tables:
    """Show one row a pair of source and category of a pair table, the most accurate first."""
    groups = table["group"].nunique()
    words = f"{counted(len(table), 'pair')} of site and category, of {counted(groups, 'group')}."
    if groups == 1:
        words = f"{words} {ONE_SET}"
    names = [name for name in (*PAIR, target.name, *COUNTS, *features) if name in table]
    table = table[names].sort_values(target.name, ascending=False, ignore_index=True)
    shown = table.assign(**{target.name: target.scale * table[target.name]})
    formats = dict.fromkeys(features, "{:.3f}") | {target.name: target.format}
    formats |= {name: "{:.0f}" for name in COUNTS if name in table}
    part = Part("pairs", table, shown, formats)
    caption = f"Every category is a source; {target.name} in {target.unit}. {explained(names)}"
    return Tables([(part, caption)], "What it was fitted on", words)
