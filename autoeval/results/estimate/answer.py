"""The estimate, its categories and the labelled pairs, at the top of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from autoeval.estimation.estimate import Estimate
from autoeval.report.page import Page
from autoeval.report.sections import Part, Section
from autoeval.report.tables import counted
from autoeval.targets import Target, find_target

TIGHTNESS = (
    "How tightly labellers draw boxes at a site is seen by no score: it moves mAP75 and mAP, and "
    "mAP50 least."
)
BOUNDS = ("lower", "upper")
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
        page.add_warnings(
            list(filter(None, [estimate.width_warning])), title="Before you act on it"
        )
        images = counted(estimate.n_images, "unlabelled image")
        repeats = f"; ± {target.text(estimate.std)} over the dropout repeats"
        if estimate.std != estimate.std:
            repeats = ""
        page.add_interval(
            f"Estimated {target.name}",
            target.text(value) if value == value else "–",
            interval,
            f"In {target.unit}, from {images}, by the method ‘{estimate.method}’"
            f"{repeats}{_sampling(estimate, target)}.",
            on_scale=(100 * value, 100 * low, 100 * high) if target.upper == 1 else None,
        )
        beside = []
        for name, of in estimate.beside.items():
            if of["value"] == of["value"]:
                shown, *ends = (find_target(name).text(of[k]) for k in ("value", *BOUNDS))
                beside.append(f"{name}: {shown} ({' to '.join(ends)})")
        if beside:
            page.add_text(f"From the same pass, {'; '.join(beside)}. {TIGHTNESS}")

    def text(self) -> str:
        return "" if self.estimate is None else str(self.estimate)

    def to_dict(self) -> dict[str, Any]:
        return {"estimate": self.estimate and self.estimate.to_dict()}


def _sampling(estimate: Estimate, target: Target) -> str:
    """State what the number of images adds to the interval, where that is known."""
    low, high = estimate.source_lower, estimate.source_upper
    if estimate.sampling_std != estimate.sampling_std:
        return ""
    alone = f"; without the sampling error {target.text(low)} to {target.text(high)}"
    alone = alone if low == low else ""
    return f", ± {target.text(estimate.sampling_std)} over the choice of images{alone}"


def star(estimate: Estimate, scores: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return where the estimate stands among the scores, under `name` by its own value."""
    scaled = find_target(estimate.target).scale * estimate.value
    return {**scores, **estimate.features, name: scaled, "value": estimate.value}


@dataclass(frozen=True)
class ByCategory(Section):
    """One row a category, from `Estimate.per_category`; nothing where there are none."""

    per_category: Mapping[str, Mapping[str, float]]
    target: Target

    def show(self, page: Page) -> None:
        for part in self.parts():
            page.add_heading("Category by category")
            part.show(
                page, f"Estimated {self.target.name} with its interval, in {self.target.unit}"
            )

    def parts(self) -> list[Part]:
        if not self.per_category:
            return []
        table = pd.DataFrame(
            {
                "category": list(map(str, self.per_category)),
                "estimate": [float(of["value"]) for of in self.per_category.values()],
                **{end: [float(of[end]) for of in self.per_category.values()] for end in BOUNDS},
            }
        )
        numbers = ["estimate", *BOUNDS]
        shown = table.assign(**{name: self.target.scale * table[name] for name in numbers})
        return [Part("categories", table, shown, dict.fromkeys(numbers, self.target.format))]


@dataclass(frozen=True)
class LabelledPairs(Section):
    """One row a pair of source and category of a pair table, the most accurate first."""

    table: pd.DataFrame
    features: Sequence[str]
    target: Target

    def show(self, page: Page) -> None:
        page.add_heading("What it was fitted on")
        for part in self.parts():
            part.show(page, f"Every category is a source; {self.target.name} in {self.target.unit}")

    def text(self) -> str:
        families = self.table["family"].nunique()
        pairs = counted(len(self.table), "pair")
        text = f"{pairs} of site and category, of {counted(families, 'group')}."
        return text if families > 1 else f"{text} {ONE_SET}"

    def parts(self) -> list[Part]:
        names = [n for n in (*PAIR, self.target.name, *COUNTS, *self.features) if n in self.table]
        table = self.table[names].sort_values(self.target.name, ascending=False, ignore_index=True)
        shown = table.assign(**{self.target.name: self.target.scale * table[self.target.name]})
        formats = dict.fromkeys(self.features, "{:.3f}") | {self.target.name: self.target.format}
        formats |= {name: "{:.0f}" for name in COUNTS if name in table}
        return [Part("pairs", table, shown, formats)]
