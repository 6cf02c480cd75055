"""The detector's training domain, as two scores need it: feature statistics and a threshold."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from autoeval.boxes import box_iou
from autoeval.data.images import UnreadableImageError
from autoeval.detections import Detections
from autoeval.detectors.detector import Detector
from autoeval.errors import InputError
from autoeval.metasets.sample_set import SampleSet
from autoeval.scores.atc_source import fit_source_threshold
from autoeval.scores.feature_statistics import FeatureStatistics
from autoeval.scores.frechet_distance import FrechetDistance

CORRECT_IOU = 0.5


@dataclass(frozen=True, eq=False)
class SourceDomain:
    """What the Fréchet distance and the original ATC know of the training domain.

    Parameters
    ----------
    name : str
        Of the seed set that stands for it.
    features : FeatureStatistics or None
        None where the detector's backbone gives no feature maps.
    threshold : float
        Confidence under which there are as many boxes as there are wrong ones.
    """

    name: str
    features: FeatureStatistics | None
    threshold: float

    @property
    def digest(self) -> str:
        """A short name of all its numbers."""
        digest = hashlib.sha256(repr((self.name, self.threshold)).encode())
        if self.features is not None:
            digest.update(self.features.mean.tobytes() + self.features.covariance.tobytes())
        return digest.hexdigest()[:16]


def observe_source_domain(
    detector: Detector,
    samples: SampleSet,
    *,
    lookup: np.ndarray,
    score_thr: float = 0.05,
    advance: Callable[[int], object] = lambda n: None,
) -> SourceDomain:
    """Run a detector over labelled images that stand for its training domain.

    Parameters
    ----------
    detector : Detector
    samples : SampleSet
    lookup : ndarray of shape (K,), int
        Task category of each detector category, -1 for none.
    score_thr : float
        Only boxes with a score above it count for the threshold.
    advance : callable
        Called with the number of images done.

    Raises
    ------
    InputError
        If no box was found, or no image can be read.
    """
    pooled, scores, correct = FrechetDistance(), [np.zeros(0)], [np.zeros(0, bool)]
    for i in range(len(samples)):
        advance(1)
        try:
            sample = samples[i]
        except UnreadableImageError:
            continue
        (evidence,) = detector.observe([sample.image], [sample.image_id], wants=("features",))
        if evidence.features is not None:
            pooled.update(evidence)
        found = evidence.clean.relabel(lookup).above(score_thr)
        scores.append(found.scores)
        correct.append(correct_boxes(found, sample.boxes, sample.labels))
    name = samples.seed_set.name
    try:
        threshold = fit_source_threshold(np.concatenate(scores), np.concatenate(correct))
    except InputError as error:
        raise InputError(f"'{name}' cannot stand for the training domain: {error}") from error
    return SourceDomain(name, pooled.statistics(), threshold)


def correct_boxes(found: Detections, boxes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Tell which boxes match a labelled object of their category with an IoU of at least .5.

    Each object goes to the best-scored box that overlaps it so, as in COCO's evaluation.

    Parameters
    ----------
    found : Detections
    boxes : ndarray of shape (M, 4)
        Labelled objects as xyxy, pixels.
    labels : ndarray of shape (M,), int

    Returns
    -------
    ndarray of shape (len(found),), bool

    Examples
    --------
    >>> one = np.array([[0., 0., 4., 4.]])
    >>> twice = Detections(np.repeat(one, 2, 0), np.array([.3, .9]), np.zeros(2))
    >>> correct_boxes(twice, one, np.array([0]))
    array([False,  True])
    """
    correct = np.zeros(len(found), bool)
    if not len(boxes) or not len(found):
        return correct
    overlaps = box_iou(found.boxes.astype(np.float64), np.asarray(boxes, np.float64))
    overlaps[found.labels[:, None] != np.asarray(labels)[None, :]] = 0
    for k in np.argsort(-found.scores, kind="stable"):
        best = int(overlaps[k].argmax())
        if overlaps[k, best] >= CORRECT_IOU:
            correct[k] = True
            overlaps[:, best] = 0
    return correct
