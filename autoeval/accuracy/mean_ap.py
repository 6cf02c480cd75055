"""COCO's mean average precision, image by image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from autoeval.accuracy.coco_matching import IOU_THRESHOLDS, rank_categories
from autoeval.detections import Detections
from autoeval.targets import AP_TARGETS


class MeanAP:
    """Mean average precision over a set of images; labels index into `categories`.

    Source: COCO's box evaluation (IoU .50 to .95 by .05, 101 recall points, 100 detections an image
    and category), unrounded.

    Examples
    --------
    >>> boxes, scores, labels = np.array([[0., 0., 9., 9.]]), np.array([.9]), np.array([0])
    >>> metric = MeanAP(["car"])
    >>> metric.update(Detections(boxes, scores, labels), boxes, labels, np.array([False]))
    >>> {name: round(value, 6) for name, value in metric.compute().items()}
    {'mAP': 1.0, 'mAP50': 1.0, 'mAP75': 1.0}
    """

    def __init__(self, categories: Sequence[str]) -> None:
        self.categories = tuple(categories)
        self._truth: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._found: list[Detections] = []

    def update(
        self, detections: Detections, boxes: np.ndarray, labels: np.ndarray, iscrowd: np.ndarray
    ) -> None:
        """Take in one image: detections, and labelled boxes (M, 4), xyxy, pixels.

        `iscrowd` (M,) marks regions in which detections are ignored.
        """
        self._found.append(detections)
        labels, iscrowd = np.asarray(labels, np.int64), np.asarray(iscrowd, bool)
        self._truth.append((labels, np.asarray(boxes, np.float64), iscrowd))

    @property
    def n_boxes(self) -> int:
        """Number of labelled boxes seen."""
        return sum(len(labels) for labels, _, _ in self._truth)

    def compute(self) -> dict[str, float]:
        """Return ``mAP``, ``mAP50`` and ``mAP75`` in [0, 1]; NaN without labelled boxes.

        With several categories each of them also per category, as ``mAP/<category>``.
        """
        every = self._average_precisions()
        labelled = every[~np.isnan(every[:, 0])]
        mean = labelled.mean(axis=0) if len(labelled) else np.full(len(IOU_THRESHOLDS), np.nan)
        values = coco_summary(mean)
        if len(self.categories) > 1:
            for category, levels in zip(self.categories, every, strict=True):
                summary = coco_summary(levels)
                values |= {f"{name}/{category}": value for name, value in summary.items()}
        return values

    def _average_precisions(self) -> np.ndarray:
        """Average precision of each category at each IoU threshold, (K, 10)."""
        if not self._found:
            return np.full((len(self.categories), len(IOU_THRESHOLDS)), np.nan)
        images = tuple(_Image(str(k)) for k in range(len(self._found)))
        shared = images, self.categories
        detections = _joined(
            [
                (image_boxes.labels, image_boxes.boxes, image_boxes.scores)
                for image_boxes in self._found
            ]
        )
        ranked = rank_categories(
            _Found(*shared, *detections), _Labelled(*shared, *_joined(self._truth))
        )
        return np.array([of_category.average_precision() for of_category in ranked])


def ap_summary(levels: np.ndarray) -> np.ndarray:
    """Return the mean over `IOU_THRESHOLDS`, and what is at .5 and .75, (3, ...) of (10, ...)."""
    return np.array([levels.mean(axis=0), levels[0], levels[5]])


def coco_summary(levels: np.ndarray) -> dict[str, float]:
    """Name the average precisions that COCO reports, given those at `IOU_THRESHOLDS`, (10,)."""
    return dict(zip(AP_TARGETS, ap_summary(levels).tolist(), strict=True))


class _Image(NamedTuple):
    image_id: str


class _Found(NamedTuple):
    images: tuple[_Image, ...]
    categories: tuple[str, ...]
    image: np.ndarray
    label: np.ndarray
    boxes: np.ndarray
    scores: np.ndarray


class _Labelled(NamedTuple):
    images: tuple[_Image, ...]
    categories: tuple[str, ...]
    image: np.ndarray
    label: np.ndarray
    boxes: np.ndarray
    crowd: np.ndarray


def _joined(parts: Sequence[tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
    """Join the columns of many images, after the index of the image."""
    image = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
    return image, *(np.concatenate(column) for column in zip(*parts, strict=True))
