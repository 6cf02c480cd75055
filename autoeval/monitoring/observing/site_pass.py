"""The images of sites, the passes that their estimates need, and the pass over them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autoeval.detections import Detections
from autoeval.errors import InputError
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.observation.detector_identity import LoadDetector, TravellingObserver
from autoeval.estimation.observation.observing import ImageDetector, Observer
from autoeval.estimation.observation.pass_settings import PassSettings
from autoeval.estimation.observation.reference_boxes import PredictionsReference, Reference
from autoeval.estimation.observation.samples import PassLog, UnlabelledSamples
from autoeval.estimation.pair_table import needs_of
from autoeval.estimation.site import own_words
from autoeval.io.image_folder import ImageFile
from autoeval.io.same_files import file_stamp
from autoeval.monitoring.periods import Clock
from autoeval.monitoring.site_records import CameraImage, RecordStore, row_of
from autoeval.runtime.job import Advance, Executor, Job
from autoeval.runtime.jobs import JobCounts, run_jobs
from autoeval.runtime.shards import Shards, Undivided

Signals = Callable[[np.ndarray], Mapping[str, float]]
NO_REFERENCE = (
    "This estimator was fitted with a reference detector: give the same one at the sites, too "
    "({}), or fit again without."
)
IN_BATCH = 128
ROOT = "."
HALF, REFERENCE = "half_size", "reference"


@dataclass(frozen=True)
class SiteImage:
    """An image file of a site; another stamp means another image, see `file_stamp`."""

    file: ImageFile
    group: str
    stamp: str


def site_of(name: str, depth: int | None = None) -> str:
    """Return the folder of a file, or its first ``depth`` folders; ``"."`` for the root.

    >>> site_of("gate/2026/03/1.jpg"), site_of("gate/2026/03/1.jpg", 1), site_of("1.jpg")
    ('gate/2026/03', 'gate', '.')
    """
    folders = name.split("/")[:-1]
    return "/".join(folders[:depth]) or ROOT


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


def needed_passes(estimator: AccuracyEstimator) -> frozenset[str]:
    """Return the passes beside the plain one that an estimator reads: `REFERENCE` or none."""
    return needs_of(estimator.regression_.features_)


def site_observer(
    estimator: AccuracyEstimator,
    detector: ImageDetector,
    *,
    reference: Reference | None = None,
    batch_size: int | None = None,
) -> Observer:
    """Make the pass that an estimator needs of sites: the plain one, and that at half the size.

    In the detector's own words. `reference` is run beside it; by default that of the fit, where it
    was a detector. Raises as `needed_passes`, if the detector is another one, and if a reference is
    missing, is read by nothing, or is predictions.
    """
    needed = needed_passes(estimator)
    estimator.check_detector(detector)
    if isinstance(reference, PredictionsReference):
        raise InputError(
            "Beside a detector that is run on the images of sites a reference detector is run, too "
            "(--detector reference=ALIAS): its results files belong to predictions "
            "(--predictions PATH reference=PATH)."
        )
    if reference is not None:
        estimator.pass_.check_read([REFERENCE])
    elif REFERENCE in needed:
        reference = estimator.pass_.load_reference()
        if reference is None:
            raise InputError(NO_REFERENCE.format("--detector reference=ALIAS"))
    settings = PassSettings(wants=(HALF,) if HALF in needed else (), reference=reference)
    return Observer(detector, own_words(detector), settings, batch_size=batch_size)


class SitePass(TravellingObserver):
    """Observes the `SiteImage` of a job and returns the rows of a `RecordStore`.

    `signals` makes of an image (H, W, 3), uint8, BGR, numbers of its pixels, by name.
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

        Raises FileNotFoundError if all have vanished.
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
                evidence.reference,
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

    A kill loses a batch at most. With `shards`, each process does those that no other has claimed.
    Raises InputError if the store holds what another detector, or other settings, left of the
    images.
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
    observed = set(zip(index["file_name"], index["stamp"], strict=True))
    new = [image for image in images if (image.file.image_id, image.stamp) not in observed]
    fingerprint, jobs = work.observer.detector.fingerprint, []
    for k in range(0, len(new), in_batch):
        batch = tuple(new[k : k + in_batch])
        content = repr((fingerprint, [(image.file.image_id, image.stamp) for image in batch]))
        key = hashlib.sha256(content.encode()).hexdigest()[:20]
        jobs.append(Job(key, len(batch), batch))
    return jobs
