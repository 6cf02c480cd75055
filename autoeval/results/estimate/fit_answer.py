"""What a fit shows first: the accuracy on its labelled images, and how wide intervals will be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autoeval.estimation.bayesian_regression import BayesianRegression
from autoeval.estimation.pair_table import category_weights
from autoeval.report.page import Page
from autoeval.report.sections import Section
from autoeval.report.tables import counted
from autoeval.targets import Target, find_target


@dataclass(frozen=True)
class FitAnswer(Section):
    """The mean accuracy on labelled images, and the half-width of intervals at new sites like them.

    Both in [0, 1]; the second is NaN where no estimate would be given.
    """

    target: Target
    accuracy: float
    half_width: float
    level: float
    n_sets: int
    n_categories: int

    def show(self, page: Page) -> None:
        target = self.target
        sets = counted(self.n_sets, "labelled set")
        categories = counted(self.n_categories, "category", "categories")
        note = f"mean of {sets}, {categories}, in {target.unit}"
        page.add_headline(f"{target.name} on labelled images", target.text(self.accuracy), note)
        bounded = self.half_width == self.half_width
        page.add_headline(
            "Interval at a new site",
            f"±{target.text(self.half_width)}" if bounded else "none",
            f"{self.level:.0%} interval where boxes score as on the labelled images"
            if bounded
            else "it would be too wide where boxes score as on the labelled images",
        )


def fit_answer(regression: BayesianRegression) -> FitAnswer:
    """Predict each labelled set as if it were a new site; the median half-width counts."""
    rows, name = regression.rows_, regression.target
    accuracies, halves = [], []
    for _, site in rows.groupby("source" if "source" in rows else "group", sort=False):
        accuracies.append(category_weights(site, name) @ site[name].to_numpy(np.float64))
        interval = regression.predict_mean(site)
        halves.append((interval.upper - interval.lower) / 2)
    bounded = [half for half in halves if half == half]
    return FitAnswer(
        find_target(name),
        float(np.mean(accuracies)),
        float(np.median(bounded)) if bounded else float("nan"),
        regression.level,
        len(accuracies),
        len(regression.categories_),
    )
