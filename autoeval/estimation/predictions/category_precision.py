"""COCO average precision of every category of a predictions file, and how images vary it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autoeval.data.predictions import Predictions
from autoeval.estimation.predictions.coco_matching import best_of_each_image, match_all
from autoeval.estimation.predictions.truth import Truth

RECALLS = np.linspace(0, 1, 101)
MEASURES = ("mAP", "mAP50", "mAP75")


@dataclass(frozen=True, eq=False)
class Ranked:
    """The boxes of one category over all images, best first, judged at ten overlaps.

    Parameters
    ----------
    matched, ignored : ndarray of shape (10, N), bool
    image : ndarray of shape (N,), int64
    true_image : ndarray of shape (M,), int64
        Image of each labelled box that is no crowd.
    """

    matched: np.ndarray
    ignored: np.ndarray
    image: np.ndarray
    true_image: np.ndarray

    def precision(self, times: np.ndarray | None = None) -> np.ndarray:
        """Average precision at each overlap, (10,); NaN without labelled boxes.

        Parameters
        ----------
        times : ndarray of shape (n_images,), optional
            How often each image counts; once by default.
        """
        weights = np.ones(len(self.image)) if times is None else times[self.image]
        n_true = len(self.true_image) if times is None else times[self.true_image].sum()
        if not n_true:
            return np.full(len(self.matched), np.nan)
        return np.array(
            [
                _area(hit, weights * ~skip, n_true)
                for hit, skip in zip(self.matched, self.ignored, strict=True)
            ]
        )


def rank_categories(found: Predictions, truth: Truth) -> list[Ranked]:
    """Judge all boxes and rank those of each category; see `Ranked`.

    Parameters
    ----------
    found : Predictions
    truth : Truth
        Of the same images and categories.
    """
    best = best_of_each_image(found)
    matched, ignored = match_all(best, truth)
    order = np.lexsort((-best.scores, best.label))
    ends = np.searchsorted(best.label[order], np.arange(len(truth.categories) + 1))
    true = ~truth.crowd
    return [
        Ranked(
            matched[:, rows],
            ignored[:, rows],
            best.image[rows],
            truth.image[true & (truth.label == k)],
        )
        for k, rows in enumerate(np.split(order, ends[1:-1]))
    ]


def summarise(precision: np.ndarray) -> dict[str, float]:
    """Name what average precisions at ten overlaps come to."""
    return dict(zip(MEASURES, (precision.mean(), precision[0], precision[5]), strict=True))


def _area(hit: np.ndarray, weights: np.ndarray, n_true: float) -> float:
    """Mean over 101 recalls of the highest precision at that recall or more."""
    hits = np.cumsum(hit * weights)
    total = np.cumsum(weights)
    precision = hits / np.where(total > 0, total, 1)
    highest = np.maximum.accumulate(precision[::-1])[::-1]
    place = np.searchsorted(hits / n_true, RECALLS, side="left")
    reached = place < len(highest)
    return float(highest[place[reached]].sum() / len(RECALLS))
