"""Features of boxes: what their true-positive probabilities predict, and a reference detector says.

Of the boxes of one category at one site: numbers in, numbers out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from autoeval.accuracy.coco_evaluation import AT_HALF, ap_summary, match_weighted, top_detections
from autoeval.accuracy.measures import (
    CountCurve,
    RankedDetections,
    denominators,
    image_counts,
    influence_function,
    value_of,
)
from autoeval.detections import Detections
from autoeval.model.calibration import FOUND, LIKELY, ScoreCalibration
from autoeval.targets import OperatingPoint

FEATURES = ("expected_ap", "likely_share", "box_size")
EXPECTED = "expected_"  # before the name of a target at a threshold: its feature
WEIGHT = "weight_"  # before it: its denominator, by which categories are weighted
MOST_IMAGES = 20_000  # evenly taken from the first to the last
SMALLEST = 1e-6  # box, as a share of the image
REFERENCE_AP = "reference_ap"
BY_REFERENCE = "reference_"  # before the name of a target at a threshold
REFERENCE_FEATURES = (REFERENCE_AP, "reference_ap50", "reference_ap75")
"""For mAP, mAP50 and mAP75."""


class CalibratedFeatures:
    r"""Three features of one category, on the images where it is found.

    Probabilities are those of a `ScoreCalibration`; an image in which a box has one over .05
    counts, all others do not, so that no feature depends on how often the category occurs.

    - ``expected_ap``: the average precision of the boxes, mean over ten IoU thresholds, with
      probabilities in place of labels and the expected false negatives.
    - ``likely_share``: share of an image's boxes over .05 that are over .3, mean over images.
    - ``box_size``: mean logarithm of the side of the boxes over .05, :math:`\sqrt{wh}` relative to
      that of the image, weighted by probability; of the boxes on images of known size, and NaN
      without any.

    Those of targets at a threshold, such as ``expected_recall@0.3``, are the same ratios of
    expected counts. Source: this project (docs/explanation/calibration.md), after Kull et al. 2017.

    Parameters
    ----------
    calibration : ScoreCalibration
    scores, sides : ndarray of shape (N,)
        Confidences, and logarithms of sides; see `relative_sides`. NaN for an unknown side.
    image : ndarray of shape (N,), int64
    n_images : int
    probabilities : ndarray of shape (10, N), optional
        By another calibration, which has not seen these labels.
    at_thresholds : sequence of str
        Targets, such as ``recall@0.3``.
    """

    def __init__(
        self,
        calibration: ScoreCalibration,
        scores: np.ndarray,
        sides: np.ndarray,
        image: np.ndarray,
        n_images: int,
        *,
        probabilities: np.ndarray | None = None,
        at_thresholds: Sequence[str] = (),
    ) -> None:
        named = {f"{EXPECTED}{name}": OperatingPoint.of(name) for name in at_thresholds}
        self.points = {name: point for name, point in named.items() if point}
        p = calibration.probabilities(scores) if probabilities is None else probabilities

        shown = p[AT_HALF] > FOUND
        images = np.unique(image[shown])
        if len(images) > MOST_IMAGES:  # a mean over so many hardly varies, and memory is finite
            images = images[np.linspace(0, len(images) - 1, MOST_IMAGES).astype(np.int64)]
        place = np.full(n_images, -1)
        place[images] = np.arange(len(images))
        # All boxes of an image that counts rank, also those under .05, since precision falls with
        # them; shares and sizes are of those over .05.
        kept = place[image] >= 0
        at, p, shown = place[image[kept]], p[:, kept], shown[kept]

        n = len(images)
        self.images = images
        self.found = n > 0  # on any image
        at_half = p[AT_HALF]
        n_true = np.bincount(at, at_half, minlength=n) + calibration.n_missed(at_half, at, n)
        self._ranking = RankedDetections.of(scores[kept], at, p, n_true)
        # expected counts at every threshold; None where the category is not found
        self.curve = CountCurve.of(self._ranking) if self.found else None
        self._expected_ap = float(self._ranking.average_precision().mean())
        likely, boxes = (
            np.bincount(at[chosen], minlength=n) for chosen in (at_half > LIKELY, shown)
        )
        sized = np.isfinite(sides[kept])
        weights = at_half * (shown & sized)
        self._likely_share = likely / np.maximum(boxes, 1)  # (n,), as are the two that follow
        self._size_sum = np.bincount(at, weights * np.where(sized, sides[kept], 0), minlength=n)
        self._weight_sum = np.bincount(at, weights, minlength=n)

    def compute(self) -> dict[str, float]:
        """Return the features; NaN where the category is not found."""
        if not self.found:
            weights = {f"{WEIGHT}{point}": 0.0 for point in self.points.values()}
            return dict.fromkeys((*FEATURES, *self.points), math.nan) | weights
        weight = self._weight_sum.sum()
        return {
            "expected_ap": self._expected_ap,
            "likely_share": float(self._likely_share.mean()),
            "box_size": float(self._size_sum.sum() / weight) if weight else math.nan,
            **{
                name: value_of(point.measure, self._counts(point))
                for name, point in self.points.items()
            },
            **{f"{WEIGHT}{point}": self._weight(point) for point in self.points.values()},
        }

    def resample(self, counts: np.ndarray) -> dict[str, np.ndarray]:
        """Return the features of images that count as often as drawn (B, n_images), each (B,).

        The expected AP is that to first order: its influence function is summed over the images.
        """
        if not self.found:
            every = (*FEATURES, *self.points)
            return {name: np.full(len(counts), np.nan) for name in every}
        # all images most often, of which no copy is taken: counts are of 200 draws
        drawn = counts if len(self.images) == counts.shape[1] else counts[:, self.images]
        drawn = drawn.astype(np.float64)
        influence = influence_function(self._ranking).mean(axis=0)
        by_image = [np.ones(len(influence)), influence, self._likely_share]
        total, moved, likely, size, weight = (
            drawn @ np.stack([*by_image, self._size_sum, self._weight_sum], axis=1)
        ).T
        total = np.where(total > 0, total, np.nan)  # NaN: none was drawn
        weight = np.where(np.isnan(total) | (weight == 0), np.nan, weight)
        return {
            "expected_ap": self._expected_ap + moved / total,
            "likely_share": likely / total,
            "box_size": size / weight,
            **{name: self._resampled(point, drawn) for name, point in self.points.items()},
        }

    def _weight(self, point: OperatingPoint) -> float:
        return float(denominators(point.measure, self._counts(point)).sum())

    def _counts(self, point: OperatingPoint) -> np.ndarray:
        return image_counts(self._ranking, point.score_thr, point.level)

    def _resampled(self, point: OperatingPoint, drawn: np.ndarray) -> np.ndarray:
        counts = self._counts(point)
        below = drawn @ denominators(point.measure, counts)
        return np.divide(drawn @ counts[0], below, out=np.full(len(drawn), np.nan), where=below > 0)


def relative_sides(boxes: np.ndarray, area: np.ndarray) -> np.ndarray:
    """Return the logarithm of the side of boxes relative to that of their images, (N,).

    boxes (N, 4): as xyxy, pixels.
    area (N,): of the image of each, in pixels; NaN where it is unknown, and so is the side.

    >>> relative_sides(np.array([[0, 0, 10, 40]]), np.array([400 * 100])).round(3)
    array([-2.303])
    """
    sides = np.maximum(boxes[:, 2:] - boxes[:, :2], 0).astype(np.float64)
    return np.asarray(0.5 * np.log(np.clip(sides.prod(axis=1) / area, SMALLEST, 1)))


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
        self.known = bool(n_true.any())  # whether the reference has a box
        # counts by the boxes of the reference at every threshold; None where it has no box
        self.curve = CountCurve.of(self._ranking) if self.known else None

    def compute(self) -> dict[str, float]:
        """Return the features; NaN where the reference has no box."""
        if not self.known:
            return dict.fromkeys((*REFERENCE_FEATURES, *self.points), math.nan)
        levels = self._ranking.average_precision()
        of_ap = dict(zip(REFERENCE_FEATURES, ap_summary(levels).tolist(), strict=True))
        return of_ap | {
            name: value_of(point.measure, self._counts(point))
            for name, point in self.points.items()
        }

    def _counts(self, point: OperatingPoint) -> np.ndarray:
        return image_counts(self._ranking, point.score_thr, point.level)

    def resample(self, counts: np.ndarray) -> dict[str, np.ndarray]:
        """Return the features of images that count as often as drawn, (B, M), to first order."""
        counts = counts.astype(np.float64)
        total = counts.sum(axis=1)
        total = np.where(total > 0, total, np.nan)
        influence = np.zeros((3, counts.shape[1]))
        if self.known:
            influence = ap_summary(influence_function(self._ranking))
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
