"""Scores of calibrated boxes: what true-positive probabilities predict of a category."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from typing_extensions import Self

from autoeval.calibration import FOUND, LIKELY, ScoreCalibration
from autoeval.detections import Evidence
from autoeval.metrics.average_precision import RankedDetections, influence_function
from autoeval.metrics.operating_point import (
    CountCurve,
    denominators,
    image_counts,
    value_of,
)
from autoeval.scores.base import Score, rising
from autoeval.scores.registry import register
from autoeval.targets import OperatingPoint

EXPECTED = "expected_"  # before the name of a target at a threshold: its score
WEIGHT = "weight_"  # before it: its denominator, by which categories are weighted
MOST_IMAGES = 20_000  # evenly taken from the first to the last
SMALLEST = 1e-6  # box, as a share of the image


@register
class CalibratedScores(Score):
    r"""Three scores of one category, on the images where it is found.

    Probabilities are those of a `ScoreCalibration`; an image in which a box has one over .05
    counts, all others do not, so that no score depends on how often the category occurs.

    - ``expected_ap``: the average precision of the boxes, mean over ten IoU thresholds, with
      probabilities in place of labels and the expected false negatives.
    - ``likely_share``: share of an image's boxes over .05 that are over .3, mean over images.
    - ``box_size``: mean logarithm of the side of the boxes over .05, :math:`\sqrt{wh}` relative to
      that of the image, weighted by probability.

    Those of targets at a threshold, such as ``expected_recall@0.3``, are the same ratios of
    expected counts.

    Parameters
    ----------
    calibration : ScoreCalibration, optional
        Without it there is no score.
    at_thresholds : sequence of str
        Targets, such as ``recall@0.3``.
    """

    name = "calibrated"
    meaning = "expected average precision, share of likely boxes, size of boxes; calibrated"
    features = rising("expected_ap", "likely_share", "box_size")
    given = ("calibration",)
    ungiven = "no calibration was fitted on labelled images"
    source = "this project (docs/explanation/calibration.md), after Kull et al. 2017"

    def __init__(
        self, calibration: ScoreCalibration | None = None, *, at_thresholds: Sequence[str] = ()
    ) -> None:
        self.calibration = calibration
        named = {f"{EXPECTED}{name}": OperatingPoint.of(name) for name in at_thresholds}
        self.points = {name: point for name, point in named.items() if point}
        self._parts: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]] = []

    def update(self, evidence: Evidence) -> None:
        clean = evidence.clean
        area = np.full(len(clean), float(np.prod(evidence.image_size)))
        of_one = np.zeros(len(clean), np.int64)
        self.update_images(clean.scores, relative_sides(clean.boxes, area), of_one, 1)

    def update_images(
        self,
        scores: np.ndarray,
        sides: np.ndarray,
        image: np.ndarray,
        n_images: int,
        probabilities: np.ndarray | None = None,
    ) -> None:
        """Take in many images at once.

        Parameters
        ----------
        scores, sides : ndarray of shape (N,)
            Confidences, and logarithms of sides; see `relative_sides`.
        image : ndarray of shape (N,), int64
        n_images : int
        probabilities : ndarray of shape (10, N), optional
            By another calibration than that of this score, which has not seen these labels.
        """
        if probabilities is None:
            assert self.calibration is not None
            probabilities = self.calibration.probabilities(scores)
        self._parts.append((scores, sides, image, probabilities, n_images))
        self.__dict__.pop("_found", None)

    def merge(self, other: Self) -> None:
        self._parts.extend(other._parts)
        self.__dict__.pop("_found", None)

    def compute(self) -> dict[str, float]:
        """Return the scores; NaN where the category is not found."""
        if not self._parts or not len(self._found.images):
            weights = {f"{WEIGHT}{of}": 0.0 for of in self.points.values()}
            return dict.fromkeys((*self.features, *self.points), math.nan) | weights
        found = self._found
        shares, sizes, weights = found.sums
        return {
            "expected_ap": float(found.ranking.average_precision().mean()),
            "likely_share": float(shares.mean()),
            "box_size": float(sizes.sum() / weights.sum()),
            **{name: value_of(of.measure, self._counts(of)) for name, of in self.points.items()},
            **{f"{WEIGHT}{of}": self._weight(of) for of in self.points.values()},
        }

    @property
    def curve(self) -> CountCurve | None:
        """Expected counts at every threshold; None where the category is not found."""
        if not self._parts or not len(self._found.images):
            return None
        return CountCurve.of(self._found.ranking)

    def _weight(self, point: OperatingPoint) -> float:
        return float(denominators(point.measure, self._counts(point)).sum())

    def _counts(self, point: OperatingPoint) -> np.ndarray:
        return image_counts(self._found.ranking, point.score_thr, point.level)

    def resample(self, counts: np.ndarray) -> dict[str, np.ndarray]:
        """Return the scores of images that count as often as drawn, expected AP to first order."""
        if not self._parts or not len(self._found.images):
            every = (*self.features, *self.points)
            return {name: np.full(len(counts), np.nan) for name in every}
        found = self._found
        drawn = counts[:, found.images].astype(np.float64)
        total = np.where(drawn.any(axis=1), drawn.sum(axis=1), np.nan)
        shares, sizes, weights = found.sums
        expected = found.ranking.average_precision().mean()
        influence = influence_function(found.ranking).mean(axis=0)
        return {
            "expected_ap": expected + drawn @ influence / total,
            "likely_share": drawn @ shares / total,
            "box_size": (drawn @ sizes) / np.where(np.isnan(total), np.nan, drawn @ weights),
            **{name: self._resampled(of, drawn) for name, of in self.points.items()},
        }

    def _resampled(self, point: OperatingPoint, drawn: np.ndarray) -> np.ndarray:
        counts = self._counts(point)
        below = drawn @ denominators(point.measure, counts)
        return np.divide(drawn @ counts[0], below, out=np.full(len(drawn), np.nan), where=below > 0)

    @cached_property
    def _found(self) -> _Found:
        assert self.calibration is not None
        return _Found.of(self.calibration, self._parts)


class _Found:
    """The boxes of the images where a category is found."""

    def __init__(self, images: np.ndarray, ranking: RankedDetections, sums: np.ndarray) -> None:
        self.images, self.ranking, self.sums = images, ranking, sums

    @classmethod
    def of(cls, calibration: ScoreCalibration, parts: list) -> _Found:
        starts = np.cumsum([0, *(part[4] for part in parts)])
        image = np.concatenate([part[2] + at for part, at in zip(parts, starts, strict=False)])
        scores, sides = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
        p = np.concatenate([part[3] for part in parts], axis=1)
        found = np.unique(image[p[0] > FOUND])
        if len(found) > MOST_IMAGES:
            found = found[np.linspace(0, len(found) - 1, MOST_IMAGES).astype(np.int64)]
        place = np.full(int(starts[-1]), -1)
        place[found] = np.arange(len(found))
        kept = place[image] >= 0
        at, scores, sides, p = place[image[kept]], scores[kept], sides[kept], p[:, kept]
        n = len(found)
        n_true = np.bincount(at, p[0], minlength=n) + calibration.n_missed(p[0], at, n)
        shown = p[0] > FOUND
        likely, boxes = (np.bincount(at[m], minlength=n) for m in (p[0] > LIKELY, shown))
        weights = p[0] * shown
        sums = [likely / np.maximum(boxes, 1)]
        weighted = [np.bincount(at, w, minlength=n) for w in (weights * sides, weights)]
        return cls(found, RankedDetections.of(scores, at, p, n_true), np.array([*sums, *weighted]))


def relative_sides(boxes: np.ndarray, area: np.ndarray) -> np.ndarray:
    """Return the logarithm of the side of boxes relative to that of their images, (N,).

    boxes (N, 4): as xyxy, pixels.
    area (N,): of the image of each, in pixels.

    >>> relative_sides(np.array([[0, 0, 10, 40]]), np.array([400 * 100])).round(3)
    array([-2.303])
    """
    sides = np.maximum(boxes[:, 2:] - boxes[:, :2], 0).astype(np.float64)
    return np.asarray(0.5 * np.log(np.clip(sides.prod(axis=1) / area, SMALLEST, 1)))
