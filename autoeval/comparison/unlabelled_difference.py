"""What is known of the difference of two detectors at a site without labels.

Beside their two estimates it is what both find together, and how little of it is the same.

The expected average precision of a detector alone rests on a guess of how many objects it has
missed. A second detector on the same images finds some of them. Here both are held to the same
expected objects of each image: one for each box, where two boxes with an IoU of .5 or more, each
the other's likeliest, are one; or the mean of what either expects by itself, if that is more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from autoeval.accuracy.coco_evaluation import AT_HALF, rank_categories
from autoeval.accuracy.measures import RankedDetections, influence_function
from autoeval.boxes import Boxes, overlapping_pairs
from autoeval.comparison.pair_model import (
    USUAL,
    PairPrior,
    log_odds_on_labels,
    on_labels,
    seen_of,
)
from autoeval.errors import InputError
from autoeval.estimation.category_scores import site_scores
from autoeval.estimation.checks import nothing_over_text
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.labels.values import ValueWithError, VariancePrior, quantile
from autoeval.model import Away
from autoeval.model.calibration import FOUND, LIKELY
from autoeval.model.pair_table import PRECISION, nothing_over, table_of
from autoeval.sites.site import Site
from autoeval.targets import OperatingPoint

FEWEST_LIKELY = 3  # boxes that stand for labels
LEAST = 0.02  # true-positive probability at IoU .5 of a box that counts


@dataclass(frozen=True, eq=False)
class Found:
    """The n boxes of one category that one detector has found on N images."""

    image: np.ndarray  # (n,), int
    boxes: np.ndarray  # (n, 4), float64, xyxy, pixels
    scores: np.ndarray  # (n,)
    p: np.ndarray  # true-positive probabilities, (10, n)
    n_true: np.ndarray  # expected objects of each image, by this detector alone, (N,)

    @classmethod
    def of(cls, site: Site, category: int) -> Found:
        """Take the boxes of one category of a calibrated site."""
        found = site.boxes
        rows = found.rows_of[category]
        p = site.calibration.probabilities(found.scores[rows], found.boxes[rows])
        kept = p[AT_HALF] > LEAST
        rows, p = rows[kept], p[:, kept]
        image = found.image[rows]
        at_half = p[AT_HALF]
        expected = np.bincount(image, at_half, minlength=len(site))
        n_true = expected + site.calibration.n_missed(at_half, image, len(site))
        return cls(image, found.boxes[rows].astype(np.float64), found.scores[rows], p, n_true)


@dataclass(frozen=True, eq=False)
class ExpectedDifference:
    """Expected average precision of the first of two detectors less that of the second."""

    value: float  # mean over ten IoU thresholds, images where one finds the category; 0 without any
    n_true: float  # expected objects of an image
    influence: np.ndarray  # predicted, of each image on the difference, (N,)


def common_objects(a: Found, b: Found) -> np.ndarray:
    """Return the expected objects of each image by the boxes of both, (N,)."""
    rows, columns, _ = overlapping_pairs(a.boxes, a.image, b.boxes, b.image, least=0.5)
    p_a, p_b = a.p[AT_HALF], b.p[AT_HALF]
    both = p_a[rows] * p_b[columns]
    # One object where each box is the other's best: of three boxes on one object one would
    # otherwise be counted in two pairs.
    pairs = np.arange(len(rows))
    best_a, best_b = _best(rows, both, len(a.image)), _best(columns, both, len(b.image))
    one = (best_a[rows] == pairs) & (best_b[columns] == pairs)
    # An object that both find is as probable as the surer of them says: their errors are alike, so
    # that the probabilities of independent witnesses would be too high.
    exists, alone = p_a.copy(), np.ones(len(b.image), bool)
    exists[rows[one]] = np.maximum(exists[rows[one]], p_b[columns[one]])
    alone[columns[one]] = False
    n = len(a.n_true)
    union = np.bincount(a.image, exists, minlength=n).astype(np.float64)  # int without a box
    union += np.bincount(b.image[alone], p_b[alone], minlength=n)
    return np.maximum(union, (a.n_true + b.n_true) / 2)


def expected_difference(a: Found, b: Found) -> ExpectedDifference:
    """Compare the expected average precisions of two detectors on the same images."""
    n_true = common_objects(a, b)
    ranked = [
        RankedDetections.of(detector.scores, detector.image, detector.p, n_true)
        for detector in (a, b)
    ]
    images = np.unique(
        np.concatenate([detector.image[detector.p[AT_HALF] > FOUND] for detector in (a, b)])
    )
    if not len(images):
        return ExpectedDifference(0.0, 0.0, np.zeros(len(n_true)))
    value_a, value_b = (ranking.take(images).average_precision().mean() for ranking in ranked)
    first, second = (np.nan_to_num(influence_function(ranking)).mean(axis=0) for ranking in ranked)
    return ExpectedDifference(float(value_a - value_b), float(n_true.mean()), first - second)


def _best(index: np.ndarray, probability: np.ndarray, n: int) -> np.ndarray:
    """Return the place of the most probable pair of each of n boxes, -1 for none."""
    order = np.argsort(probability, kind="stable")
    best = np.full(n, -1)
    best[index[order]] = order
    return best


def disagreement(a: Site, b: Site) -> np.ndarray:
    """Measure how little two detectors find the same, category by category, (K,) in [0, 1].

    1 less the mean of two average precisions: of A's boxes, with B's likely boxes (true-positive
    probability over .3) as labels, and of B's with A's; 1 where neither finds three likely boxes.
    Both are of the same images and categories, calibrated.
    """
    both = np.array([agreement(a, b), agreement(b, a)])
    defined = np.isfinite(both)
    mean = np.where(defined, both, 0).sum(axis=0) / np.maximum(defined.sum(axis=0), 1)
    return np.clip(1 - mean, 0, 1)


def agreement(a: Site, b: Site) -> np.ndarray:
    """Average precision of A's boxes with B's likely boxes as labels, (K,); NaN for too few."""
    ranked = rank_categories(a.boxes, _as_labels(_likely(b)))
    return np.array(
        [
            ranking.average_precision().mean()
            if ranking.n_true.sum() >= FEWEST_LIKELY
            else math.nan
            for ranking in ranked
        ]
    )


def different_boxes(a: Site, b: Site) -> np.ndarray:
    """Count the likely boxes of each image that one detector has and the other has not, (M,).

    Two boxes of a category are the same from an IoU of .5 on.
    """
    mine, other = _likely(a), _likely(b)
    counts = np.bincount(mine.image, minlength=len(a))
    for ranking in rank_categories(mine, _as_labels(other)):
        found_by_both = ranking.image[ranking.hits[AT_HALF] > 0]
        # each such box was counted twice, as one of either detector
        counts = counts + ranking.n_true - 2 * np.bincount(found_by_both, minlength=len(a))
    return counts


def _likely(site: Site) -> Boxes:
    return site.boxes.where(site.right_at_half > LIKELY)


def _as_labels(boxes: Boxes) -> Boxes:
    crowd = np.zeros(len(boxes), bool)
    return Boxes(boxes.images, boxes.categories, boxes.image, boxes.label, boxes.boxes, crowd=crowd)


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
        if fitted.target.startswith(PRECISION) and nothing_over(rows, fitted.target).all():
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
            home = float(np.mean(regression.pairs_[fitted.target]))
        if regression.away_ is not None:
            home = regression.home_
            # The prior of pairs was fitted on estimates that are not corrected.
            plain = regression.uncorrected(rows).mean
        confidence = regression.confidence_above_home(rows)
        plain = np.clip(plain, 0, 1)
        of_fit, away = pd.DataFrame(regression.pairs_), regression.away_
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
    levels, each = seen_of(table).level, prior.predict(table)
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
