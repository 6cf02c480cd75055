"""How little two detectors find the same at a site, and on which images most."""

from __future__ import annotations

import math

import numpy as np

from autoeval.data.labels.truth import Truth
from autoeval.data.predictions import Predictions
from autoeval.estimation.site_boxes import SiteBoxes
from autoeval.metrics.coco_matching import rank_categories
from autoeval.scores.calibrated import LIKELY

FEWEST_LIKELY = 3  # boxes that stand for labels


def disagreement(a: SiteBoxes, b: SiteBoxes) -> np.ndarray:
    """Measure how little two detectors find the same, category by category.

    1 less the mean of two average precisions: of A's boxes, with B's likely boxes (true-positive
    probability over .3) as labels, and of B's with A's.

    Parameters
    ----------
    a, b : SiteBoxes
        Of the same images and categories, calibrated.

    Returns
    -------
    ndarray of shape (K,)
        In [0, 1]; 1 where neither finds three likely boxes.
    """
    both = np.array([agreement(a, b), agreement(b, a)])
    known = np.isfinite(both)
    mean = np.where(known, both, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return np.clip(1 - mean, 0, 1)


def agreement(a: SiteBoxes, b: SiteBoxes) -> np.ndarray:
    """Average precision of A's boxes with B's likely boxes as labels, (K,); NaN for too few."""
    ranked = rank_categories(a.clean, _as_labels(_likely(b)))
    return np.array(
        [
            of.average_precision().mean() if of.n_true.sum() >= FEWEST_LIKELY else math.nan
            for of in ranked
        ]
    )


def different_boxes(a: SiteBoxes, b: SiteBoxes) -> np.ndarray:
    """Count the likely boxes of each image that one detector has and the other has not.

    Two boxes of a category are the same from an IoU of .5 on.

    Parameters
    ----------
    a, b : SiteBoxes
        Of the same M images and categories, calibrated.

    Returns
    -------
    ndarray of shape (M,), int64
    """
    mine, other = _likely(a), _likely(b)
    counts = np.bincount(mine.image, minlength=len(a))
    for of in rank_categories(mine, _as_labels(other)):
        same = np.bincount(of.image, of.hits[0] > 0, minlength=len(a)).astype(np.int64)
        counts = counts + of.n_true - 2 * same
    return counts


def _likely(boxes: SiteBoxes) -> Predictions:
    return boxes.clean.where(boxes.right_at_half > LIKELY)


def _as_labels(found: Predictions) -> Truth:
    crowd = np.zeros(len(found), bool)
    return Truth(found.images, found.categories, found.image, found.label, found.boxes, crowd)
