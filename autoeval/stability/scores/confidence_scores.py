"""Scores from confidences, their entropies, and numbers of boxes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import entr

from autoeval.detections import SCORE_THR, Evidence
from autoeval.errors import InputError
from autoeval.stability.scores.base import (
    ConfidenceScore,
    RatioScore,
    Sums,
    count_over,
    falling,
    feature_names,
    register,
    rising,
    undirected,
)

FIRST = 2  # position of .10 in `THRESHOLDS`


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

    def measure_images(self, scores: np.ndarray, image: np.ndarray, n_images: int) -> Sums:
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

    def measure_images(self, scores: np.ndarray, image: np.ndarray, n_images: int) -> Sums:
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

    def measure_images(self, scores: np.ndarray, image: np.ndarray, n_images: int) -> Sums:
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

    def measure_images(self, scores: np.ndarray, image: np.ndarray, n_images: int) -> Sums:
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

    def measure_images(self, scores: np.ndarray, image: np.ndarray, n_images: int) -> Sums:
        above = np.zeros((n_images, 1))
        np.maximum.at(above[:, 0], image, scores)
        return above, np.ones_like(above)


@register
class BoxCount(ConfidenceScore):
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

    def measure_images(self, scores: np.ndarray, image: np.ndarray, n_images: int) -> Sums:
        n_boxes = np.bincount(image, minlength=n_images)
        above = np.stack([n_boxes, n_boxes == 0], axis=1).astype(np.float64)
        return above, np.ones_like(above)


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
        n = int((evidence.clean.scores > self.score_thr).sum())
        counts = [int((boxes.scores > self.score_thr).sum()) for boxes in evidence.perturbed]
        skipped = sum(not n or not m for m in counts)
        repeats = len(counts)
        return (sum(counts) / n if n else 0.0, skipped), (repeats if n else 0, repeats)


def contrastive_confidence(scores: np.ndarray) -> float:
    """Mean score of an image's positives less five times the mean score of its negatives.

    Parameters
    ----------
    scores : ndarray of shape (N,)
        All scores that the detector gives, low ones included. Positives are the boxes with a score
        of .3 or more, negatives are the others.

    Returns
    -------
    float
        A side without boxes has mean 0.

    Examples
    --------
    >>> round(contrastive_confidence(np.array([.9, .7, .1])), 6)
    0.3
    """
    positive = scores >= scores.dtype.type(0.3)
    return _mean(scores[positive]) - 5 * _mean(scores[~positive])


@register
class ContrastiveConfidence(RatioScore):
    r"""Mean contrastive confidence of a set of images.

    .. math:: CC = \frac{1}{M} \sum_{i=1}^{M} (mean\{s_{ij} ≥ .3\} - λ · mean\{s_{ij} < .3\}), λ = 5

    Meant for detectors without non-maximum suppression, whose many unused queries are the
    negatives: no score threshold applies before it.
    """

    name = "contrastive_confidence"
    meaning = "mean score of confident boxes less five times that of all others"
    features = rising("contrastive_confidence")
    given = ()
    source = "Park et al. 2024 (arXiv 2412.01782)"

    def measure(self, evidence: Evidence) -> tuple[float, int]:
        return contrastive_confidence(evidence.clean.scores), 1


def _mean(values: np.ndarray) -> float:
    return float(values.mean(dtype=np.float64)) if len(values) else 0.0


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
        over = [scores > scores.dtype.type(t) for t in self.thresholds]
        return sum_chosen(scores.astype(np.float64), over, image, n_images)


def fit_source_threshold(scores: np.ndarray, correct: np.ndarray) -> float:
    """Find the threshold t under which there are as many boxes as there are wrong ones.

    Source: Garg et al. 2022, equation 1.

    Parameters
    ----------
    scores : ndarray of shape (N,)
        Scores of the boxes of a labelled set.
    correct : ndarray of shape (N,), bool
        True for the boxes that match a labelled object.

    Returns
    -------
    float
        With #(s < t) = #errors, up to equal scores; just over the largest score when every box is
        wrong.

    Raises
    ------
    InputError
        If there is no box.

    Examples
    --------
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
    revision = 2

    def __init__(
        self, source_threshold: float | None = None, *, score_thr: float = SCORE_THR
    ) -> None:
        super().__init__(score_thr=score_thr)
        self.source_threshold = source_threshold

    def measure(self, evidence: Evidence) -> tuple[int, int]:
        scores = evidence.clean.above(self.score_thr).scores.astype(np.float64)
        threshold = math.inf if self.source_threshold is None else self.source_threshold
        return int(np.sum(scores >= threshold)), len(scores)


def binary_entropy(scores: np.ndarray) -> np.ndarray:
    """Entropy of a yes-or-no answer, in bits.

    Parameters
    ----------
    scores : ndarray of shape (N,)
        Probability of yes, in [0, 1].

    Returns
    -------
    ndarray of shape (N,), float64
        In [0, 1].

    Examples
    --------
    >>> binary_entropy(np.array([0., .5, 1.]))
    array([0., 1., 0.])
    """
    p = np.asarray(scores, np.float64)
    return (entr(p) + entr(1 - p)) / np.log(2)


@register
class EntropyScore(ConfidenceScore):
    r"""Share of a set's boxes whose score has a binary entropy below a threshold.

    .. math:: ES(τ) = \#\{H_2(s) < τ\} / \#\{s\}, H_2(s) = -s \log_2 s - (1 - s) \log_2 (1 - s)

    over all boxes of all images, for each τ of `THRESHOLDS`.
    """

    name = "es"
    meaning = "entropy score: share of boxes whose score is decided"
    features = rising(*feature_names("es"))
    source = "Saito et al. 2019, adapted to boxes by Yang et al. 2024, section 5.1"

    def measure_images(self, scores: np.ndarray, image: np.ndarray, n_images: int) -> Sums:
        """Return the numbers of decided boxes and of all boxes.

        Parameters
        ----------
        scores, image, n_images
            See `ConfidenceScore.measure_images`.
        """
        entropy = binary_entropy(scores)
        decided = [np.bincount(image[entropy < t], minlength=n_images) for t in self.thresholds]
        n_boxes = np.bincount(image, minlength=n_images)[:, None]
        return np.stack(decided, axis=1), np.repeat(n_boxes, len(decided), axis=1)


@register
class EntropyBelow(ConfidenceScore):
    r"""Mean binary entropy of the scores of a set's boxes below a threshold.

    .. math:: \sum_j H_2(s_j) [s_j < τ] / \sum_j [s_j < τ]

    over the boxes of all images, for each τ of `THRESHOLDS` above .05, under which no box counts;
    NaN where no box is below it. The paper's text takes the share of boxes of low entropy
    (`EntropyScore`); the code released with it computes this. See `binary_entropy`.
    """

    name = "es_below"
    meaning = "mean entropy of the scores below a threshold"
    features = undirected(*feature_names("es_below")[FIRST:])
    source = "Saito et al. 2019, as in the code of Yang et al. 2024"

    def measure_images(self, scores: np.ndarray, image: np.ndarray, n_images: int) -> Sums:
        """Return the sums of entropies below each threshold and the numbers of boxes.

        Parameters
        ----------
        scores, image, n_images
            See `ConfidenceScore.measure_images`.
        """
        below = [scores < scores.dtype.type(t) for t in self.thresholds]
        return sum_chosen(binary_entropy(scores), below, image, n_images)


@register
class EntropyMean(ConfidenceScore):
    r"""Mean binary entropy of the scores of a set's boxes over a threshold.

    .. math:: \sum_j H_2(s_j) [s_j > τ] / \sum_j [s_j > τ]

    over the boxes of all images, for each τ of `THRESHOLDS`; NaN where no box is over it. See
    `binary_entropy`.
    """

    name = "es_mean"
    meaning = "mean entropy of the scores over a threshold"
    features = falling(*feature_names("es_mean"))
    source = "Saito et al. 2019, as a mean"

    def measure_images(self, scores: np.ndarray, image: np.ndarray, n_images: int) -> Sums:
        """Return the sums of entropies over each threshold and the numbers of boxes.

        Parameters
        ----------
        scores, image, n_images
            See `ConfidenceScore.measure_images`.
        """
        over = [scores > scores.dtype.type(t) for t in self.thresholds]
        return sum_chosen(binary_entropy(scores), over, image, n_images)


def sum_chosen(
    values: np.ndarray, chosen: Sequence[np.ndarray], image: np.ndarray, n_images: int
) -> Sums:
    """Return the sum and the number of the values that each of F masks chooses, by image.

    Parameters
    ----------
    values : ndarray of shape (N,)
        Of the boxes.
    chosen : sequence of F ndarrays of shape (N,), bool
        The masks.
    image : ndarray of shape (N,), int
        Which image each box is of.
    n_images : int
        How many images there are.

    Returns
    -------
    sums, counts : ndarray of shape (n_images, F)
        Of each image.
    """
    sums = [np.bincount(image[mask], values[mask], n_images) for mask in chosen]
    counts = [np.bincount(image[mask], minlength=n_images) for mask in chosen]
    return np.stack(sums, axis=1), np.stack(counts, axis=1)
