"""The boxes of one category over many images, in the order of their confidence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from typing_extensions import Self

RECALLS = np.linspace(0, 1, 101)  # COCO's


@dataclass(frozen=True, eq=False)
class Ranking:
    """Boxes of one category over N images, best first.

    Parameters
    ----------
    image : ndarray of shape (B,), int
        Which image each box is of.
    right : ndarray of shape (L, B)
        Whether, or how probably, each box is right at each IoU threshold.
    counted : ndarray of shape (L, B)
        0 for a box that is neither right nor wrong, as it lies in a crowd.
    n_true : ndarray of shape (N,)
        True boxes of each image, or how many are expected.
    """

    image: np.ndarray
    right: np.ndarray
    counted: np.ndarray
    n_true: np.ndarray

    @classmethod
    def of(
        cls,
        scores: np.ndarray,
        image: np.ndarray,
        right: np.ndarray,
        n_true: np.ndarray,
        counted: np.ndarray | None = None,
    ) -> Self:
        """Rank boxes by their scores (B,); equal scores keep their order."""
        order = np.argsort(-scores, kind="stable")
        counted = np.ones(right.shape, bool) if counted is None else counted
        return cls(image[order], right[:, order], counted[:, order], np.asarray(n_true, np.float64))

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.n_true)

    def take(self, images: np.ndarray) -> Self:
        """Keep some of the images, (k,) int without repetition, in the order given."""
        place = np.full(len(self), -1)
        place[images] = np.arange(len(images))
        kept = place[self.image] >= 0
        return type(self)(
            place[self.image[kept]],
            self.right[:, kept],
            self.counted[:, kept],
            self.n_true[images],
        )

    def precision(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Average precision as COCO's evaluation gives it: interpolated, at 101 levels of recall.

        Parameters
        ----------
        weights : ndarray of shape (N,), optional
            Of the images, or how often each counts; 1 by default.

        Returns
        -------
        ndarray of shape (L,)
            In [0, 1]; NaN without true boxes.
        """
        weights = np.ones(len(self)) if weights is None else weights
        total = float(weights @ self.n_true)
        if not total > 0:
            return np.full(len(self.right), np.nan)
        of_box = weights[self.image]
        levels = zip(self.right, self.counted, strict=True)
        return np.array([_area(of_box * hit, of_box * counts, total) for hit, counts in levels])


def _area(hits: np.ndarray, counts: np.ndarray, total: float) -> float:
    """Mean over 101 recalls of the highest precision at that recall or more."""
    above, seen = hits.cumsum(), counts.cumsum()
    precision = above / np.where(seen > 0, seen, 1)
    highest = np.maximum.accumulate(precision[::-1])[::-1]
    place = np.searchsorted(above / total, RECALLS, side="left")
    return float(highest[place[place < len(highest)]].sum() / len(RECALLS))
