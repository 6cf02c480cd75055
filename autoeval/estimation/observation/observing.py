"""The pass: each image is read and observed once, and what that leaves behind feeds everything."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from tqdm import tqdm
from typing_extensions import Self

from autoeval.data.tasks.labelled_samples import Sample, Samples
from autoeval.data.tasks.task import Task
from autoeval.detections import Evidence
from autoeval.detectors.forward.dropout_spec import DropoutSpec
from autoeval.estimation.intervals import N_BLOCKS, RESAMPLED
from autoeval.estimation.observation.presets import Measure, PassSettings
from autoeval.estimation.observation.samples import (
    Observe,
    PassLog,
    Seen,
    blocks_of_read,
    observe_batches,
    read_batches,
)
from autoeval.metrics.mean_ap import MeanAP
from autoeval.runtime.progress import announced_bar
from autoeval.runtime.shards import Shards, Undivided
from autoeval.scores.registry import scores
from autoeval.scores.score_set import ScoreSet

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


class Tally:
    """What a pass adds up, image by image."""

    def __init__(self, categories: tuple[str, ...], settings: PassSettings) -> None:
        self.accuracy = MeanAP(categories)
        self.measures: list[Measure] = [measure.make() for measure in settings.measures]
        self.scores = _score_set(settings)
        several = categories if len(categories) > 1 else ()
        by_box = [n for n, s in scores().items() if not s.per_image]
        self.by_category = {name: _score_set(settings, by_box) for name in several}
        self.n_images = 0
        self.log = PassLog()

    def update(self, sample: Sample, evidence: Evidence) -> None:
        """Take in one image."""
        self.n_images += 1
        for measure in (self.accuracy, *self.measures):
            measure.update(evidence.clean, sample.boxes, sample.labels, sample.iscrowd)
        self.scores.update(evidence)
        for k, of_category in enumerate(self.by_category.values()):
            only = np.full(len(self.by_category), -1)
            only[k] = 0
            of_category.update(evidence.relabel(only))

    def merge(self, other: Self) -> None:
        """Take in what ``other`` has seen of the images that come after those seen here.

        Accuracy is then that of the whole to the last bit, scores up to rounding.
        """
        self.n_images += other.n_images
        self.log.merge(other.log)
        self.accuracy.merge(other.accuracy)
        for mine, theirs in zip(self.measures, other.measures, strict=True):
            mine.merge(theirs)
        self.scores.merge(other.scores)
        for name, of_category in self.by_category.items():
            of_category.merge(other.by_category[name])

    def rows(self) -> list[dict[str, Any]]:
        """Return one row a repeat; see `Observer.rows`."""
        self.log.check(self.n_images)
        with self.log.timed("map_s"):
            accuracy = self.accuracy.compute()
            for measure in self.measures:
                accuracy |= measure.compute()
        shared = {
            "n_images": self.n_images,
            "n_boxes": self.accuracy.n_boxes,
            "n_unreadable": len(self.log.unreadable),
            "unreadable": "; ".join(self.log.unreadable.values()),
            "absent": json.dumps(self.scores.absent, sort_keys=True),
            **self.log.seconds,
        }
        rows = [
            {"repeat": repeat, **shared, **accuracy, **features}
            for repeat, features in enumerate(self.scores.rows())
        ]
        for name, of_category in self.by_category.items():
            for row, features in zip(rows, of_category.rows(), strict=True):
                row |= {f"{feature}/{name}": value for feature, value in features.items()}
        return rows


def _score_set(settings: PassSettings, names: Collection[str] | None = None) -> ScoreSet:
    domain = settings.domain
    return ScoreSet(
        settings.stability,
        repeats=settings.repeats,
        reference=domain.features if domain else None,
        source_threshold=domain.threshold if domain else None,
        names=names,
    )


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

    def changed(self, **settings: Any) -> Observer[D]:
        """Return the same with other settings."""
        changed = replace(self.settings, **settings)
        return Observer(self.detector, self.task, changed, batch_size=self.batch_size)

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
        """Yield the images that can be read, each with its evidence in the categories of the task.

        numbers: which of them; all by default. log: receives what cannot be read, and the time
            spent.
        """
        for _, sample, evidence in self.stream(samples, self._observe, numbers, log=log):
            evidence = evidence.relabel(self.lookup)
            if self.settings.reference is not None:
                found = self.settings.reference.find(self.task, samples, sample)
                evidence = replace(evidence, reference=found)
            yield sample, evidence

    def stream(
        self,
        samples: Samples,
        observe: Observe[Seen],
        numbers: Iterable[int] | None = None,
        *,
        log: PassLog | None = None,
    ) -> Iterator[tuple[int, Sample, Seen]]:
        """Yield images with their numbers and what ``observe(images, image_ids)`` makes of them.

        See `each`, which is this with the detector's plain `observe`, and `observe_batches`.
        """
        log, numbers = log or PassLog(), range(len(samples)) if numbers is None else numbers
        yield from observe_batches(
            read_batches(samples, numbers, self.batch_size, log), observe, log
        )

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

        advance: called with the number of images done; watch: with the evidence of each. With
            `shards` both hear of the images of this process alone; the rows are of the whole in all
            of them.
        resamples: draw the images again as often, with replacement, by the seed of the settings;
            where the samples have ``blocks``, block by block.
        Returned: one row a repeat: ``repeat``, ``n_images``, ``n_boxes``, ``n_unreadable``,
            ``unreadable`` (names and reasons), ``absent`` (JSON: why a score is not there), seconds
            spent, the features, ``mAP``, ``mAP50``, ``mAP75`` (NaN without labels), and what else
            the settings measure. With `resamples` also ``resampled``, the features of the sets
            drawn again by name, (resamples,), and ``n_blocks``, how many blocks they were drawn
            from.
        """
        shards = shards or Undivided()
        tally = self.tally(samples, shards.part(len(samples)), advance=advance, watch=watch)
        whole, *others = shards.gather(tally)
        for other in others:
            whole.merge(other)
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
        """Describe what scores are made with, for an estimator to remember and to compare.

        Without the number of repeats and the further evidence: each stands on its own.
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
