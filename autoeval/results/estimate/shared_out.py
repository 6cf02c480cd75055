"""Unlabelled images shared out among the workers of an executor, and brought together again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from autoeval.data.unlabelled import UnlabelledImage
from autoeval.estimation.observation.least_stable import LeastStableImages
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.samples import UnlabelledSamples
from autoeval.estimation.observation.travelling import LoadDetector, TravellingObserver
from autoeval.runtime.executors.base import Executor
from autoeval.runtime.job import Advance, Job
from autoeval.runtime.progress import announced_bar

IN_PART = 64
T = TypeVar("T")


class PartOfImages(TravellingObserver):
    """Observes the images of a job, the first of which has the number ``offset`` in the whole."""

    def __call__(self, job: Job, advance: Advance) -> list[dict[str, Any]]:
        """Return one row: ``offset``, and what the pass adds up."""
        offset, images = job.payload
        least_stable, samples = LeastStableImages(), UnlabelledSamples(images)
        tally = self.observer.tally(
            samples, range(len(images)), advance=advance, watch=least_stable.update
        )
        lost = tally.log.unreadable.items()
        tally.log.unreadable = {offset + number: reason for number, reason in lost}
        return [{"offset": offset, "added_up": (tally, least_stable)}]


class SharedOut:
    """Shards that are done: this process has nothing to observe, and gathers what others saw.

    Parameters
    ----------
    parts : sequence of tuple
        What was added up in each part, in the order of the images.
    """

    leads = True

    def __init__(self, parts: Sequence[tuple[Any, ...]]) -> None:
        self._parts = parts

    def part(self, n: int) -> range:
        """Return no position."""
        return range(0)

    def gather(self, item: T) -> list[T]:
        """Return what is of the type of `item` in each part."""
        return [one for part in self._parts for one in part if type(one) is type(item)]


def share_out(
    observer: Observer,
    images: Sequence[UnlabelledImage],
    executor: Executor,
    *,
    load: LoadDetector | None = None,
    in_part: int = IN_PART,
) -> SharedOut:
    """Observe images on the workers of an executor; no number differs from those of one process.

    Parameters
    ----------
    observer : Observer
    images : sequence of UnlabelledImage
    executor : Executor
    load : callable, optional
        See `TravellingObserver`.
    in_part : int
        Neighbouring images that a worker is given together.

    Raises
    ------
    InputError
        If a worker loads another detector.
    OSError
        If a part could not be observed.
    """
    jobs = [
        Job(f"images-{k}", len(images[k : k + in_part]), (k, list(images[k : k + in_part])))
        for k in range(0, len(images), in_part)
    ]
    rows, work = [], PartOfImages(observer, load=load)
    with announced_bar(len(images), "observing images") as bar:
        for job, outcome in executor.run(jobs, work, bar.update):
            if outcome.error:
                raise OSError(f"{job.key} to {job.payload[0] + job.size - 1}: {outcome.error}")
            rows += outcome.rows
    return SharedOut([row["added_up"] for row in sorted(rows, key=lambda row: row["offset"])])
