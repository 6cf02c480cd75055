"""The pass: each image is read and observed once, and what that leaves behind feeds everything."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from tqdm import tqdm

from autoeval.detections import Evidence
from autoeval.detectors.forward.dropout_spec import DropoutSpec
from autoeval.estimation.intervals import N_BLOCKS, RESAMPLED
from autoeval.estimation.observation.pass_log import FailingImages, Observe, PassLog, Seen
from autoeval.estimation.observation.presets import PassSettings
from autoeval.estimation.observation.samples import blocks_of_read, read_batches
from autoeval.estimation.observation.tally import Tally, merged
from autoeval.metasets.sample_set import Sample, Samples
from autoeval.metasets.task import Task
from autoeval.runtime.progress import announced_bar
from autoeval.runtime.shards import Shards, Undivided

OBSERVING = "observing images"


class ImageDetector(Protocol):
    """A detector as a pass sees it: `autoeval.detectors.Detector`, or a black box."""

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
        *,
        dropout: DropoutSpec | None = None,
        repeats: int = 0,
        seed: int = 0,
        wants: Collection[str] = (),
    ) -> list[Evidence]:
        """Return what it leaves of each image; see `autoeval.detectors.Detector.observe`."""


D = TypeVar("D", bound=ImageDetector)


class Observer(Generic[D]):
    """Observes images with one detector, for one task, under one set of settings.

    task: its categories, and the detector's words for them; its data is not looked at.
    """

    def __init__(
        self,
        detector: D,
        task: Task,
        settings: PassSettings | None = None,
        *,
        batch_size: int = 4,
    ) -> None:
        self.detector = detector
        self.task = task
        self.settings = settings or PassSettings()
        self.batch_size = batch_size

    def __repr__(self) -> str:
        return f"<Observer of '{self.task.name}' by {self.detector!r}>"

    @cached_property
    def lookup(self) -> np.ndarray:
        """Task category of each detector category, -1 for none; of shape (K,), int."""
        return self.task.lookup(self.detector.categories)

    def begin(
        self, samples: Samples, total: int, what: str = OBSERVING, *, disable: bool = False
    ) -> tqdm:
        """Begin a pass over ``total`` of the samples: return its bar; see `announced_bar`."""
        return announced_bar(total, what, disable=disable)

    def each(
        self, samples: Samples, numbers: Iterable[int] | None = None, *, log: PassLog | None = None
    ) -> Iterator[tuple[Sample, Evidence]]:
        """Yield the images that can be read, each with what the detector leaves of it.

        numbers: which of them; all by default.
        log: receives what cannot be read, and the time spent.
        Yielded: sample; evidence (labelled by the categories of the task).
        """
        for _, sample, evidence in self.stream(samples, self._observe, numbers, log=log):
            evidence = evidence.relabel(self.lookup)
            if self.settings.teacher is not None:
                found = self.settings.teacher.find(self.task, samples, sample)
                evidence = replace(evidence, teacher=found)
            yield sample, evidence

    def stream(
        self,
        samples: Samples,
        observe: Observe[Seen],
        numbers: Iterable[int] | None = None,
        *,
        log: PassLog | None = None,
    ) -> Iterator[tuple[int, Sample, Seen]]:
        """Yield images with their numbers and what ``observe(images, image_ids)`` says of them.

        See `each`, which is this with the detector's plain `observe`. Images on which it fails are
        named in the log; its error is raised if it fails on eight before it has seen any.
        """
        log, numbers = log or PassLog(), range(len(samples)) if numbers is None else numbers
        failing = FailingImages(observe, log)
        for batch in read_batches(samples, numbers, self.batch_size, log):
            yield from failing.observe(batch)

    def rows(
        self,
        samples: Samples,
        *,
        advance: Callable[[int], object] = lambda n: None,
        watch: Callable[[Evidence], object] = lambda evidence: None,
        shards: Shards | None = None,
        resamples: int = 0,
    ) -> list[dict[str, Any]]:
        """Compute all scores of a set of images, and mAP where there are labels.

        advance: called with the number of images done, for a progress bar.
        watch: called with the evidence of each image, labelled by the categories of the task.
        shards: which processes share the images; all return the rows of the whole, with the seconds
            of all processes added up. ``advance`` and ``watch`` hear of the images of this process
            alone.
        resamples: draw the images again as often, with replacement, by the seed of the settings;
            where the samples have ``blocks``, block by block.
        Returned: one row a repeat: ``repeat``, ``n_images``, ``n_boxes``, ``n_unreadable``,
            ``unreadable`` (names and reasons), ``absent`` (JSON: why a score is not there), seconds
            spent, the features, and ``mAP``, ``mAP50``, ``mAP75`` (NaN without labels), and what
            else the settings measure. With `resamples` also ``resampled``: the features of the sets
            drawn again, a dict of feature to ndarray of shape (resamples,), the same draws in all
            repeats, and ``n_blocks``, how many blocks they were drawn from.
        """
        shards = shards or Undivided()
        tally = self.tally(samples, shards.part(len(samples)), advance=advance, watch=watch)
        whole = merged(shards.gather(tally))
        rows = whole.rows()
        if not resamples:
            return rows
        blocks = blocks_of_read(samples, whole.log.unreadable)
        drawn = whole.scores.resample(resamples=resamples, seed=self.settings.seed, blocks=blocks)
        more = {N_BLOCKS: int(blocks.max()) + 1}
        return [
            {**row, **more, RESAMPLED: features} for row, features in zip(rows, drawn, strict=True)
        ]

    def tally(
        self,
        samples: Samples,
        numbers: Iterable[int],
        *,
        advance: Callable[[int], object] = lambda n: None,
        watch: Callable[[Evidence], object] = lambda evidence: None,
    ) -> Tally:
        """Add up what is observed of some of the images; see `rows`."""
        tally = Tally(self.task.categories, self.settings)
        for sample, evidence in self.each(samples, numbers, log=tally.log):
            with tally.log.timed("scores_s"):
                tally.update(sample, evidence)
                watch(evidence)
            advance(1)
        return tally

    def context(self) -> dict[str, Any]:
        """Say what scores are made with, for an estimator to remember and to compare.

        The number of repeats and the further evidence are left out: each repeat and each score
        stands on its own.
        """
        described = self.settings.to_dict()
        del described["repeats"], described["wants"]
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

    def _observe(self, images: Sequence[np.ndarray], image_ids: Sequence[str]) -> list[Evidence]:
        settings = self.settings
        return self.detector.observe(
            images,
            image_ids,
            dropout=settings.dropout,
            repeats=settings.repeats,
            seed=settings.seed,
            wants=settings.wants,
        )
