"""The training domain as a run keeps it, so that one that goes on does not observe it again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from autoeval.accuracy.coco_evaluation import match_detections
from autoeval.detections import Detections
from autoeval.errors import InputError
from autoeval.estimation.observation.detector_identity import kept_with
from autoeval.estimation.observation.observing import Observer
from autoeval.io.tasks.seed_set import SeedSet
from autoeval.runtime.progress import announced_bar
from autoeval.stability.fitting.meta_set import seed_set_digest
from autoeval.stability.metasets.recipe import SampleSet, own_images
from autoeval.stability.passes.presets import SourceDomain, scored_settings
from autoeval.stability.scores.base import revisions
from autoeval.stability.scores.confidence_scores import fit_source_threshold
from autoeval.stability.scores.detection_adaptation import PrototypeRatio
from autoeval.stability.scores.frechet_distance import FrechetDistance
from autoeval.version import __version__

DOMAINS = "training_domain"


def observe_source_domain(
    observer: Observer, samples: SampleSet, *, advance: Callable[[int], object] = lambda n: None
) -> SourceDomain:
    """Run a detector over labelled images that stand for its training domain.

    Parameters
    ----------
    observer : Observer
        Of its settings the score threshold counts, and whether prototypes are wanted.
    samples : SampleSet
        Labelled images.
    advance : callable
        Called with 1 after each image.

    Raises
    ------
    InputError
        If no threshold can be fitted on them, see `fit_source_threshold`.
    """
    settings = scored_settings(observer)
    score_thr = settings.stability.score_thr
    wants = ("features", "prototypes") if "prototypes" in settings.wants else ("features",)
    pooled, prototypes = FrechetDistance(), PrototypeRatio()
    scores, correct = [np.zeros(0)], [np.zeros(0, bool)]
    clean = observer.with_settings(replace(settings, repeats=0, wants=wants))
    for sample, evidence in clean.each(samples):
        if evidence.features is not None:
            pooled.update(evidence)
        if evidence.prototypes is not None:
            prototypes.update(evidence)
        detections = evidence.clean.above(score_thr)
        right, ignored = correct_boxes(detections, sample.boxes, sample.labels, sample.iscrowd)
        scores.append(detections.scores[~ignored])
        correct.append(right[~ignored])
        advance(1)
    name = samples.seed_set.name
    try:
        threshold = fit_source_threshold(np.concatenate(scores), np.concatenate(correct))
    except InputError as error:
        raise InputError(f"'{name}' cannot stand for the training domain: {error}") from error
    features = pooled.statistics()
    if features is not None:
        features = replace(features, prototypes=prototypes.sums)
    return SourceDomain(name, features, threshold)


def correct_boxes(
    detections: Detections, boxes: np.ndarray, labels: np.ndarray, iscrowd: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return which boxes match a labelled object of their category with an IoU of at least .5.

    Each object goes to the best-scored box that overlaps it so, and boxes of which half lies in an
    area to ignore are ignored, as in COCO's evaluation.

    Parameters
    ----------
    detections : Detections
        N boxes of one image.
    boxes : ndarray of shape (M, 4)
        Labelled objects as xyxy, pixels.
    labels : ndarray of shape (M,), int
        Their categories.
    iscrowd : ndarray of shape (M,), bool
        Which of them are areas to ignore.

    Returns
    -------
    correct, ignored : ndarray of shape (N,), bool
        For each box.

    Examples
    --------
    >>> one = np.array([[0., 0., 4., 4.]])
    >>> twice = Detections(np.repeat(one, 2, 0), np.array([.3, .9]), np.zeros(2))
    >>> correct, _ = correct_boxes(twice, one, np.array([0]), np.array([False]))
    >>> correct
    array([False,  True])
    """
    order = np.lexsort((-detections.scores, detections.labels))
    correct, ignored = np.zeros((2, len(detections)), bool)
    matched = match_detections(
        detections.boxes[order], detections.labels[order], boxes, np.asarray(labels), crowd=iscrowd
    )
    correct[order], ignored[order] = (values[0] for values in matched)  # at an IoU of .5
    return correct, ignored


def kept_source_domain(observer: Observer, seed_set: SeedSet, folder: Path) -> SourceDomain:
    """Observe the training domain, or read what an earlier run has observed.

    Parameters
    ----------
    observer : Observer
        With `ScoredSettings`.
    seed_set : SeedSet
        Labelled images that stand for the training domain.
    folder : Path
        Keeps one file for each detector, setting and data.
    """
    file = folder / f"{_key(observer, seed_set)}.npz"
    if file.exists():
        with suppress(InputError):  # damaged: observed again
            kept = SourceDomain.load(file, seed_set.name)
            if kept.features is None or kept.features.prototypes is not None:
                return kept
            if "prototypes" not in scored_settings(observer).wants:
                return kept
    samples = SampleSet(seed_set, own_images(seed_set))
    with announced_bar(len(samples), "observing the training domain") as bar:
        domain = observe_source_domain(observer, samples, advance=bar.update)
    domain.save(file)
    return domain


def reference_domain(observer: Observer, name: str, folder: Path) -> SourceDomain:
    """Observe the source of a task that stands for the detector's training domain.

    Parameters
    ----------
    observer : Observer
        Of the task, with the detector.
    name : str
        Of a seed set of the task.
    folder : path-like
        Work dir in which the domain is kept.

    Raises
    ------
    InputError
        If the task has no seed set of this name.
    """
    task = observer.task
    loaded = [task.load_seed_set(files) for files in task.seed_sets if files.name == name]
    if not loaded:
        raise InputError(
            f"Expected --domain-source to name a seed set of task {task.name} out of "
            f"{', '.join(files.name for files in task.seed_sets)} but got '{name}'."
        )
    return kept_source_domain(observer, loaded[0], folder / DOMAINS)


def _key(observer: Observer, seed_set: SeedSet) -> str:
    """Name all that a training domain depends on."""
    context = observer.context()
    made_with = {
        "version": __version__,
        "scores": revisions(),
        "detector": context["detector"],
        "task": context["task"],
        "score_thr": scored_settings(observer).stability.score_thr,
        "data": seed_set_digest(seed_set),
        **kept_with(observer),
    }
    return hashlib.sha256(json.dumps(made_with, sort_keys=True).encode()).hexdigest()[:16]
