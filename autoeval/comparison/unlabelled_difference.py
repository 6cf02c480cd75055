"""What is known of the difference of two detectors at a site without labels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from autoeval.comparison.common_objects import Found, disagreement, expected_difference
from autoeval.comparison.pair_model import (
    USUAL,
    PairPrior,
    differences,
    log_odds_on_labels,
    on_labels,
)
from autoeval.errors import InputError
from autoeval.estimation.category_scores import site_scores
from autoeval.estimation.checks import nothing_over_text
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.labels.values import ValueWithError, VariancePrior, quantile
from autoeval.model import Away
from autoeval.model.pair_table import nothing_over, table_of, undefined_at
from autoeval.sites.site import Site
from autoeval.targets import OperatingPoint


@dataclass(frozen=True, eq=False)
class Side:
    """One detector at a site: what a difference takes of it."""

    name: str
    site: Site  # with named categories, K of them, and calibrated boxes
    rows: pd.DataFrame  # the pairs of source and category that it was fitted on
    each: list[ValueWithError]  # label-free accuracy in each category
    whole: ValueWithError  # in all categories together
    home: float  # accuracy at the labelled site if it was trained there, else NaN
    confidence: np.ndarray  # of its boxes, less that at the labelled site, (K,)
    uncorrected: np.ndarray  # `values` as if that were not known, (K,)
    away: Away | None = None  # how far it falls, by the labels of its fit; else as the prior says

    @property
    def values(self) -> np.ndarray:
        """The accuracies, inside [0, 1], (K,)."""
        return np.clip([accuracy.value for accuracy in self.each], 0, 1)

    @classmethod
    def of(
        cls, name: str, fitted: AccuracyEstimator, site: Site, *, trained_here: bool = False
    ) -> Side:
        """Estimate each category by an estimator of the default method.

        A fit that says that its detector was trained at the labelled site counts as `trained_here`.
        """
        regression = fitted.regression_
        scores = site_scores(site, regression.features_)
        rows = table_of([category_scores.row() for category_scores in scores])
        intervals = [*regression.predict(rows), regression.predict_mean(rows)]
        if undefined_at(fitted.target) and nothing_over(rows, fitted.target).all():
            raise InputError(
                f"{fitted.target} of {name} is not defined, so there is no difference: "
                f"{nothing_over_text(fitted.target)}. Choose a lower threshold, or compare recall."
            )
        # The model of pairs takes errors as standard deviations of normal distributions.
        unit = quantile(regression.level, np.inf)
        *each, whole = (
            ValueWithError(interval.raw, interval.reach / unit) for interval in intervals
        )
        plain, home = np.array([accuracy.value for accuracy in each]), math.nan
        if trained_here:
            home = float(regression.rows_[fitted.target].mean())
        if regression.away_ is not None:
            home = regression.home_
            # The prior of pairs was fitted on estimates that are not corrected.
            plain = regression.uncorrected(rows).mean
        confidence = regression.confidence_above_home(rows)
        plain = np.clip(plain, 0, 1)
        of_fit, away = regression.rows_, regression.away_
        return cls(name, site, of_fit, each, whole, home, confidence, plain, away)

    @property
    def trained_here(self) -> bool:
        """Whether the detector was trained on images like the labelled ones."""
        return math.isfinite(self.home)


@dataclass(frozen=True, eq=False)
class LabelFree:
    """The difference of two detectors without labels."""

    each: list[ValueWithError]  # in each of K categories
    whole: ValueWithError  # in all together
    influences: np.ndarray  # predicted, of each image on it, (K, N)
    residuals: Sequence[VariancePrior | None]  # of the variance that this leaves, of one image
    carried: float  # mean difference on the labelled sets of both fits; NaN without any


def compare_label_free(
    a: Side,
    b: Side,
    target: str,
    prior: PairPrior,
    categories: Mapping[str, Sequence[str]],
) -> LabelFree:
    """Compare two detectors on the same images and categories.

    At a threshold the difference is that of the two estimates, whose errors are taken to be
    independent: they are not, so the interval is wide. `categories` says what categories are called
    on the labelled sets, beside their own names.
    """
    names = a.site.boxes.categories
    labelled_pairs = on_labels(a.rows, b.rows, target)
    carried = float((labelled_pairs["a"] - labelled_pairs["b"]).mean())
    if OperatingPoint.of(target):
        each = list(map(_independent, a.each, b.each))
        nothing = np.zeros((len(names), len(a.site)))
        whole = _independent(a.whole, b.whole)
        return LabelFree(each, whole, nothing, [None] * len(names), carried)
    u = disagreement(a.site, b.site)
    expected = [
        expected_difference(*(Found.of(side.site, k) for side in (a, b))) for k in range(len(names))
    ]
    words = [(name, *categories.get(name, ())) for name in names]
    table = pd.DataFrame(
        {
            "estimate_a": a.uncorrected,
            "estimate_b": b.uncorrected,
            "log_odds": [log_odds_on_labels(a.rows, b.rows, target, called) for called in words],
            "expected": [difference.value for difference in expected],
            "disagreement": u,
            "objects": [difference.n_true * len(a.site) for difference in expected],
            "usual": [bool(USUAL.intersection(called)) for called in words],
            "home_a": a.home,
            "home_b": b.home,
            "confidence_a": a.confidence,
            "confidence_b": b.confidence,
        }
    )
    known_falls = [side.away for side in (a, b) if side.away is not None]
    if len(known_falls) == 1:
        prior = replace(prior, away=known_falls[0])
    levels, each = differences(table)[1], prior.predict(table)
    return LabelFree(
        each,
        prior.mean(each),
        prior.influence * np.stack([difference.influence for difference in expected]),
        [
            prior.residual(float(level), float(disagreed), difference.n_true, usual=usual)
            for level, disagreed, difference, usual in zip(
                levels, u, expected, table["usual"], strict=True
            )
        ],
        carried,
    )


def _independent(a: ValueWithError, b: ValueWithError) -> ValueWithError:
    return ValueWithError(a.value - b.value, float(np.hypot(a.error, b.error)))
