"""What two detectors find together, and how little of it is the same.

The expected average precision of a detector alone rests on a guess of how many objects it has
missed. A second detector on the same images finds some of them. Here both are held to the same
expected objects of each image: one for each box, where two boxes with an IoU of .5 or more, each
the other's likeliest, are one; or the mean of what either expects by itself, if that is more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from autoeval.accuracy.average_precision import RankedDetections, influence_function
from autoeval.accuracy.coco_matching import AT_HALF, rank_categories
from autoeval.boxes import Boxes, overlapping_pairs
from autoeval.model.calibration import FOUND, LIKELY
from autoeval.sites.site import Site

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
        rows = found.rows_of(category)
        p = site.calibrated.probabilities(found.scores[rows], found.boxes[rows])
        kept = p[AT_HALF] > LEAST
        rows, p = rows[kept], p[:, kept]
        image = found.image[rows]
        at_half = p[AT_HALF]
        expected = np.bincount(image, at_half, minlength=len(site))
        n_true = expected + site.calibrated.n_missed(at_half, image, len(site))
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
