"""Agreement with a reference detector whose boxes are labels as probable as they are."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from typing_extensions import Self

from autoeval.calibration import ScoreCalibration
from autoeval.detections import Detections, Evidence
from autoeval.metrics.average_precision import RankedDetections, influence_function
from autoeval.metrics.coco_matching import top_detections
from autoeval.metrics.weighted_matching import match_weighted
from autoeval.scores.base import Score, rising
from autoeval.scores.registry import register


@register
class ReferenceAP(Score):
    r"""Average precision of one category, the boxes of a reference detector being probable labels.

    Box j of the reference is a labelled object with the probability :math:`q_j` that it is a true
    positive at IoU .5, by a calibration of the reference on labelled images. At each of ten IoU
    thresholds a box of the detector, in order of score, takes the free reference box with the
    highest :math:`q_j` that it overlaps enough, and counts as :math:`q_j` true positives, without
    one as 0. There are :math:`\sum_j q_j` objects. The score is the average precision of these
    expectations, ``reference_ap50`` and ``reference_ap75`` at one threshold, ``reference_ap`` the
    mean over all; with certain probabilities it is COCO's AP with the reference's boxes as labels.
    It is 0 where the detector has no box, and NaN where the reference has none.

    Parameters
    ----------
    reference_calibration : ScoreCalibration, optional
        Without it there is no score.
    """

    name = "reference_ap"
    meaning = "average precision, boxes of the reference detector being labels as probable as right"
    features = rising("reference_ap", "reference_ap50", "reference_ap75")
    needs = frozenset({"reference"})
    given = ("reference_calibration",)
    ungiven = "no calibration of a reference detector was fitted on labelled images"
    source = "this project (docs/how-to/reference.md)"

    def __init__(self, reference_calibration: ScoreCalibration | None = None) -> None:
        self.reference_calibration = reference_calibration
        self._parts: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []

    def update(self, evidence: Evidence) -> None:
        reference = evidence.require("reference")
        self.update_images(evidence.clean, _zeros(evidence.clean), reference, _zeros(reference), 1)

    def update_images(
        self,
        clean: Detections,
        image: np.ndarray,
        reference: Detections,
        reference_image: np.ndarray,
        n_images: int,
        probabilities: np.ndarray | None = None,
    ) -> None:
        """Take in boxes of one category on many images at once.

        Parameters
        ----------
        clean, reference : Detections
            N boxes of the detector, M boxes of the reference.
        image, reference_image : ndarray of shape (N,) and (M,), int64
        n_images : int
        probabilities : ndarray of shape (M,), optional
            Of the reference's boxes, by another calibration than that of this score, which has not
            seen these labels.
        """
        if probabilities is None:
            assert self.reference_calibration is not None
            probabilities = self.reference_calibration.at_half(reference.scores)
        ref = top_detections(reference_image, np.zeros_like(reference_image), reference.scores)
        own = top_detections(image, np.zeros_like(image), clean.scores)
        q, at, true_at = probabilities[ref], image[own], reference_image[ref]
        hits = match_weighted(clean.boxes[own], at, reference.boxes[ref], true_at, q)
        n_true = np.bincount(true_at, q, minlength=n_images)
        self._parts.append((clean.scores[own], at, hits, n_true))
        self.__dict__.pop("_ranking", None)

    def merge(self, other: Self) -> None:
        self._parts.extend(other._parts)
        self.__dict__.pop("_ranking", None)

    def compute(self) -> dict[str, float]:
        """Return the score; NaN where the reference has no box."""
        if not self._parts or not self._ranking.n_true.any():
            return dict.fromkeys(self.features, math.nan)
        return dict(zip(self.features, _summary(self._ranking.average_precision()), strict=True))

    def resample(self, counts: np.ndarray) -> dict[str, np.ndarray]:
        """Return the score of images that count as often as drawn, (B, M), to first order."""
        total = counts.sum(axis=1).astype(np.float64)
        total = np.where(total > 0, total, np.nan)
        influence = np.zeros((3, counts.shape[1]))
        if self._parts and self._ranking.n_true.any():
            influence = _summary(influence_function(self._ranking))
        return {
            name: value + counts @ moved / total
            for (name, value), moved in zip(self.compute().items(), influence, strict=True)
        }

    @cached_property
    def _ranking(self) -> RankedDetections:
        starts = np.cumsum([0, *(len(part[3]) for part in self._parts)])
        image = np.concatenate([p[1] + at for p, at in zip(self._parts, starts, strict=False)])
        scores, n_true = (np.concatenate([part[k] for part in self._parts]) for k in (0, 3))
        hits = np.concatenate([part[2] for part in self._parts], axis=1)
        return RankedDetections.of(scores, image, hits, n_true)


def _summary(levels: np.ndarray) -> np.ndarray:
    """Return the mean over the ten thresholds, and what is at .5 and .75, (3, ...)."""
    return np.array([levels.mean(axis=0), levels[0], levels[5]])


def _zeros(boxes: Detections) -> np.ndarray:
    return np.zeros(len(boxes), np.int64)
