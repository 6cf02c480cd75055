"""Prediction consistency and reliability (PCR): what non-maximum suppression threw away."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import expit

from autoeval.boxes import box_iou
from autoeval.detections import Candidates, Evidence
from autoeval.stability.scores.base import RatioScore, Sums, register, rising

CENTRE = 0.5
OVERLAP = 0.5
CONSISTENCY_SLOPE = -60.0
RELIABILITY_SLOPE = 10.0
FLOOR = 0.2


def consistency_and_reliability(images: Sequence[Candidates]) -> np.ndarray:
    r"""PCR of each of n images.

    With :math:`σ(s; k, α) = α + (1 - α) / (1 + e^{-k(s - c)})`, c = .5, the suppressed candidates j
    of a kept box f are those of its category with IoU > .5 with it, and B_m encloses them:

    .. math:: S_C = mean_f ½ [IoU(B_f, B_m) + CC_f] σ(s_f; -60, 0)
    .. math:: S_R = \sum_{f: s_f > c} \sum_{j ∈ f} σ(s_j; 10, .2) / \sum_j σ(s_j; 10, .2)

    with CC = 1 - (distance of the centres of B_f and B_m) / (half the diagonal of B_f). A kept box
    that suppressed nothing is given 0 in the place of the bracket, as in the released code. A
    candidate that overlaps two kept boxes counts for both, and the last sum is over all suppressed
    candidates of the image. Source: Yoo et al. 2025, section 4.

    Parameters
    ----------
    images : sequence of n Candidates
        Boxes before non-maximum suppression, and which of them it kept.

    Returns
    -------
    ndarray of shape (n, 2), float64
        Consistency and reliability, NaN without a kept box, or without a suppressed one. The values
        of an image do not depend on the others.
    """
    n = len(images)
    kept = [candidates[candidates.kept] for candidates in images]
    suppressed = [candidates[~candidates.kept] for candidates in images]
    kept_image, kept_boxes, kept_scores = _joined(kept)
    image, boxes, scores = _joined(suppressed)
    owner, candidate = _owners(kept, suppressed)
    # Pairs come by their kept box, so those of one are a run, which begins where the box changes.
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    owners, agreement = owner[starts], np.zeros(len(kept_scores))
    if len(owners):
        low = np.minimum.reduceat(boxes[candidate, :2], starts)
        high = np.maximum.reduceat(boxes[candidate, 2:], starts)
        agreement[owners] = _agreement(kept_boxes[owners], np.hstack([low, high]))
    agreement *= _weight(kept_scores, CONSISTENCY_SLOPE, 0)
    weights = _weight(scores, RELIABILITY_SLOPE, FLOOR)
    sure = candidate[kept_scores[owner] > CENTRE]
    above = np.bincount(kept_image, agreement, n), np.bincount(image[sure], weights[sure], n)
    below = np.bincount(kept_image, minlength=n), np.bincount(image, weights, n)
    values = np.full((n, 2), math.nan)
    np.divide(np.stack(above, 1), np.stack(below, 1), out=values, where=np.stack(below, 1) > 0)
    return values


@register
class PredictionConsistencyReliability(RatioScore):
    """Mean prediction consistency and reliability of the images of a set.

    The paper's estimate is linear in the two. Formulas in `consistency_and_reliability`; images
    that give no value are left out of the mean. Candidates under ``score_thr`` do not count.
    """

    name = "pcr"
    meaning = "what suppressed candidates say of the boxes: consistency and reliability"
    features = rising("pcr_consistency", "pcr_reliability")
    needs = frozenset({"candidates"})
    source = "Yoo et al. 2025, section 4"

    def measure_batch(self, images: Sequence[Evidence]) -> Sums:
        values = consistency_and_reliability(
            [evidence.require("candidates").above(self.score_thr) for evidence in images]
        )
        return np.nan_to_num(values), ~np.isnan(values)


def _joined(images: Sequence[Candidates]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the number of the image, the boxes and the scores of all candidates, in order."""
    image = np.repeat(np.arange(len(images)), [len(candidates) for candidates in images])
    boxes = np.concatenate([np.zeros((0, 4)), *(candidates.boxes for candidates in images)])
    scores = np.concatenate([np.zeros(0), *(candidates.scores for candidates in images)])
    return image, boxes, scores


def _owners(
    kept: Sequence[Candidates], suppressed: Sequence[Candidates]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs of a kept box and a candidate that it suppressed, (P,) each.

    They are numbered over all images; pairs are sorted by the kept box.
    """
    owners, candidates = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    n_kept = n_suppressed = 0
    # image by image: all pairs of all images would take too much memory
    for of_image, suppressed_boxes in zip(kept, suppressed, strict=True):
        overlaps = box_iou(
            of_image.boxes.astype(np.float64), suppressed_boxes.boxes.astype(np.float64)
        )
        rows, columns = np.nonzero(
            (overlaps > OVERLAP) & (of_image.labels[:, None] == suppressed_boxes.labels)
        )
        owners.append(rows + n_kept)
        candidates.append(columns + n_suppressed)
        n_kept, n_suppressed = n_kept + len(of_image), n_suppressed + len(suppressed_boxes)
    return np.concatenate(owners), np.concatenate(candidates)


def _agreement(boxes: np.ndarray, enclosing: np.ndarray) -> np.ndarray:
    """Return the bracket of S_C, (F,).

    Parameters
    ----------
    boxes, enclosing : ndarray of shape (F, 4)
        Kept boxes, and what encloses their candidates, xyxy.
    """
    overlaps = box_iou(boxes[:, None], enclosing[:, None])[:, 0, 0]
    centres = (boxes[:, :2] + boxes[:, 2:]) / 2
    enclosing_centres = (enclosing[:, :2] + enclosing[:, 2:]) / 2
    distance = np.linalg.norm(centres - enclosing_centres, axis=1)
    half_diagonal = np.linalg.norm(boxes[:, 2:] - boxes[:, :2], axis=1) / 2
    return np.asarray((overlaps + 1 - distance / half_diagonal) / 2)


def _weight(scores: np.ndarray, slope: float, floor: float) -> np.ndarray:
    return floor + (1 - floor) * expit(slope * (scores.astype(np.float64) - CENTRE))
