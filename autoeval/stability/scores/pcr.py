"""Prediction consistency and reliability (PCR): what non-maximum suppression threw away."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit

from autoeval.boxes import box_iou
from autoeval.detections import Candidates, Evidence
from autoeval.stability.scores.base import RatioScore, register, rising

CENTRE, OVERLAP = 0.5, 0.5
CONSISTENCY_SLOPE, RELIABILITY_SLOPE, FLOOR = -60.0, 10.0, 0.2


def consistency_and_reliability(candidates: Candidates) -> tuple[float, float]:
    r"""PCR of one image.

    With :math:`σ(s; k, α) = α + (1 - α) / (1 + e^{-k(s - c)})`, c = .5, the suppressed candidates j
    of a kept box f are those of its category with IoU > .5 with it, and B_m encloses them:

    .. math:: S_C = mean_f ½ [IoU(B_f, B_m) + CC_f] σ(s_f; -60, 0)
    .. math:: S_R = \sum_{f: s_f > c} \sum_{j ∈ f} σ(s_j; 10, .2) / \sum_j σ(s_j; 10, .2)

    with CC = 1 - (distance of the centres of B_f and B_m) / (half the diagonal of B_f). A kept box
    that suppressed nothing is given 0 in the place of the bracket, as in the released code. A
    candidate that overlaps two kept boxes counts for both, and the last sum is over all suppressed
    candidates of the image.

    Source: Yoo et al. 2025, section 4.

    Returned: consistency, reliability: NaN without a kept box, or without a suppressed one.
    """
    kept, suppressed = candidates[candidates.kept], candidates[~candidates.kept]
    joined = box_iou(kept.boxes.astype(np.float64), suppressed.boxes.astype(np.float64)) > OVERLAP
    joined &= kept.labels[:, None] == suppressed.labels
    return _consistency(kept, suppressed, joined), _reliability(kept, suppressed, joined)


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

    def measure(self, evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
        candidates = evidence.require("candidates").above(self.score_thr)
        values = np.array(consistency_and_reliability(candidates))
        return np.nan_to_num(values), ~np.isnan(values)


def _consistency(kept: Candidates, suppressed: Candidates, joined: np.ndarray) -> float:
    if not len(kept):
        return math.nan
    agreement = np.zeros(len(kept))
    for f in np.flatnonzero(joined.any(axis=1)):
        agreement[f] = _agreement(kept.boxes[f], suppressed.boxes[joined[f]])
    return float(np.mean(agreement * _weight(kept.scores, CONSISTENCY_SLOPE, 0)))


def _agreement(box: np.ndarray, candidates: np.ndarray) -> float:
    enclosing = np.concatenate([candidates[:, :2].min(axis=0), candidates[:, 2:].max(axis=0)])
    pair = np.array([box, enclosing], np.float64)
    centres = (pair[:, :2] + pair[:, 2:]) / 2
    distance = np.linalg.norm(centres[0] - centres[1])
    half_diagonal = np.linalg.norm(pair[0, 2:] - pair[0, :2]) / 2
    return (box_iou(pair[:1], pair[1:]).item() + 1 - distance / half_diagonal) / 2


def _reliability(kept: Candidates, suppressed: Candidates, joined: np.ndarray) -> float:
    if not len(suppressed):
        return math.nan
    weights = _weight(suppressed.scores, RELIABILITY_SLOPE, FLOOR)
    return float(joined[kept.scores > CENTRE].sum(axis=0) @ weights / weights.sum())


def _weight(scores: np.ndarray, slope: float, floor: float) -> np.ndarray:
    return floor + (1 - floor) * expit(slope * (scores.astype(np.float64) - CENTRE))
