"""Scores of one category of a predictions file, all images at once.

Each is the sum over images of one number divided by the sum of another, as `RatioScore` has it, so
that images drawn again cost a matrix product and no second reading. The values are those that the
score classes give when they are fed image by image.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autoeval.data.predictions import Predictions

COUNTED = 0.05  # boxes with a lower score count in no score
FEATURES = ("ac", "box_share@0.30", "confident_images@0.20")


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

        A score is 0 where its denominator is: nothing was found, or nothing that confident.
        """
        if times is None:
            above, below = self.above.sum(axis=0), self.below.sum(axis=0)
        else:
            above, below = times @ self.above, times @ self.below
        return np.divide(above, below, out=np.zeros(above.shape), where=below > 0)


def image_parts(found: Predictions, category: int) -> ImageParts:
    """Take apart the scores of a category by images; see `ImageParts`."""
    mine = found.label == category
    image, scores = found.image[mine], found.scores[mine]
    n_images = len(found.images)
    boxes, sure, confident = (
        np.bincount(image[scores > np.float32(t)], minlength=n_images) for t in (COUNTED, 0.2, 0.3)
    )
    counted = scores > np.float32(COUNTED)
    sums = np.bincount(image[counted], scores[counted].astype(np.float64), minlength=n_images)
    one = np.ones(n_images)
    above = (sums, confident / np.maximum(boxes, 1), sure > 0)
    below = (boxes, one, one)
    return ImageParts(*(np.stack(part, axis=1).astype(np.float64) for part in (above, below)))
