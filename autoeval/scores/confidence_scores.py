"""Scores from the confidences of the clean boxes alone."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from autoeval.boxes import box_iou
from autoeval.detections import Detections, Evidence
from autoeval.scores.base import (
    ConfidenceScore,
    RatioScore,
    count_over,
    falling,
    feature_names,
    rising,
    undirected,
)
from autoeval.scores.registry import register


@register
class AverageConfidence(ConfidenceScore):
    r"""Mean score of the boxes of a set.

    .. math:: AC = \frac{1}{N} \sum_{j=1}^{N} s_j

    over the N boxes of all images.
    """

    name = "ac"
    meaning = "average confidence: mean score of the boxes"
    features = rising("ac")
    source = "Guillory et al. 2021, adapted to boxes by Yang et al. 2024, section 5.1"

    def measure_images(
        self, scores: np.ndarray, image: np.ndarray, n_images: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the sum of the scores of each image and the number of its boxes."""
        above = np.bincount(image, scores.astype(np.float64), minlength=n_images)
        return above[:, None], count_over([0.0], scores, image, n_images)


@register
class PredictionScore(ConfidenceScore):
    r"""Share of a set's boxes with a score over a threshold.

    .. math:: PS(τ) = \#\{s > τ\} / \#\{s\}

    over all boxes of all images, for each τ of `THRESHOLDS`.
    """

    name = "ps"
    meaning = "prediction score: share of boxes over a threshold"
    features = rising(*feature_names("ps"))
    source = "Hendrycks & Gimpel 2017, adapted to boxes by Yang et al. 2024, section 5.1"

    def measure_images(
        self, scores: np.ndarray, image: np.ndarray, n_images: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of confident boxes, and of all boxes."""
        above = count_over(self.thresholds, scores, image, n_images)
        return above, np.repeat(count_over([0.0], scores, image, n_images), above.shape[1], axis=1)


@register
class BoxShare(ConfidenceScore):
    r"""Mean over images of the share of an image's boxes with a score over a threshold.

    .. math:: share(t) = \frac{1}{M} \sum_{i=1}^{M} \#\{s_{ij} > t\} / \#\{s_{ij}\}

    for each t of `THRESHOLDS`. An image without boxes adds 0. The share over the boxes of the whole
    set, in which crowded images weigh more, is `PredictionScore`.
    """

    name = "box_share"
    meaning = "share of an image's boxes over a threshold, mean over images"
    features = rising(*feature_names("box_share"))
    source = "Hendrycks & Gimpel 2017, taken image by image"

    def measure_images(
        self, scores: np.ndarray, image: np.ndarray, n_images: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the shares of boxes over each threshold, and 1."""
        n_boxes = np.bincount(image, minlength=n_images)[:, None]
        above = count_over(self.thresholds, scores, image, n_images) / np.maximum(n_boxes, 1)
        return above, np.ones_like(above)


@register
class ConfidentImages(ConfidenceScore):
    r"""Share of the images that have a box with a score over a threshold.

    .. math:: \frac{1}{M} \sum_{i=1}^{M} [\max_j s_{ij} > t]

    for each t of `THRESHOLDS`. Where objects are to be expected everywhere it tells how often the
    detector saw nothing; it falls too where they are rare.
    """

    name = "confident_images"
    meaning = "share of images with a box over a threshold"
    features = rising(*feature_names("confident_images"))
    source = "this project"

    def measure_images(
        self, scores: np.ndarray, image: np.ndarray, n_images: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return whether each image has such a box, and 1."""
        above = (count_over(self.thresholds, scores, image, n_images) > 0).astype(np.float64)
        return above, np.ones_like(above)


@register
class BestBox(ConfidenceScore):
    r"""Mean over images of the highest score in each.

    .. math:: \frac{1}{M} \sum_{i=1}^{M} \max_j s_{ij}

    and 0 for an image without a box. Where `ConfidentImages` asks whether something is there, this
    asks how sure the detector is of it.
    """

    name = "best_box"
    meaning = "mean over images of the highest score"
    features = rising("best_box")
    source = "this project"

    def measure_images(
        self, scores: np.ndarray, image: np.ndarray, n_images: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the highest score of each image, and 1."""
        above = np.zeros((n_images, 1))
        np.maximum.at(above[:, 0], image, scores)
        return above, np.ones_like(above)


@register
class BoxCount(RatioScore):
    """Number of boxes, which shares and means of scores do not see.

    ``boxes_per_image``
        Mean number N of clean boxes.
    ``no_box_share``
        Share of images with no clean box.
    """

    name = "box_count"
    meaning = "mean number of boxes, and share of images without one"
    features = undirected("boxes_per_image") | falling("no_box_share")
    source = "this project"

    def measure(self, evidence: Evidence) -> tuple[tuple[int, bool], int]:
        """Return the number of boxes, whether there is none, and 1."""
        n = len(evidence.clean.above(self.score_thr))
        return (n, n == 0), 1


@register
class DetectionRatio(RatioScore):
    """Loss of boxes under perturbation, which box stability alone does not see.

    ``detection_ratio``
        Mean of N' / N over (image, repeat) with clean boxes, N' counted under perturbation.
    ``skipped_share``
        Share of (image, repeat) with no box on at least one side: box stability counts them as 0,
        or skips them, as its settings say.
    """

    name = "detection_ratio"
    meaning = "share of boxes that feature dropout leaves, and of images without a box in one pass"
    features = rising("detection_ratio") | falling("skipped_share")
    needs = frozenset({"perturbed"})
    source = "this project"

    def measure(self, evidence: Evidence) -> tuple[tuple[float, int], tuple[int, int]]:
        """Return the sum of ratios and the number of skipped passes, and their denominators."""
        n = len(evidence.clean.above(self.score_thr))
        counts = [len(boxes.above(self.score_thr)) for boxes in evidence.perturbed]
        skipped = sum(not n or not m for m in counts)
        repeats = len(counts)
        return (sum(counts) / n if n else 0.0, skipped), (repeats if n else 0, repeats)


LEAST_OVERLAP = 0.5


@register
class CumulativeConsensus(RatioScore):
    r"""Best overlaps of boxes with those of another view, mean over pairs of views and images.

    .. math:: CCS = \frac{1}{M} \sum_i \frac{1}{|P_i|} \sum_{(a, b) \in P_i}
              \frac{\sum_{j \in a} o_j(b) + \sum_{k \in b} o_k(a)}{n_a + n_b}

    where o is the largest IoU of a box with a box of the same category in the other view, 0 under
    β, and P holds the pairs of views of an image of which at least one has a box; images without
    such a pair are left out.

    The paper leaves open what follows; here the views are the image as it is and its photometric
    alterations (`autoeval.detectors.altered_images`), so that no box has to be mapped back;
    β is .5; both directions of a pair count; boxes count from the score threshold of the pass.
    """

    name = "ccs"
    meaning = "how well boxes of every two views of an image overlap"
    features = rising("ccs")
    needs = frozenset({"views"})
    source = "Manoharan et al. 2025, Cumulative Consensus Score"

    def measure(self, evidence: Evidence) -> tuple[float, int]:
        """Return the mean over the pairs of views, and whether there is one."""
        views = [of.above(self.score_thr) for of in (evidence.clean, *evidence.views)]
        pairs = [(a, b) for a, b in combinations(views, 2) if len(a.labels) + len(b.labels)]
        return (float(np.mean([consensus(a, b) for a, b in pairs])), 1) if pairs else (0.0, 0)


def consensus(a: Detections, b: Detections) -> float:
    """Return the mean over the boxes of two views, at least one, of the best overlap."""
    overlaps = box_iou(a.boxes.astype(np.float64), b.boxes.astype(np.float64))
    overlaps = np.where(a.labels[:, None] == b.labels[None, :], overlaps, 0.0)
    overlaps = np.where(overlaps >= LEAST_OVERLAP, overlaps, 0.0)
    best = (overlaps.max(axis=axis, initial=0.0).sum() for axis in (0, 1))
    return float(sum(best)) / (len(a.labels) + len(b.labels))
