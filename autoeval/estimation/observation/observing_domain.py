"""Observing labelled images that stand for the detector's training domain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from autoeval.boxes import box_iou
from autoeval.detections import Detections
from autoeval.errors import InputError
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.source_domain import SourceDomain
from autoeval.metasets.sample_set import SampleSet
from autoeval.scores.atc_source import fit_source_threshold
from autoeval.scores.frechet_distance import FrechetDistance

CORRECT_IOU = 0.5


def observe_source_domain(
    observer: Observer, samples: SampleSet, *, advance: Callable[[int], object] = lambda n: None
) -> SourceDomain:
    """Run a detector over labelled images that stand for its training domain.

    Parameters
    ----------
    observer : Observer
        Of its settings the score threshold alone counts.
    samples : SampleSet
    advance : callable
        Called with the number of images done.

    Raises
    ------
    InputError
        If no box was found, or no image can be read.
    """
    score_thr = observer.settings.stability.score_thr
    settings = replace(observer.settings, repeats=0, wants=("features",))
    plain = Observer(observer.detector, observer.task, settings, batch_size=observer.batch_size)
    pooled, scores, correct = FrechetDistance(), [np.zeros(0)], [np.zeros(0, bool)]
    for sample, evidence in plain.each(samples):
        if evidence.features is not None:
            pooled.update(evidence)
        found = evidence.clean.above(score_thr)
        scores.append(found.scores)
        correct.append(correct_boxes(found, sample.boxes, sample.labels))
        advance(1)
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
