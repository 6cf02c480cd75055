"""The pass: each image is read and observed once, and what that leaves behind feeds everything.

`Observer` reads images ahead, runs the detector on batches (both in
`autoeval.estimation.observation.samples`) and yields the `Evidence` of each image in the categories
of a task. `autoeval.estimation.observation.kept_observer.KeptObserver` is one that keeps what it
has seen.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from tqdm import tqdm

from autoeval.detections import Evidence
from autoeval.estimation.observation.pass_settings import PassSettings
from autoeval.estimation.observation.samples import (
    ImageLoading,
    Launch,
    PassLog,
    Seen,
    at_once,
    observe_batches,
    read_batches,
)
from autoeval.io.tasks.seed_set import Sample, Samples
from autoeval.io.tasks.task import Task
from autoeval.runtime.progress import announced_bar

OBSERVING = "observing images"
LEAST_BATCH = 4


class ImageDetector(Protocol):
    """A detector as a pass sees it: `autoeval.detectors.MMDetector`, or a black box.

    One may also have ``prepare(image)``, which the threads that read images call, and ``launch``,
    which begins to observe a batch and returns what waits for it; see `MMDetector`.

    Attributes
    ----------
    categories : tuple of str
        Its words, by the labels of its boxes.
    """

    categories: tuple[str, ...]

    @property
    def settings(self) -> dict[str, Any]:
        """What its boxes depend on, field by field."""

    @property
    def fingerprint(self) -> str:
        """A short name of `settings`."""

    @property
    def backbone(self) -> str:
        """Class name of its backbone."""

    def observe(
        self,
        images: Sequence[np.ndarray],
        image_ids: Sequence[str],
    ) -> list[Evidence]:
        """Return what it leaves of each image; for options see `PassSettings.options`.

        Parameters
        ----------
        images : sequence of ndarray of shape (H, W, 3), uint8
            BGR, of any sizes.
        image_ids : sequence of str
            Their names.

        Returns
        -------
        list of Evidence
            In the order of the images, boxes labelled by `categories`, xyxy in pixels of the image
            as it was given.
        """


D = TypeVar("D", bound=ImageDetector)


class Observer(Generic[D]):
    """Observes images with one detector, for one task, under one set of settings.

    Parameters
    ----------
    detector : ImageDetector
        Loaded.
    task : Task
        Its categories, and the detector's words for them; its data is not looked at.
    settings : PassSettings, optional
        By default those of a plain pass.
    reading : ImageLoading, optional
        How many images are read ahead together, and in how many threads.
    """

    def __init__(
        self,
        detector: D,
        task: Task,
        settings: PassSettings | None = None,
        *,
        reading: ImageLoading | None = None,
    ) -> None:
        self.task = task
        self.settings = settings or PassSettings()
        self.detector: D = self.settings.equipped(detector)
        self.reading = reading or ImageLoading()
        most = max(LEAST_BATCH, getattr(self.detector, "max_batch", 1))
        self.batch_size = self.reading.batch_size or most

    def __repr__(self) -> str:
        return f"<Observer of '{self.task.name}' by {self.detector!r}>"

    def with_settings(self, settings: PassSettings) -> Observer[D]:
        """Return the same with other settings.

        Parameters
        ----------
        settings : PassSettings
            Those of the new one.
        """
        return Observer(self.detector, self.task, settings, reading=self.reading)

    @cached_property
    def lookup(self) -> np.ndarray:
        """Task category of each detector category, -1 for none; of shape (K,), int.

        `InputError` if the detector does not have the words of the task.
        """
        return self.task.lookup(self.detector.categories)

    def begin(self, samples: Samples, total: int, activity: str = OBSERVING) -> tqdm:
        """Begin a pass over some samples: return its bar; see `announced_bar`.

        Parameters
        ----------
        samples : Samples
            The images.
        total : int
            How many of them.
        activity : str
            What is done, in words.
        """
        return announced_bar(total, activity)

    def each(
        self, samples: Samples, numbers: Iterable[int] | None = None, *, log: PassLog | None = None
    ) -> Iterator[tuple[Sample, Evidence]]:
        """Yield the images that can be read, each with its evidence in the categories of the task.

        Parameters
        ----------
        samples : Samples
            The images.
        numbers : iterable of int, optional
            Which of them; all by default.
        log : PassLog, optional
            Receives what cannot be read, and the time spent.

        Yields
        ------
        tuple of Sample and Evidence
            With the boxes of the reference, where there is one.
        """
        for _, sample, evidence in self.stream(samples, self._launch, numbers, log=log):
            evidence = evidence.relabel(self.lookup)
            if self.settings.reference is not None:
                reference = self.settings.reference.find(self.task, samples, sample)
                evidence = replace(evidence, reference=reference)
            yield sample, evidence

    def stream(
        self,
        samples: Samples,
        launch: Launch[Seen],
        numbers: Iterable[int] | None = None,
        *,
        log: PassLog | None = None,
    ) -> Iterator[tuple[int, Sample, Seen]]:
        """Yield images with their numbers and what ``launch(images, image_ids)()`` makes of them.

        See `each`, which is this with the detector's plain pass, and `observe_batches`.

        Parameters
        ----------
        samples : Samples
            The images.
        launch : callable
            Begins to observe a batch, and returns what waits for it.
        numbers, log
            See `each`.

        Yields
        ------
        tuple of int, Sample and object
            In the order of `numbers`.
        """
        log, numbers = log or PassLog(), range(len(samples)) if numbers is None else numbers
        prepare = getattr(self.detector, "prepare", lambda image: None)
        workers = self.reading.workers(samples)
        batches = read_batches(
            samples, numbers, self.batch_size, log, workers=workers, prepare=prepare
        )
        yield from observe_batches(batches, launch, log)

    def context(self) -> dict[str, Any]:
        """Describe what boxes are found with, for an estimator to remember and to compare.

        Returns
        -------
        dict
            Plain values: ``detector``, its settings; ``pass``, those of the pass; ``task``, with
            ``name``, ``categories``, ``lookup`` (category of each label of the detector, -1 for
            none) and ``words``.
        """
        described = self.settings.to_dict()
        return {
            "detector": self.detector.settings,
            "pass": json.loads(json.dumps(described)),
            "task": {
                "name": self.task.name,
                "categories": list(self.task.categories),
                "lookup": [int(k) for k in self.lookup],
                "words": self._words(),
            },
        }

    def _words(self) -> dict[str, list[str]]:
        """Return the detector's words for each category."""
        words: dict[str, list[str]] = {name: [] for name in self.task.categories}
        for word, k in zip(self.detector.categories, self.lookup, strict=True):
            if k >= 0:
                words[self.task.categories[k]].append(word)
        return words

    @property
    def _launch(self) -> Launch[Evidence]:
        """What begins to observe a batch: the detector's ``launch``, or its ``observe``."""
        options, launch = self.settings.options, getattr(self.detector, "launch", None)
        if launch is not None:
            return partial(launch, **options)
        return at_once(partial(self.detector.observe, **options))
