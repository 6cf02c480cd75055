"""The images of sites, the passes that their estimates need, and the pass over them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autoeval.detections import Detections
from autoeval.errors import InputError
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.observation.detector_identity import LoadDetector, TravellingObserver
from autoeval.estimation.observation.observing import ImageDetector, Observer
from autoeval.estimation.observation.pass_settings import PassSettings
from autoeval.estimation.observation.reference_boxes import PredictionsReference, Reference
from autoeval.estimation.observation.samples import ImageLoading, PassLog, UnlabelledSamples
from autoeval.estimation.run_detector import fitted_reference, own_words
from autoeval.io.image_lists import ImageFile
from autoeval.io.same_files import file_stamp
from autoeval.model.features import REFERENCE_FEATURES
from autoeval.monitoring.monitor_store import (
    BOX,
    CameraImage,
    ImageRow,
    MonitorStore,
    box_rows,
    site_of,
)
from autoeval.monitoring.windows import Clock
from autoeval.runtime.jobs import Advance, Executor, Job, JobCounts, run_jobs

IN_BATCH = 128
REFERENCE = "reference"


@dataclass(frozen=True)
class SiteImage:
    """An image file of a site; another stamp means another image, see `file_stamp`."""

    file: ImageFile
    site: str
    stamp: str


def site_images(
    files: Iterable[ImageFile], *, depth: int | None = None
) -> tuple[list[SiteImage], list[str]]:
    """Look at the files of all sites, and name those that are no longer there; none is opened."""
    images, vanished = [], []
    for file in files:
        try:
            stamp = file_stamp(file.path)
        except OSError:
            vanished.append(file.image_id)
            continue
        images.append(SiteImage(file, site_of(file.image_id, depth), stamp))
    return images, vanished


def site_observer(
    estimator: AccuracyEstimator,
    detector: ImageDetector,
    *,
    reference: Reference | None = None,
    reading: ImageLoading | None = None,
) -> Observer:
    """Make the plain pass over the images of sites, in the detector's own words.

    `reference` is run beside it; by default that of the fit, where it was a detector. Raises
    InputError if the detector is another one, and if a reference is missing, is read by nothing, or
    is predictions.
    """
    if isinstance(reference, PredictionsReference):
        raise InputError(
            "Beside a detector that is run on the images of sites a reference detector is run, too "
            "(--reference ALIAS): its results files belong to --predictions."
        )
    if reference is None and {*REFERENCE_FEATURES} & {*estimator.regression_.features_}:
        reference = fitted_reference(estimator.loading_)
    estimator.check_reference(reference is not None)
    estimator.check_detector(detector)
    settings = PassSettings(reference=reference)
    return Observer(detector, own_words(detector), settings, reading=reading)


class SitePass(TravellingObserver):
    """Observes the `SiteImage` of a job and returns an `ImageRow` of each, as ``row``."""

    def __init__(
        self, observer: Observer, clock: Clock, *, load: LoadDetector | None = None
    ) -> None:
        super().__init__(observer, load=load)
        self.clock = clock

    def __call__(self, job: Job, advance: Advance) -> list[dict[str, Any]]:
        """Observe a batch; files that vanished leave no row, others that cannot be read a reason.

        Raises FileNotFoundError if all have vanished.
        """
        images: Sequence[SiteImage] = job.payload
        by_name, log = {image.file.image_id: image for image in images}, PassLog()
        samples = UnlabelledSamples([image.file for image in images])
        rows = []
        for sample, evidence in self.observer.each(samples, log=log):
            image = by_name[sample.image_id]
            reference = None if evidence.reference is None else _rows_of(evidence.reference)
            rows.append(self._row(image, evidence.image_size, _rows_of(evidence.clean), reference))
            advance(1)
        for k, reason in log.unreadable.items():
            if images[k].file.path.exists():
                rows.append(self._row(images[k], (0, 0), np.empty(0, BOX), why=reason))
        if not rows:
            raise FileNotFoundError(f"{images[0].file.path} and all {len(images)} of its batch")
        return [{"row": row} for row in rows]

    @property
    def made_with(self) -> dict[str, Any]:
        """What its records depend on, as nested plain values."""
        return {**self.observer.context(), "time": self.clock.source}

    def _row(
        self,
        image: SiteImage,
        size: tuple[int, int],
        boxes: np.ndarray,
        reference: np.ndarray | None = None,
        why: str = "",
    ) -> ImageRow:
        taken, source = self.clock.read(image.file.path, image.file.image_id)
        record = CameraImage(image.file.image_id, image.site, size, taken, boxes, reference)
        return ImageRow(record, image.stamp, source, why)


def _rows_of(found: Detections) -> np.ndarray:
    return box_rows(found.boxes, found.scores, found.labels)


class _StoredJobs:
    """A monitor's store as `run_jobs` sees it: jobs whose images are kept are finished."""

    def __init__(self, store: MonitorStore) -> None:
        self.store = store
        self.folder = store.folder

    def write_manifest(self, jobs: Sequence[Job], what: str) -> None:
        """Keep no list: the images themselves are known."""

    def finished(self, keys: Iterable[str]) -> set[str]:
        return self.store.finished(keys)

    def write(self, key: str, rows: list[dict[str, Any]]) -> None:
        self.store.add([row["row"] for row in rows], job=key)

    def write_failure(self, key: str, error: str, columns: Mapping[str, Any]) -> None:
        """Leave no row: the next run observes the images again."""

    def clear(self, key: str) -> None:
        """Nothing is ever half written."""


def observe_sites(
    images: Sequence[SiteImage],
    work: SitePass,
    store: MonitorStore,
    *,
    executor: Executor | None = None,
    in_batch: int = IN_BATCH,
) -> JobCounts:
    """Observe the images that a store does not hold yet, batch by batch.

    A kill loses a batch at most. Raises InputError if the store holds what another detector, or
    other settings, left of the images.
    """
    store.check(work.made_with)
    jobs = _jobs(images, work, store, in_batch)
    return run_jobs(jobs, work, _StoredJobs(store), what="observing images", executor=executor)


def _jobs(
    images: Sequence[SiteImage], work: SitePass, store: MonitorStore, in_batch: int
) -> list[Job]:
    index = store.index()
    observed = set(zip(index["name"], index["stamp"], strict=True))
    new = [image for image in images if (image.file.image_id, image.stamp) not in observed]
    fingerprint, jobs = work.observer.detector.fingerprint, []
    for k in range(0, len(new), in_batch):
        batch = tuple(new[k : k + in_batch])
        content = repr((fingerprint, [(image.file.image_id, image.stamp) for image in batch]))
        key = hashlib.sha256(content.encode()).hexdigest()[:20]
        jobs.append(Job(key, len(batch), batch))
    return jobs
