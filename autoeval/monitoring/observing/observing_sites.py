"""Observing what is new at many sites; what was seen before is not observed again."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from autoeval.monitoring.observing.site_images import SiteImage, unseen
from autoeval.monitoring.observing.site_pass import SitePass
from autoeval.monitoring.records.record_store import RecordStore
from autoeval.runtime.executors.base import Executor
from autoeval.runtime.job import Job
from autoeval.runtime.jobs import JobCounts, run_jobs
from autoeval.runtime.shards import Shards, Undivided

IN_BATCH = 128


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
