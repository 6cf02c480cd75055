"""One run over many places: observe what is new, estimate, put in order."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from autoeval.data.image_folder import ImageFile
from autoeval.data.wording import listed
from autoeval.errors import InputError
from autoeval.estimation.estimator import MapEstimator
from autoeval.estimation.observation.observing import ImageDetector
from autoeval.estimation.observation.travelling import LoadDetector
from autoeval.monitoring.changes.place_changes import ChangeSettings, place_changes
from autoeval.monitoring.observing.observing_places import observe_places
from autoeval.monitoring.observing.place_images import PlaceImage, place_images
from autoeval.monitoring.observing.place_pass import PlacePass, Signals, place_observer
from autoeval.monitoring.order.place_table import place_table, with_changes
from autoeval.monitoring.records.record_store import RecordStore
from autoeval.monitoring.times.clock import Clock
from autoeval.monitoring.times.periods import check_by, doubts_of_time
from autoeval.monitoring.watched import Watched
from autoeval.report.numerals import counted
from autoeval.runtime.executors.base import Executor
from autoeval.runtime.jobs import JobCounts
from autoeval.runtime.shards import Shards


@dataclass(frozen=True)
class WatchPlan:
    """What is asked of places.

    Parameters
    ----------
    by : str
        See `autoeval.monitoring.times.periods.periods`.
    depth : int, optional
        Folders that name a place; all by default.
    k : int
        How many of the worst are asked for.
    seed : int
        Of every draw.
    changes : ChangeSettings, optional
        How changes are watched; not at all by default.

    Raises
    ------
    InputError
        If there is no such grouping, or a number is not positive.
    """

    by: str = "folder"
    depth: int | None = None
    k: int = 3
    seed: int = 0
    changes: ChangeSettings | None = None

    def __post_init__(self) -> None:
        check_by(self.by)
        for name, value in (("--depth", self.depth), ("--worst", self.k)):
            if value is not None and value < 1:
                raise InputError(f"Expected {name} of 1 or more but got {value}.")


def watch_places(
    files: Sequence[ImageFile],
    estimator: MapEstimator,
    detector: ImageDetector,
    store: RecordStore,
    plan: WatchPlan,
    *,
    clock: Clock,
    signals: Signals,
    categories: Mapping[str, Sequence[str]] | None = None,
    batch_size: int = 4,
    executor: Executor | None = None,
    shards: Shards | None = None,
    load: LoadDetector | None = None,
) -> Watched | None:
    """Observe the images that the store lacks, and tell how all places stand.

    Images that were observed once and are no longer there still count: a camera's history is what
    it is compared with.

    Parameters
    ----------
    files : sequence of ImageFile
    estimator : MapEstimator
        Of the method ``bayes``, fitted with the same detector.
    detector : ImageDetector
    store : RecordStore
    plan : WatchPlan
    clock, signals, load
        See `PlacePass`.
    categories : mapping, optional
        See `place_observer`.
    batch_size : int
        Changes no number.
    executor, shards
        Who observes; see `observe_places`.

    Returns
    -------
    Watched or None
        None in processes that help to observe and do not lead.

    Raises
    ------
    InputError
        If the estimator or the store is of another detector, or no image of any place can be read.
    """
    observer = place_observer(estimator, detector, categories=categories, batch_size=batch_size)
    images, vanished = place_images(files, depth=plan.depth)
    work, began = PlacePass(observer, clock, signals, load=load), time.time()
    counts = observe_places(images, work, store, executor=executor, shards=shards)
    if shards and not shards.leads:
        return None
    table = place_table(store, estimator, observer, by=plan.by, k=plan.k, seed=plan.seed)
    if plan.changes and table.names:
        table = with_changes(table, place_changes(store, plan.changes, table.level_of))
    index = store.index()
    if not table.names:
        reasons = "; ".join(index["unreadable"].head(3)) or "they vanished"
        raise InputError(f"None of the {len(files)} images can be read: {reasons}")
    problems = (*_lost(images, vanished, index, counts), *_unreadable(index), *_times(index, plan))
    clocks = {str(name): int(n) for name, n in index["taken_from"].value_counts().items()}
    n_new = int((index["observed_s"].astype(float) >= began).sum())
    return Watched(table, estimator.target, plan.by, problems, clocks, n_new)


def _lost(
    images: Sequence[PlaceImage], vanished: Sequence[str], index: pd.DataFrame, counts: JobCounts
) -> Iterator[str]:
    seen = set(index["file_name"])
    lost = [*vanished, *(i.file.image_id for i in images if i.file.image_id not in seen)]
    if lost:
        yield f"vanished during the run: {counted(len(lost), 'image')} ({listed(lost)})"
    for error in list(dict.fromkeys(counts.failed.values()))[:3]:
        yield f"could not be observed: {counted(len(counts.failed), 'batch', 'batches')} ({error})"


def _unreadable(index: pd.DataFrame) -> Iterator[str]:
    lost = index[index["unreadable"] != ""]
    if len(lost):
        yield f"cannot be read: {counted(len(lost), 'image')} ({'; '.join(lost['unreadable'][:3])})"


def _times(index: pd.DataFrame, plan: WatchPlan) -> Iterator[str]:
    for group, rows in index.groupby("group"):
        yield from (f"{group}: {doubt}" for doubt in doubts_of_time(rows, plan.by))
