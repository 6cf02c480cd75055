"""The pass: each image is read and observed once, and what that leaves behind feeds every score."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from autoeval.detections import Evidence
from autoeval.detectors.detector import Detector
from autoeval.errors import InputError
from autoeval.estimation.mean_ap import MeanAP
from autoeval.estimation.measures import Measure
from autoeval.estimation.presets import PassSettings
from autoeval.metasets.image_folder import ImageFile
from autoeval.metasets.images import UnreadableImageError, read_image
from autoeval.metasets.sample_set import Sample
from autoeval.scores.registry import ScoreSet

NO_BOXES = np.zeros((0, 4)), np.zeros(0, np.int64), np.zeros(0, bool)


class Samples(Protocol):
    """Images that are made when asked for; raises `UnreadableImageError` for one that cannot be."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Sample: ...


class UnlabelledSamples:
    """Image files as samples without boxes.

    Parameters
    ----------
    files : sequence of ImageFile
    """

    def __init__(self, files: Sequence[ImageFile]) -> None:
        self.files = files

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Sample:
        """Read one image."""
        file = self.files[index]
        return Sample(file.image_id, read_image(file.path), *NO_BOXES)


def collect(
    detector: Detector,
    samples: Samples,
    *,
    categories: tuple[str, ...],
    lookup: np.ndarray,
    settings: PassSettings,
    batch_size: int = 4,
    advance: Callable[[int], object] = lambda n: None,
    watch: Callable[[Evidence], object] = lambda evidence: None,
) -> list[dict[str, Any]]:
    """Run a detector over a set of images and compute all scores, and mAP where there are labels.

    Parameters
    ----------
    detector : Detector
    samples : sequence of Sample
    categories : tuple of str
        Categories of the task.
    lookup : ndarray of shape (K,), int
        Task category of each detector category, -1 for none.
    settings : PassSettings
    batch_size : int
        Images observed together; changes no number.
    advance : callable
        Called with the number of images done, for a progress bar.
    watch : callable
        Called with the evidence of each image, labelled by the categories of the task.

    Returns
    -------
    list of dict
        One row a repeat: ``repeat``, ``n_images``, ``n_boxes``, ``n_unreadable``, ``unreadable``
        (names and reasons), ``absent`` (JSON: why a score is not there), seconds spent, the
        features, and ``mAP``, ``mAP50``, ``mAP75`` (NaN without labels), and what else the settings
        measure.

    Raises
    ------
    InputError
        If no image can be read.
    """
    tally = _Tally(categories, settings)
    for batch in _batches(samples, batch_size, tally):
        with tally.timed("network_s"):
            observed = detector.observe(
                [sample.image for sample in batch],
                [sample.image_id for sample in batch],
                dropout=settings.dropout,
                repeats=settings.repeats,
                seed=settings.seed,
                wants=settings.wants,
            )
        with tally.timed("scores_s"):
            for sample, evidence in zip(batch, observed, strict=True):
                known = evidence.relabel(lookup)
                tally.update(sample, known)
                watch(known)
        advance(len(batch))
    if not tally.n_images:
        raise InputError(
            f"None of the {len(samples)} images can be read: {'; '.join(tally.unreadable[:3])}"
        )
    return tally.rows()


class _Tally:
    """What a pass adds up."""

    def __init__(self, categories: tuple[str, ...], settings: PassSettings) -> None:
        self.accuracy = MeanAP(categories)
        self.measures: list[Measure] = [measure.make() for measure in settings.measures]
        domain = settings.domain
        self.scores = ScoreSet(
            settings.stability,
            repeats=settings.repeats,
            reference=domain.features if domain else None,
            source_threshold=domain.threshold if domain else None,
        )
        self.n_images = 0
        self.unreadable: list[str] = []
        self.seconds: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[name] += time.perf_counter() - start

    def update(self, sample: Sample, evidence: Evidence) -> None:
        self.n_images += 1
        for measure in (self.accuracy, *self.measures):
            measure.update(evidence.clean, sample.boxes, sample.labels, sample.iscrowd)
        self.scores.update(evidence)

    def rows(self) -> list[dict[str, Any]]:
        with self.timed("map_s"):
            accuracy = self.accuracy.compute()
            for measure in self.measures:
                accuracy |= measure.compute()
        shared = {
            "n_images": self.n_images,
            "n_boxes": self.accuracy.n_boxes,
            "n_unreadable": len(self.unreadable),
            "unreadable": "; ".join(self.unreadable),
            "absent": json.dumps(self.scores.absent, sort_keys=True),
            **self.seconds,
        }
        return [
            {"repeat": repeat, **shared, **accuracy, **features}
            for repeat, features in enumerate(self.scores.rows())
        ]


def _batches(samples: Samples, batch_size: int, tally: _Tally) -> Iterator[list[Sample]]:
    batch: list[Sample] = []
    for index in range(len(samples)):
        try:
            with tally.timed("read_s"):
                sample = samples[index]
        except UnreadableImageError as error:
            tally.unreadable.append(str(error))
            continue
        batch.append(sample)
        if len(batch) == batch_size:
            yield batch
            batch = []
    if batch:
        yield batch
