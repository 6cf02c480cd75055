"""The pass over the images of many sites, here or in other processes."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from autoeval.detections import Detections
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.observation.observing import ImageDetector, Observer
from autoeval.estimation.observation.pass_log import PassLog
from autoeval.estimation.observation.presets import light
from autoeval.estimation.observation.samples import UnlabelledSamples
from autoeval.estimation.observation.travelling import LoadDetector, TravellingObserver
from autoeval.estimation.site import any_task
from autoeval.monitoring.observing.site_images import (
    HALF,
    SiteImage,
    expected_categories,
    needed_passes,
    unseen,
)
from autoeval.monitoring.site_records import CameraImage, RecordStore, row_of
from autoeval.monitoring.times.clock import Clock
from autoeval.runtime.job import Advance, Executor, Job
from autoeval.runtime.jobs import JobCounts, run_jobs
from autoeval.runtime.shards import Shards, Undivided

Signals = Callable[[np.ndarray], Mapping[str, float]]
IN_BATCH = 128


def site_observer(
    estimator: AccuracyEstimator,
    detector: ImageDetector,
    *,
    categories: Mapping[str, Sequence[str]] | None = None,
    batch_size: int = 4,
) -> Observer:
    """Make the pass that an estimator needs of sites: the plain one, and that at half the size.

    Parameters
    ----------
    estimator : AccuracyEstimator
    detector : ImageDetector
    categories : mapping of str to sequence of str, optional
        See `expected_categories`.
    batch_size : int
        Changes no number.

    Raises
    ------
    InputError
        As `needed_passes` and `expected_categories`; if the detector is another one.
    """
    half_size = HALF in needed_passes(estimator)
    categories = expected_categories(estimator, categories)
    estimator.check_detector(detector)
    task = any_task(categories, detector.categories)
    settings = replace(light(), wants=(HALF,) if half_size else ())
    return Observer(detector, task, settings, batch_size=batch_size)


class SitePass(TravellingObserver):
    """Observes the `SiteImage` of a job and returns the rows of a `RecordStore`.

    Parameters
    ----------
    observer : Observer
        From `site_observer`.
    clock : Clock
    signals : callable
        From an image (H, W, 3), uint8, BGR, to signals of its pixels, by name.
    load : callable, optional
        See `TravellingObserver`.
    """

    def __init__(
        self,
        observer: Observer,
        clock: Clock,
        signals: Signals,
        *,
        load: LoadDetector | None = None,
    ) -> None:
        super().__init__(observer, load=load)
        self.clock = clock
        self.signals = signals

    def __call__(self, job: Job, advance: Advance) -> list[dict[str, Any]]:
        """Observe a batch; files that vanished leave no row, others that cannot be read a reason.

        Raises
        ------
        FileNotFoundError
            If all have vanished.
        """
        images: Sequence[SiteImage] = job.payload
        by_name, log = {image.file.image_id: image for image in images}, PassLog()
        samples = UnlabelledSamples([image.file for image in images])
        rows = []
        for sample, evidence in self.observer.each(samples, log=log):
            image = by_name[sample.image_id]
            record = CameraImage(
                sample.image_id,
                evidence.image_size,
                None,
                image.group,
                evidence.clean,
                evidence.half_size,
                self.signals(sample.image),
            )
            rows.append(self._row(record, image))
            advance(1)
        lost = {images[k]: reason for k, reason in log.unreadable.items()}
        rows += [self._unreadable(i, why) for i, why in lost.items() if i.file.path.exists()]
        if not rows:
            raise FileNotFoundError(f"{images[0].file.path} and all {len(images)} of its batch")
        return rows

    @property
    def made_with(self) -> dict[str, Any]:
        """What its records depend on, as nested plain values."""
        context = self.observer.context()
        passed = {**context["pass"], "half_size": HALF in self.observer.settings.wants}
        return {**context, "pass": passed, "time": self.clock.source}

    def _row(self, record: CameraImage, image: SiteImage, why: str = "") -> dict[str, Any]:
        taken, source = self.clock.read(image.file.path, image.file.image_id)
        return {
            **row_of(replace(record, taken=taken)),
            "stamp": image.stamp,
            "taken_from": source,
            "unreadable": why,
            "observed_s": time.time(),
        }

    def _unreadable(self, image: SiteImage, why: str) -> dict[str, Any]:
        nothing = CameraImage(image.file.image_id, (0, 0), None, image.group, Detections.empty())
        return self._row(nothing, image, why)


def observe_sites(
    images: Sequence[SiteImage],
    work: SitePass,
    store: RecordStore,
    *,
    executor: Executor | None = None,
    shards: Shards | None = None,
    in_batch: int = IN_BATCH,
) -> JobCounts:
    """Observe the images that a store does not hold yet, batch by batch.

    Parameters
    ----------
    images : sequence of SiteImage
    work : SitePass
    store : RecordStore
    executor : Executor, optional
        Where batches are observed; this process by default.
    shards : Shards, optional
        Processes that share the batches, each doing those that no other has claimed.
    in_batch : int
        Images a batch, which is what a kill loses at most; changes no number.

    Raises
    ------
    InputError
        If the store holds what another detector, or other settings, left of the images.
    """
    store.check(work.made_with)
    shards = shards or Undivided()
    # The same jobs in all processes, though some may look when others have begun.
    jobs, *_ = shards.gather(_jobs(images, work, store, in_batch) if shards.leads else [])
    return run_jobs(jobs, work, store.rows, what="observing images", executor=executor)


def _jobs(
    images: Sequence[SiteImage], work: SitePass, store: RecordStore, in_batch: int
) -> list[Job]:
    store.tidy()
    index = store.index()
    new = unseen(images, zip(index["file_name"], index["stamp"], strict=True))
    fingerprint = work.observer.detector.fingerprint
    return [_job(new[k : k + in_batch], fingerprint) for k in range(0, len(new), in_batch)]


def _job(images: Sequence[SiteImage], fingerprint: str) -> Job:
    content = repr((fingerprint, [(image.file.image_id, image.stamp) for image in images]))
    key = hashlib.sha256(content.encode()).hexdigest()[:20]
    return Job(key, len(images), tuple(images))
