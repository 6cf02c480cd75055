"""Every category of one labelled set as a source: what its images say of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from typing_extensions import Self

from autoeval.detections import Evidence
from autoeval.metrics.mean_ap import MeanAP
from autoeval.scores.box_stability_settings import BoxStabilitySettings
from autoeval.scores.score_set import ScoreSet

MIN_IMAGES, MIN_BOXES = 5, 8


class CategoryTally:
    """Adds up scores and accuracy of each category, over the images that hold it.

    An ordinary labelled set holds most categories in few of its images. The rest would tell how
    often a detector sees what is not there, but nothing of a place where the objects are; so a
    category is measured where it occurs, as a place is that was chosen for what occurs there.

    Parameters
    ----------
    categories : sequence of str
        Which the labels of images and boxes index.
    scores : collection of str
        Names of the scores to make.
    stability : BoxStabilitySettings
        How boxes are compared; its ``score_thr`` holds for every score.
    """

    def __init__(
        self,
        categories: Sequence[str],
        scores: Collection[str],
        stability: BoxStabilitySettings | None = None,
    ) -> None:
        self.categories = tuple(categories)
        stability = stability or BoxStabilitySettings()
        self._scores = [ScoreSet(stability, repeats=0, names=scores) for _ in categories]
        self._accuracy = [MeanAP([name]) for name in categories]
        self._n_images = np.zeros(len(categories), int)

    def update(
        self, evidence: Evidence, boxes: np.ndarray, labels: np.ndarray, iscrowd: np.ndarray
    ) -> None:
        """Take in one image.

        Parameters
        ----------
        evidence : Evidence
            Labelled by `categories`.
        boxes : ndarray of shape (M, 4)
            True boxes as xyxy, pixels.
        labels : ndarray of shape (M,), int
        iscrowd : ndarray of shape (M,), bool
            Regions in which boxes are neither right nor wrong; an image that holds nothing else
            of a category does not count as holding it.
        """
        self.update_on(np.unique(labels[~iscrowd]), evidence, boxes, labels, iscrowd)

    def update_on(
        self,
        categories: np.ndarray,
        evidence: Evidence,
        boxes: np.ndarray,
        labels: np.ndarray,
        iscrowd: np.ndarray,
    ) -> None:
        """Take in one image for given categories (K,), whatever it is labelled with."""
        for k in categories:
            only = np.full(len(self.categories), -1)
            only[k] = 0
            own, found = labels == k, evidence.relabel(only)
            self._scores[k].update(found)
            self._accuracy[k].update(found.clean, boxes[own], labels[own] * 0, iscrowd[own])
            self._n_images[k] += 1

    def merge(self, other: Self) -> None:
        """Take in what ``other`` has seen of the images that come after those seen here."""
        for k in range(len(self.categories)):
            self._scores[k].merge(other._scores[k])
            self._accuracy[k].merge(other._accuracy[k])
        self._n_images += other._n_images

    def rows(
        self, *, min_images: int = MIN_IMAGES, min_boxes: int = MIN_BOXES
    ) -> tuple[list[dict[str, Any]], list[str]]:
        """Return one row for each category that occurs often enough, and the names of the others.

        Returns
        -------
        rows : list of dict
            ``category``, ``n_images``, ``n_boxes`` (crowds not counted), the features, and
            ``mAP``, ``mAP50``, ``mAP75``.
        rare : list of str
            Categories that occur, but in fewer images or boxes.
        """
        rows, rare = [], []
        for k, category in enumerate(self.categories):
            n_images, n_boxes = int(self._n_images[k]), self._accuracy[k].n_objects
            if n_images >= min_images and n_boxes >= min_boxes:
                counts = {"category": category, "n_images": n_images, "n_boxes": n_boxes}
                (features,) = self._scores[k].rows()
                rows.append(counts | features | self._accuracy[k].compute())
            elif n_images:
                rare.append(category)
        return rows, rare
