"""Scores of one category of a predictions file, all images at once.

Each is the sum over images of one number divided by the sum of another, as `RatioScore` has it, so
that images drawn again cost a matrix product and no second reading. The values are those that the
score classes give when they are fed image by image.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autoeval.data.predictions import Predictions
from autoeval.estimation.pairs.pair_table import NOTHING_FOUND, OF_BOXES

COUNTED = 0.05  # boxes with a lower score count in no score
SURE = 0.3
FEATURES = (*OF_BOXES, "ac")
_LEAST = np.array([NOTHING_FOUND.get(name, 0.0) for name in FEATURES])


@dataclass(frozen=True, eq=False)
class ImageParts:
    """What each of M images adds to F scores.

    Parameters
    ----------
    above, below : ndarray of shape (M, F), float64
        Numerators and denominators, F in the order of `FEATURES`.
    """

    above: np.ndarray
    below: np.ndarray

    def on(self, images: np.ndarray) -> ImageParts:
        """Keep the images of a mask or an index."""
        return ImageParts(self.above[images], self.below[images])

    def values(self, times: np.ndarray | None = None) -> np.ndarray:
        """Return the scores, (F,); of B sets in which images count so often (B, M), (B, F).

        Where a denominator is 0, nothing was found or nothing that confident; see `NOTHING_FOUND`.
        """
        if times is None:
            above, below = self.above.sum(axis=0), self.below.sum(axis=0)
        else:
            above, below = times @ self.above, times @ self.below
        return np.divide(
            above, below, out=np.broadcast_to(_LEAST, above.shape).copy(), where=below > 0
        )


def image_parts(found: Predictions, category: int, images: np.ndarray | None = None) -> ImageParts:
    """Take apart the scores of a category by images; see `ImageParts`.

    Parameters
    ----------
    found : Predictions
    category : int
    images : ndarray of shape (m,), int, optional
        Those that count, without repetition; by default all.
    """
    rows = counted_rows(found, category)
    image, scores = found.image[rows], found.scores[rows]
    n_images = len(found.images) if images is None else len(images)
    if images is not None:
        place = np.full(len(found.images), -1)
        place[images] = np.arange(len(images))
        image = place[image]
        image, scores = image[image >= 0], scores[image >= 0]
    boxes, likely, sure = (
        np.bincount(image[scores > np.float32(t)], minlength=n_images) for t in (COUNTED, 0.2, SURE)
    )
    of_sure, of_all = (_sums(image, scores, t, n_images) for t in (SURE, COUNTED))
    one = np.ones(n_images)
    above = (of_sure, sure / np.maximum(boxes, 1), likely > 0, of_all)
    below = (sure, one, one, boxes)
    return ImageParts(*(np.stack(part, axis=1).astype(np.float64) for part in (above, below)))


def counted_rows(found: Predictions, category: int) -> np.ndarray:
    """Return the rows of the boxes of a category that count in scores."""
    rows = found.rows_of(category)
    return rows[found.scores[rows] > np.float32(COUNTED)]


def _sums(image: np.ndarray, scores: np.ndarray, over: float, n_images: int) -> np.ndarray:
    counted = scores > np.float32(over)
    return np.bincount(image[counted], scores[counted].astype(np.float64), minlength=n_images)
