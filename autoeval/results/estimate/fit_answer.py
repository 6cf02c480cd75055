"""What a fit shows first: the accuracy on its labelled images, and how wide intervals will be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autoeval.estimation.protocol import FitResult
from autoeval.model.pair_table import CATEGORY, category_weights
from autoeval.model.regression import Regression
from autoeval.report.page import Page
from autoeval.report.sections import Section
from autoeval.sites.labelled_set import FEWEST_BOXES, FEWEST_IMAGES
from autoeval.targets import Target, find_target
from autoeval.words import counted

SAME = 0.0005  # of accuracies that are printed as one number, or nearly


@dataclass(frozen=True)
class FitAnswer(Section):
    """The mean accuracy on labelled images, and the half-width of intervals at new sites like them.

    Both in [0, 1]; the second is NaN where no estimate would be given.

    coco: what pycocotools prints, mean over the labelled sets; NaN where it is not known.
    sets: rows of `FitResult.labelled_sets`.
    everywhere: whether categories are evaluated on all images, not on those that hold them.
    """

    target: Target
    accuracy: float
    half_width: float
    level: float
    n_sets: int
    n_categories: int
    coco: float = float("nan")
    sets: list[dict[str, Any]] = field(default_factory=list)
    everywhere: bool = True

    @property
    def _differs(self) -> bool:
        return abs(self.coco - self.accuracy) >= SAME

    @property
    def _own(self) -> str:
        """How the accuracy that is fitted differs from what pycocotools prints."""
        own = f"{counted(self.n_categories, 'category', 'categories')}"
        own += f" with {FEWEST_BOXES} labelled boxes in {FEWEST_IMAGES} images or more"
        return own if self.everywhere else f"{own}, each on the images that hold it"

    def headline(self) -> str:
        target, lines = self.target, list[str]()
        if self.coco == self.coco:
            n = sum(of["n_categories"] for of in self.sets)
            what = f"all images, mean of {counted(n, 'category', 'categories')} with a label"
            if self.n_sets > 1:
                what = f"all images; mean of {self.n_sets} labelled sets"
            lines.append(
                f"{target.name} on the labelled images: {target.text(self.coco)} (as pycocotools "
                f"prints it: {what})"
            )
            if self._differs:
                lines.append(f"  fitted are {target.text(self.accuracy)}: {self._own}")
        if self.half_width == self.half_width:
            half = target.text(self.half_width)
            lines.append(
                f"interval at a new site: about ±{half}; to act on less, label twenty images there "
                "(`autoeval label plan`)"
            )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        return {"labelled_sets": self.sets}

    def show(self, page: Page) -> None:
        target = self.target
        sets = counted(self.n_sets, "labelled set")
        categories = counted(self.n_categories, "category", "categories")
        note = f"mean of {sets}, {categories}, in {target.unit}"
        if self.coco == self.coco:
            about = "as pycocotools prints it: all images, all categories with a label"
            page.add_headline(f"{target.name} on labelled images", target.text(self.coco), about)
            note = f"{self._own}; {note}"
        if self._differs or self.coco != self.coco:
            page.add_headline(f"{target.name} that is fitted", target.text(self.accuracy), note)
        bounded = self.half_width == self.half_width
        page.add_headline(
            "Interval at a new site",
            f"±{target.text(self.half_width)}" if bounded else "none",
            f"{self.level:.0%} interval where boxes score as on the labelled images"
            if bounded
            else "it would be too wide where boxes score as on the labelled images",
        )


def fit_answer(regression: Regression, result: FitResult | None = None) -> FitAnswer:
    """Predict each labelled set as if it were a new site; the median half-width counts.

    result: of the fit, where it was fitted in this process.
    """
    rows, name = regression.rows_, regression.target
    accuracies, halves = [], []
    for _, site in rows.groupby("source" if "source" in rows else "group", sort=False):
        accuracies.append(category_weights(site, name) @ site[name].to_numpy(np.float64))
        interval = regression.predict_mean(site)
        halves.append((interval.upper - interval.lower) / 2)
    bounded = [half for half in halves if half == half]
    sets = None if result is None else result.labelled_sets
    known = sets is not None and name in sets
    return FitAnswer(
        find_target(name),
        float(np.mean(accuracies)),
        float(np.median(bounded)) if bounded else float("nan"),
        regression.level,
        len(accuracies),
        len(regression.categories_),
        float(sets[name].mean()) if sets is not None and known else float("nan"),
        [] if sets is None else sets.to_dict("records"),
        not ("kind" in rows and (rows["kind"] == CATEGORY).any()),
    )
