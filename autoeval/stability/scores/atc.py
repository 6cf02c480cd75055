"""Average thresholded confidence (ATC), as adapted to detection."""

from __future__ import annotations

import math

import numpy as np

from autoeval.detections import SCORE_THR, Evidence
from autoeval.errors import InputError
from autoeval.stability.scores.base import (
    ConfidenceScore,
    RatioScore,
    Sums,
    count_over,
    feature_names,
    rising,
)
from autoeval.stability.scores.registry import register


@register
class AverageThresholdedConfidence(ConfidenceScore):
    r"""Mean score of the boxes over a threshold.

    .. math:: ATC(τ) = \sum_j s_j [s_j > τ] / \sum_j [s_j > τ]

    over the boxes of all images, for each τ of `THRESHOLDS`; NaN where no box is over it. For the
    original form see `SourceThreshold`.
    """

    name = "atc"
    meaning = "average thresholded confidence: mean score of the boxes over a threshold"
    features = rising(*feature_names("atc"))
    source = "Garg et al. 2022, adapted to boxes by Yang et al. 2024, section 5.1"

    def measure_images(self, scores: np.ndarray, image: np.ndarray, n_images: int) -> Sums:
        above = np.empty((n_images, len(self.names)))
        for k, threshold in enumerate(self.thresholds):
            over = scores > scores.dtype.type(threshold)
            weights = scores[over].astype(np.float64)
            above[:, k] = np.bincount(image[over], weights, minlength=n_images)
        return above, count_over(self.thresholds, scores, image, n_images)


def fit_source_threshold(scores: np.ndarray, correct: np.ndarray) -> float:
    """Find the threshold t under which there are as many boxes as there are wrong ones.

    Source: Garg et al. 2022, equation 1.

    scores (N,): scores of the boxes of a labelled set.
    correct (N,), bool: true for the boxes that match a labelled object.
    Returned: with #(s < t) = #errors, up to equal scores; just over the largest score when every
        box is wrong.

    >>> fit_source_threshold(np.array([.9, .2, .6, .4]), np.array([True, False, True, False]))
    0.6
    """
    ordered, errors = np.sort(np.asarray(scores, np.float64)), int(np.sum(~np.asarray(correct)))
    if not len(ordered):
        raise InputError("Expected boxes to fit a threshold on but the labelled set has none.")
    return float(ordered[errors] if errors < len(ordered) else np.nextafter(ordered[-1], np.inf))


@register
class SourceThreshold(RatioScore):
    r"""Share of a set's boxes with a score of at least t.

    .. math:: ATC = \#\{s ≥ t\} / \#\{s\}

    where t comes from `fit_source_threshold` on labelled source data, so that on the source the
    share equals the share of correct boxes.

    Parameters
    ----------
    source_threshold : float, optional
        Without it there is no score.
    score_thr : float
        Only boxes with a score above it count, here as in the fit.
    """

    name = "atc_source"
    meaning = "share of boxes over a threshold that was fitted on labelled images"
    features = rising("atc_source")
    given = ("score_thr", "source_threshold")
    ungiven = "no confidence threshold was fitted on labelled source data"
    needs_domain = True
    source = "Garg et al. 2022, equation 2"

    def __init__(
        self, source_threshold: float | None = None, *, score_thr: float = SCORE_THR
    ) -> None:
        super().__init__(score_thr=score_thr)
        self.source_threshold = source_threshold

    def measure(self, evidence: Evidence) -> tuple[int, int]:
        scores = evidence.clean.above(self.score_thr).scores.astype(np.float64)
        threshold = math.inf if self.source_threshold is None else self.source_threshold
        return int(np.sum(scores >= threshold)), len(scores)
