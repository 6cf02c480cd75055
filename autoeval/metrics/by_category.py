"""COCO matching and ranking of detections, category by category."""

from __future__ import annotations

from collections.abc import Sized
from itertools import pairwise
from typing import Protocol

import numpy as np

from autoeval.metrics.coco_matching import IOU_THRESHOLDS, match_detections, top_detections
from autoeval.metrics.ranked_detections import RankedDetections


class BoxColumns(Protocol):
    """N boxes of many images as columns, such as `Predictions` and `Truth`."""

    @property
    def images(self) -> Sized:
        """All images, also those without a box."""

    @property
    def categories(self) -> Sized:
        """All categories."""

    @property
    def image(self) -> np.ndarray:
        """Index into `images`, (N,)."""

    @property
    def label(self) -> np.ndarray:
        """Index into `categories`, (N,)."""

    @property
    def boxes(self) -> np.ndarray:
        """As xyxy, pixels, (N, 4)."""


class ScoredBoxes(BoxColumns, Protocol):
    """Detections."""

    @property
    def scores(self) -> np.ndarray:
        """Confidence, (N,)."""


class LabelledBoxes(BoxColumns, Protocol):
    """Labelled boxes."""

    @property
    def crowd(self) -> np.ndarray:
        """True for a region in which detections are ignored, (N,) bool."""


def match_categories(found: ScoredBoxes, truth: LabelledBoxes) -> tuple[np.ndarray, np.ndarray]:
    """Match the 100 best detections of each image and category to labelled boxes of the same.

    Parameters
    ----------
    found : ScoredBoxes
        N detections, in any order.
    truth : LabelledBoxes
        Of the same images and categories.

    Returns
    -------
    matched, ignored : ndarray of shape (10, N), bool
        See `match_detections`; detections beyond the 100 are ignored.
    """
    top = top_detections(found.image, found.label, found.scores)
    several = 1 + max(found.label.max(initial=0), truth.label.max(initial=0))
    group, labelled_group = (of.image * several + of.label for of in (found, truth))
    matched = np.zeros((len(IOU_THRESHOLDS), len(group)), bool)
    ignored = ~matched
    matched[:, top], ignored[:, top] = match_detections(
        found.boxes[top], group[top], truth.boxes, labelled_group, crowd=truth.crowd
    )
    return matched, ignored


def rank_categories(
    found: ScoredBoxes,
    truth: LabelledBoxes,
    matches: tuple[np.ndarray, np.ndarray] | None = None,
) -> list[RankedDetections]:
    """Match detections to labelled boxes and rank those of each category by their scores.

    Parameters
    ----------
    found : ScoredBoxes
    truth : LabelledBoxes
        Of the same images and categories.
    matches : tuple of ndarray, optional
        What `match_categories` returns for both, where that is known already.

    Returns
    -------
    list of RankedDetections
        One a category, with ten IoU thresholds. Equal scores are in the order of their images.
    """
    matched, ignored = matches or match_categories(found, truth)
    order = np.lexsort((found.image, -found.scores, found.label))
    ends = np.searchsorted(found.label[order], np.arange(len(truth.categories) + 1))
    ranked = []
    for k, (start, end) in enumerate(pairwise(ends)):
        rows, labelled = order[start:end], truth.image[(truth.label == k) & ~truth.crowd]
        n_true = np.bincount(labelled, minlength=len(truth.images))
        ranked.append(
            RankedDetections(
                found.image[rows],
                matched[:, rows],
                ~ignored[:, rows],
                n_true,
                found.scores[rows],
            )
        )
    return ranked
