"""The report of a fit on predictions, and that of an estimate from them."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from autoeval.estimation.pairs.pair_table import FEATURES
from autoeval.estimation.predictions.new_predictions import Asked
from autoeval.estimation.predictions.prediction_estimator import PredictionsEstimator
from autoeval.estimation.predictions.prediction_fit import PredictionsFit
from autoeval.estimation.predictions.unseen_error import by_family
from autoeval.report.page import Page
from autoeval.report.parts import Part
from autoeval.report.sections import Report, Section
from autoeval.results.estimate.answer import Answer
from autoeval.results.estimate.by_category import ByCategory
from autoeval.results.predictions.unseen_pairs import UnseenPairs
from autoeval.targets import find_target
from autoeval.version import __version__

MISSING = {
    "agreement at half the size": "needs a second predictions file (--half-size-predictions)",
    "agreement and box stability under dropout": "need the network",
    "energy, PCR, Fréchet distance": "need logits, suppressed boxes or features of the network",
    "view consistency": "needs passes over altered images",
}


def fit_report(title: str, fit: PredictionsFit) -> Report:
    """Compose what a fit has to say.

    Parameters
    ----------
    title : str
    fit : PredictionsFit
    """
    rows = fit.estimator.pairs_.rows_
    target = find_target(fit.estimator.target)
    return Report(
        title,
        [
            Problems(fit.problems),
            UnseenPairs(fit.held_out, by_family(rows), target),
            WhatWasFitted(fit.estimator),
        ],
    )


def task_report(title: str, fit: PredictionsFit, asked: Asked | None) -> Report:
    """Compose what a fit on the sources of a task has to say, and what it says of new images.

    Parameters
    ----------
    title : str
    fit : PredictionsFit
    asked : Asked, optional
    """
    of_fit = fit_report(title, fit)
    if asked is None:
        return of_fit
    told, cautions, problems, by_category, _ = estimate_report(title, fit.estimator, asked).sections
    _, unseen, what = of_fit.sections
    everything = Problems([*fit.problems, *problems.to_dict()["problems"]])
    return Report(title, [told, cautions, everything, unseen, by_category, what])


def estimate_report(title: str, estimator: PredictionsEstimator, asked: Asked) -> Report:
    """Compose what an estimate has to say.

    Parameters
    ----------
    title : str
    estimator : PredictionsEstimator
    asked : Asked
    """
    target = find_target(estimator.target)
    return Report(
        title,
        [
            Answer(asked.estimate),
            Cautions(asked.estimate.guards),
            Problems(asked.problems),
            ByCategory(asked.estimate.per_category, target),
            WhatWasFitted(estimator),
        ],
    )


@dataclass(frozen=True)
class Cautions(Section):
    """Reasons not to trust an estimate, which `Answer` tells on the terminal.

    Parameters
    ----------
    guards : sequence of str
    """

    guards: Sequence[str]

    def show(self, page: Page) -> None:
        """List them, or say that there are none."""
        page.add_warnings(self.guards, title="Reasons for doubt")
        if not self.guards:
            page.add_text("None of the checks of this estimate gives a reason for doubt.")


@dataclass(frozen=True)
class Problems(Section):
    """What was left out of labels and predictions, or is odd about them.

    Parameters
    ----------
    problems : sequence of str
    """

    problems: Sequence[str]

    def show(self, page: Page) -> None:
        """List it."""
        page.add_warnings(self.problems, title="Left out, or odd")

    def text(self) -> str:
        """Return a line each."""
        return "\n".join(f"note: {problem}" for problem in self.problems)

    def to_dict(self) -> dict[str, Any]:
        """Return the list."""
        return {"problems": list(self.problems)}


@dataclass(frozen=True)
class WhatWasFitted(Section):
    """What the estimator goes by, what it goes without and why, and its pairs.

    Parameters
    ----------
    estimator : PredictionsEstimator
    """

    estimator: PredictionsEstimator

    def show(self, page: Page) -> None:
        """Add the tables, that of the pairs folded."""
        page.add_heading("What was run")
        what, missing, pairs = self.parts()
        what.show(page, sortable=False)
        missing.show(page, "Scores that predictions cannot give", sortable=False)
        pairs.show(page, f"All {len(pairs.table)} pairs of place and category", folded=True)

    def parts(self) -> list[Part]:
        """Return the tables of settings, of missing scores and of pairs."""
        facts = self.to_dict()["facts"]
        what = pd.DataFrame({"what": list(facts), "value": list(facts.values())})
        half = self.estimator.memory_.half_size
        reasons = {k: v for k, v in MISSING.items() if not (half and "half" in k)}
        missing = pd.DataFrame({"score": list(reasons), "why": list(reasons.values())})
        rows = self.estimator.pairs_.rows_
        first = ["source", "category", "n_images", "n_boxes"]
        rest = [name for name in (*FEATURES, "mAP", "mAP50", "mAP75") if name in rows]
        numbers = dict.fromkeys(rest, "{:.3f}")
        return [
            Part("what_was_run", what),
            Part("missing_scores", missing),
            Part("pairs", rows, rows[[*first, *rest]], numbers),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the settings."""
        estimator, memory = self.estimator, self.estimator.memory_
        pairs = estimator.pairs_
        facts = {
            "method": f"Bayesian regression on pairs, estimating {estimator.target}",
            "scores": ", ".join(pairs.features_),
            "places": ", ".join(dict.fromkeys(pairs.rows_["source"].astype(str))),
            "categories": ", ".join(pairs.categories_),
            "lowest score in the fit": f"{memory.floor:.3g}",
            "versions": f"autoeval {__version__}, python {platform.python_version()}",
        }
        return {"facts": facts}
