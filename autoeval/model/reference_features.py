"""Agreement with a reference detector whose boxes are labels as probable as they are."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from autoeval.accuracy.average_precision import RankedDetections, influence_function
from autoeval.accuracy.coco_matching import top_detections
from autoeval.accuracy.operating_point import CountCurve, denominators, image_counts, value_of
from autoeval.accuracy.weighted_matching import match_weighted
from autoeval.detections import Detections
from autoeval.targets import OperatingPoint

REFERENCE_AP = "reference_ap"
BY_REFERENCE = "reference_"  # before the name of a target at a threshold
REFERENCE_FEATURES = (REFERENCE_AP, "reference_ap50", "reference_ap75")
"""For mAP, mAP50 and mAP75."""


class ReferenceFeatures:
    r"""Average precision of one category, the boxes of a reference detector being probable labels.

    Box j of the reference is a labelled object with the probability :math:`q_j` that it is a true
    positive at IoU .5, by a calibration of the reference on labelled images. At each of ten IoU
    thresholds a box of the detector, in order of score, takes the free reference box with the
    highest :math:`q_j` that it overlaps enough, and counts as :math:`q_j` true positives, without
    one as 0. There are :math:`\sum_j q_j` objects. The feature is the average precision of these
    expectations, ``reference_ap50`` and ``reference_ap75`` at one threshold, ``reference_ap`` the
    mean over all; with certain probabilities it is COCO's AP with the reference's boxes as labels.
    It is 0 where the detector has no box, and NaN where the reference has none. Source: this
    project (docs/how-to/reference.md).

    Parameters
    ----------
    clean, reference : Detections
        N boxes of the detector, M boxes of the reference, of one category.
    image, reference_image : ndarray of shape (N,) and (M,), int64
    n_images : int
    probabilities : ndarray of shape (M,)
        That each box of the reference is a true positive at IoU .5.
    at_thresholds : sequence of str, optional
        Targets such as ``precision@0.3``, by the boxes of the reference; each is a feature of its
        own, ``reference_precision@0.3``.
    """

    def __init__(
        self,
        clean: Detections,
        image: np.ndarray,
        reference: Detections,
        reference_image: np.ndarray,
        n_images: int,
        probabilities: np.ndarray,
        *,
        at_thresholds: Sequence[str] = (),
    ) -> None:
        named = {f"{BY_REFERENCE}{name}": OperatingPoint.of(name) for name in at_thresholds}
        self.points = {name: point for name, point in named.items() if point}
        # As COCO evaluates: the best hundred boxes of each image, on both sides.
        ref = top_detections(reference_image, np.zeros_like(reference_image), reference.scores)
        best = top_detections(image, np.zeros_like(image), clean.scores)
        q, at, true_at = probabilities[ref], image[best], reference_image[ref]
        hits = match_weighted(clean.boxes[best], at, reference.boxes[ref], true_at, q)
        n_true = np.bincount(true_at, q, minlength=n_images)
        self._ranking = RankedDetections.of(clean.scores[best], at, hits, n_true)

    @property
    def known(self) -> bool:
        """Whether the reference has a box."""
        return bool(self._ranking.n_true.any())

    def compute(self) -> dict[str, float]:
        """Return the features; NaN where the reference has no box."""
        if not self.known:
            return dict.fromkeys((*REFERENCE_FEATURES, *self.points), math.nan)
        levels = self._ranking.average_precision()
        of_ap = dict(zip(REFERENCE_FEATURES, _summary(levels).tolist(), strict=True))
        return of_ap | {
            name: value_of(point.measure, self._counts(point))
            for name, point in self.points.items()
        }

    @property
    def curve(self) -> CountCurve | None:
        """Counts by the boxes of the reference at every threshold; None where it has no box."""
        return CountCurve.of(self._ranking) if self.known else None

    def _counts(self, point: OperatingPoint) -> np.ndarray:
        return image_counts(self._ranking, point.score_thr, point.level)

    def resample(self, counts: np.ndarray) -> dict[str, np.ndarray]:
        """Return the features of images that count as often as drawn, (B, M), to first order."""
        total = counts.sum(axis=1).astype(np.float64)
        total = np.where(total > 0, total, np.nan)
        influence = np.zeros((3, counts.shape[1]))
        if self.known:
            influence = _summary(influence_function(self._ranking))
        values = self.compute()
        of_ap = {
            name: values[name] + counts @ moved / total
            for name, moved in zip(REFERENCE_FEATURES, influence, strict=True)
        }
        return of_ap | {name: self._resampled(point, counts) for name, point in self.points.items()}

    def _resampled(self, point: OperatingPoint, drawn: np.ndarray) -> np.ndarray:
        nothing = np.full(len(drawn), np.nan)
        if not self.known:
            return nothing
        counts = self._counts(point)
        below = drawn @ denominators(point.measure, counts)
        return np.divide(drawn @ counts[0], below, out=nothing, where=below > 0)


def _summary(levels: np.ndarray) -> np.ndarray:
    """Return the mean over the ten thresholds, and what is at .5 and .75, (3, ...)."""
    return np.array([levels.mean(axis=0), levels[0], levels[5]])
