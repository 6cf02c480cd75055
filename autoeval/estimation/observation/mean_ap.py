"""COCO average precision at full precision, by faster-coco-eval."""

from __future__ import annotations

import math

import numpy as np
from faster_coco_eval import COCO, COCOeval_faster
from typing_extensions import Self

from autoeval.detections import Detections

METRICS = ("mAP", "mAP50", "mAP75")


class MeanAP:
    """Mean average precision over a set of images.

    Source: COCO's box evaluation (IoU .50 to .95 by .05, 101 recall points, 100 detections an
    image), unrounded.

    Parameters
    ----------
    categories : sequence of str
        Category names; labels index into it.

    Examples
    --------
    >>> boxes, scores, labels = np.array([[0., 0., 9., 9.]]), np.array([.9]), np.array([0])
    >>> metric = MeanAP(["car"])
    >>> metric.update(Detections(boxes, scores, labels), boxes, labels, np.array([False]))
    >>> {name: round(value, 6) for name, value in metric.compute().items()}
    {'mAP': 1.0, 'mAP50': 1.0, 'mAP75': 1.0}
    """

    def __init__(self, categories: tuple[str, ...] | list[str]) -> None:
        self.categories = tuple(categories)
        self._truth: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._found: list[Detections] = []

    def update(
        self, found: Detections, boxes: np.ndarray, labels: np.ndarray, iscrowd: np.ndarray
    ) -> None:
        """Take in one image.

        Parameters
        ----------
        found : Detections
        boxes : ndarray of shape (M, 4)
            True boxes as xyxy, pixels.
        labels : ndarray of shape (M,), int
        iscrowd : ndarray of shape (M,), bool
            Regions in which detections are neither right nor wrong.
        """
        self._found.append(found)
        self._truth.append((np.asarray(boxes, np.float64), np.asarray(labels), np.asarray(iscrowd)))

    def merge(self, other: Self) -> None:
        """Take in all that ``other`` has seen, as if its images came after those seen here.

        Boxes of equal score are ranked by the order of their images, as in COCO's evaluation.
        """
        self._found.extend(other._found)
        self._truth.extend(other._truth)

    @property
    def n_boxes(self) -> int:
        """Number of true boxes seen."""
        return sum(len(labels) for _, labels, _ in self._truth)

    @property
    def n_objects(self) -> int:
        """Number of true boxes seen, without those that mark a crowd."""
        return sum(int((~crowd.astype(bool)).sum()) for _, _, crowd in self._truth)

    def compute(self) -> dict[str, float]:
        """Return ``mAP``, ``mAP50`` and ``mAP75`` in [0, 1]; NaN where there is no true box.

        With several categories each of them also per category, as ``mAP/<category>``.
        """
        precision = self._precision()
        values = _summaries(precision)
        if len(self.categories) > 1:
            for k, category in enumerate(self.categories):
                of_category = _summaries(precision[:, :, k : k + 1])
                values |= {f"{name}/{category}": value for name, value in of_category.items()}
        return values

    def _precision(self) -> np.ndarray:
        """Precision of shape (10 IoU thresholds, 101 recalls, categories); -1 where undefined."""
        if not self.n_boxes:
            return np.full((10, 101, len(self.categories)), -1.0)
        truth = COCO(self._truth_dict())
        evaluation = COCOeval_faster(truth, truth.loadRes(self._found_rows()), "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        return evaluation.eval["precision"][:, :, :, 0, -1]

    def _truth_dict(self) -> dict:
        annotations: list[dict] = []
        for image, (boxes, labels, iscrowd) in enumerate(self._truth, start=1):
            sizes = boxes[:, 2:] - boxes[:, :2]
            for box, (w, h), label, crowd in zip(boxes, sizes, labels, iscrowd, strict=True):
                annotations.append(
                    {
                        "id": len(annotations) + 1,
                        "image_id": image,
                        "category_id": int(label),
                        "bbox": [float(box[0]), float(box[1]), float(w), float(h)],
                        "area": float(w * h),
                        "iscrowd": int(crowd),
                    }
                )
        return {
            "images": [{"id": k} for k in range(1, len(self._truth) + 1)],
            "annotations": annotations,
            "categories": [{"id": k, "name": name} for k, name in enumerate(self.categories)],
        }

    def _found_rows(self) -> np.ndarray:
        """Rows (image, x, y, w, h, score, category), the layout that `COCO.loadRes` takes."""
        rows = [
            np.column_stack(
                [
                    np.full(len(found), image),
                    found.boxes[:, :2],
                    found.boxes[:, 2:].astype(np.float64) - found.boxes[:, :2],
                    found.scores,
                    found.labels,
                ]
            )
            for image, found in enumerate(self._found, start=1)
        ]
        return np.concatenate(rows).astype(np.float64)


def _summaries(precision: np.ndarray) -> dict[str, float]:
    parts = (precision, precision[0], precision[5])
    return {name: _mean_defined(part) for name, part in zip(METRICS, parts, strict=True)}


def _mean_defined(precision: np.ndarray) -> float:
    defined = precision[precision > -1]
    return float(defined.mean()) if defined.size else math.nan
