"""Several categories of a detector as one: "vehicle" for car, bus and truck."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autoeval.boxes import box_iou
from autoeval.counting.counters.mmdet import ObservingDetector
from autoeval.detections import Detections, Evidence
from autoeval.errors import InputError


class MergedCategories:
    """A detector some of whose categories carry one name.

    A detector that suppresses duplicates within a category may box one object as a car and as a
    truck. Among merged categories, of boxes that overlap by more than `iou_thr` only the one with
    the highest score stays.

    Parameters
    ----------
    detector : ObservingDetector
        Whose boxes to relabel.
    mapping : mapping of str to str
        New name for each category that is merged; the others keep theirs.
    iou_thr : float
        Overlap (intersection over union) beyond which two boxes are one object.

    Attributes
    ----------
    categories : tuple of str
    settings : dict
        Those of the detector, with ``merged`` and ``merged_iou_thr``.

    Raises
    ------
    InputError
        If the mapping names a category that the detector lacks.
    """

    def __init__(
        self, detector: ObservingDetector, mapping: Mapping[str, str], *, iou_thr: float = 0.65
    ) -> None:
        unknown = [name for name in mapping if name not in detector.categories]
        if unknown:
            raise InputError(
                f"The categories to merge must be the detector's, but it has no "
                f"{', '.join(unknown)}. It knows: {', '.join(detector.categories)}."
            )
        self.detector = detector
        self.iou_thr = iou_thr
        names = [mapping.get(name, name) for name in detector.categories]
        self.categories = tuple(dict.fromkeys(names))
        self._lookup = np.array([self.categories.index(name) for name in names])
        self._merged = np.bincount(self._lookup) > 1
        self.settings: dict[str, Any] = {
            **detector.settings,
            "merged": dict(mapping),
            "merged_iou_thr": iou_thr,
        }

    @property
    def fingerprint(self) -> str | None:
        """That of the detector, where it has one."""
        return getattr(self.detector, "fingerprint", None)

    def observe(self, images: Sequence[np.ndarray], image_ids: Sequence[str]) -> list[Evidence]:
        """Detect objects in images (H, W, 3) uint8 BGR."""
        found = self.detector.observe(images, image_ids)
        return [
            Evidence(e.image_id, e.image_size, self._merge(e.clean.relabel(self._lookup)))
            for e in found
        ]

    def _merge(self, boxes: Detections) -> Detections:
        kept = np.ones(len(boxes), bool)
        for label in np.flatnonzero(self._merged):
            own = np.flatnonzero(boxes.labels == label)
            kept[own] = _highest_of_overlapping(boxes[own], self.iou_thr)
        return boxes[kept]


def _highest_of_overlapping(boxes: Detections, iou_thr: float) -> np.ndarray:
    """Mask of the boxes that no kept box of a higher score overlaps, shape (N,), bool."""
    iou = box_iou(boxes.boxes, boxes.boxes)
    kept = np.zeros(len(boxes), bool)
    for i in np.argsort(-boxes.scores, kind="stable"):
        kept[i] = not (iou[i, kept] > iou_thr).any()
    return kept
