"""The boxes of one category over many images, in the order of their confidence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from typing_extensions import Self


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
        counted = np.ones(right.shape) if counted is None else counted
        hits, counts = (part[:, order].astype(np.float64) for part in (right, counted))
        return cls(image[order], hits, counts, np.asarray(n_true, np.float64))

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
