"""Control variates: the influence of images, predicted by a box model or a reference detector."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from typing_extensions import Self

from autoeval.accuracy.average_precision import RankedDetections, influence_function
from autoeval.accuracy.coco_matching import AT_HALF, top_detections
from autoeval.accuracy.weighted_matching import match_weighted
from autoeval.boxes import Boxes
from autoeval.sites.site import Site

MODEL, REFERENCE = "model", "reference"


@dataclass(frozen=True, eq=False)
class ProbableLabels:
    """Boxes of another detector on the images of a pool, in its categories, as labels.

    probabilities (N,): that each is an object.
    """

    boxes: Boxes
    probabilities: np.ndarray

    @classmethod
    def of_reference(cls, site: Site) -> Self | None:
        """Take the calibrated boxes of a reference detector, as evaluation takes them, if any."""
        reference, probabilities = site.reference, site.reference_right
        if reference is None or probabilities is None:
            return None
        best = top_detections(reference.image, reference.label, reference.scores)
        return cls(reference.where(best), probabilities[best])

    def rankings(self, boxes: Boxes) -> list[RankedDetections]:
        """Rank the boxes of a detector in each category, with these as labels."""
        labels, n_images, numbers = self.boxes, len(boxes.images), np.arange(len(boxes.categories))
        order, hits = self._matched(boxes)
        image, scores = boxes.image[order], boxes.scores[order]
        # Sorted by category, so that each is a slice: a mask for each of hundreds of categories
        # would go over all boxes as often.
        sorted_labels = boxes.label[order]
        starts, ends = (np.searchsorted(sorted_labels, numbers, side) for side in ("left", "right"))
        by_label = np.argsort(labels.label, kind="stable")
        label_starts, label_ends = (
            np.searchsorted(labels.label[by_label], numbers, side) for side in ("left", "right")
        )
        ranked = []
        for k in numbers:
            rows, mine = slice(starts[k], ends[k]), by_label[label_starts[k] : label_ends[k]]
            # the expected number of objects of each image: the sum of their probabilities
            n_true = np.bincount(labels.image[mine], self.probabilities[mine], minlength=n_images)
            ranked.append(RankedDetections.of(scores[rows], image[rows], hits[:, rows], n_true))
        return ranked

    def disagreement(self, boxes: Boxes, right: np.ndarray) -> np.ndarray:
        """Return the expected number of boxes of each image on which the detectors disagree, (M,).

        right (N,): probability that each of the detector's `boxes` is right at IoU .5. A box
        counts by how much this differs from what the other detector gives it, 0 where that has no
        box there; an unmatched box of the other by its probability.
        """
        labels, n_images = self.boxes, len(boxes.images)
        order, hits = self._matched(boxes)
        image, matched = boxes.image[order], hits[AT_HALF]
        differing = np.bincount(image, np.abs(right[order] - matched), minlength=n_images)
        there = np.bincount(labels.image, self.probabilities, minlength=n_images)
        unmatched = there - np.bincount(image, matched, minlength=n_images)
        return np.asarray(differing + np.maximum(unmatched, 0))

    def _matched(self, boxes: Boxes) -> tuple[np.ndarray, np.ndarray]:
        """Match the N boxes of a detector to these, those with the highest score first.

        Returned: the order, (N,), by category and score; in it the probability of the label that
            each box takes at each IoU threshold, 0 without one, (10, N).
        """
        labels, n_categories = self.boxes, len(boxes.categories)
        order = np.lexsort((boxes.image, -boxes.scores, boxes.label))
        # one number for each image and category: only boxes of the same one are matched
        hits = match_weighted(
            boxes.boxes[order],
            n_categories * boxes.image[order] + boxes.label[order],
            labels.boxes,
            n_categories * labels.image + labels.label,
            self.probabilities,
        )
        return order, hits


def control_variates(
    expected: RankedDetections, second: RankedDetections | None = None
) -> dict[str, np.ndarray]:
    """Predict the influence of M images on the average precision of a category, (10, M) each.

    `expected` ranks the boxes with probabilities in place of labels, see `BoxModel.rankings`, the
    second with the boxes of another detector, see `ProbableLabels`; that prediction gets the
    standard deviation of the first: where that detector finds little, each of its boxes would count
    for too much. Returns `MODEL`, and `REFERENCE` where there is a second; 0 where no object is
    expected.
    """
    first = np.nan_to_num(influence_function(expected))
    if second is None:
        return {MODEL: first}
    other = np.nan_to_num(influence_function(second))
    # the spread that decides is that of the mean over thresholds, the influence on mAP
    std = other.mean(axis=0).std()
    return {MODEL: first, REFERENCE: other * (first.mean(axis=0).std() / std if std > 0 else 0.0)}


def true_influence(ranking: RankedDetections) -> np.ndarray:
    """Influence of each image on mAP, (N,)."""
    return influence_function(ranking).mean(axis=0)
