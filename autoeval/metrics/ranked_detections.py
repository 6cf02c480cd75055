"""The detections of one category over many images, by descending score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from typing_extensions import Self

from autoeval.metrics.average_precision import Interpolation, average_precision


@dataclass(frozen=True, eq=False)
class RankedDetections:
    """B detections of one category on N images, by descending score.

    Parameters
    ----------
    image : ndarray of shape (B,), int
        Image of each detection.
    hits : ndarray of shape (L, B)
        Whether each is a true positive at each of L IoU thresholds, or the probability of it.
    counted : ndarray of shape (L, B)
        0 for a detection that is ignored, as it lies in a crowd.
    n_true : ndarray of shape (N,)
        Number of labelled boxes of each image, or its expectation.
    scores : ndarray of shape (B,), optional
        Confidences, where measures at a threshold are wanted.
    """

    image: np.ndarray
    hits: np.ndarray
    counted: np.ndarray
    n_true: np.ndarray
    scores: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        scores: np.ndarray,
        image: np.ndarray,
        hits: np.ndarray,
        n_true: np.ndarray,
        counted: np.ndarray | None = None,
    ) -> Self:
        """Rank detections by their scores (B,); equal scores keep their order."""
        order = np.argsort(-scores, kind="stable")
        counted = np.ones(hits.shape, bool) if counted is None else counted
        n_true = np.asarray(n_true, np.float64)
        return cls(image[order], hits[:, order], counted[:, order], n_true, scores[order])

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
            self.hits[:, kept],
            self.counted[:, kept],
            self.n_true[images],
            None if self.scores is None else self.scores[kept],
        )

    def weighted(self, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, float]:
        """Weight images (N,), by default equally: hits (L, B), counted (L, B), labelled boxes."""
        if weights is None:
            return self.hits, self.counted, float(self.n_true.sum())
        of_detection = weights[self.image]
        total = float(weights @ self.n_true)
        return of_detection * self.hits, of_detection * self.counted, total

    def average_precision(
        self,
        weights: np.ndarray | None = None,
        *,
        interpolation: Interpolation | None = "101-point",
    ) -> np.ndarray:
        """Average precision at each IoU threshold.

        Parameters
        ----------
        weights : ndarray of shape (N,), optional
            Of the images, or how often each counts; 1 by default.
        interpolation : {"101-point", "all-point"} or None
            See `autoeval.metrics.average_precision.average_precision`.

        Returns
        -------
        ndarray of shape (L,)
            In [0, 1]; NaN without labelled boxes.
        """
        return average_precision(*self.weighted(weights), interpolation=interpolation)
