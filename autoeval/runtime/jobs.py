"""Jobs that run once, whose failures become rows, and what runs them; items made in threads.

`run_jobs` runs those of some jobs that a `JobStore` lacks, by an `Executor`: `LocalExecutor` here,
`autoeval.runtime.ray_executor.RayExecutor` on a cluster. Passes over images, sample sets and
searches are jobs. `Ahead`, `Behind` and `as_done` are threads for what waits for disks and
networks.
"""

from __future__ import annotations

import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from autoeval.errors import InputError
from autoeval.runtime.files import alone_in
from autoeval.runtime.progress import announced_bar

Rows = list[dict[str, Any]]
Advance = Callable[[int], object]
Item = TypeVar("Item")
Result = TypeVar("Result")
Key = TypeVar("Key")


@dataclass(frozen=True)
class Job:
    """One unit of work whose rows stand or fall together.

    Parameters
    ----------
    key : str
        Equal keys, fit for a file name, mean equal results.
    size : int
        Number of items, such as images.
    payload : object, optional
        Whatever the work function needs.
    columns : dict
        Of a row that a failure leaves.
    """

    key: str
    size: int
    payload: Any = None
    columns: dict[str, Any] = field(default_factory=dict)


class Work(Protocol):
    """What is done for a job: ``work(job, advance) -> rows``, with ``advance(n)`` after n items.

    Work that is costly to set up may have a method ``prepare()``, which is called before each job
    and has nothing to do the second time. To go to another process, work is pickled.
    """

    def __call__(self, job: Job, advance: Advance, /) -> Rows:
        """Do one job."""
        ...


@dataclass(frozen=True)
class Outcome:
    """How a job ended.

    Parameters
    ----------
    rows : list of dict
        What it made; none where it failed.
    seconds : float
        How long it took.
    error : str
        Type and message of an error; empty without one.
    detail : str
        Where it was raised.
    """

    rows: Rows
    seconds: float
    error: str = ""
    detail: str = ""


def prepare(work: Work) -> None:
    """Set work up in this process, where it has a method ``prepare``.

    Parameters
    ----------
    work : Work
        What jobs run.
    """
    getattr(work, "prepare", lambda: None)()


def attempt(work: Work, job: Job, advance: Advance) -> Outcome:
    """Do a job; an error becomes its outcome.

    Parameters
    ----------
    work : Work
        What is done.
    job : Job
        For which.
    advance : callable
        Called with a number of items that are done.

    Raises
    ------
    InputError
        If the work raises it: it is the user's, and no other job can do better.
    """
    start = time.perf_counter()
    try:
        rows = work(job, advance)
    except InputError:
        raise
    except Exception as error:
        message, detail = f"{type(error).__name__}: {error}", traceback.format_exc(limit=-3)
        return Outcome([], time.perf_counter() - start, message, detail)
    return Outcome(rows, time.perf_counter() - start)


class Executor(Protocol):
    """Runs jobs in some order and in any number of processes, with the same results."""

    def run(
        self, jobs: Iterable[Job], work: Work, advance: Advance
    ) -> Iterator[tuple[Job, Outcome]]:
        """Yield jobs as they end.

        Takes a job from ``jobs`` only when there is a worker for it, and starts nothing where there
        is no job.

        Parameters
        ----------
        jobs : iterable of Job
            What is to be done.
        work : Work
            What is done for each.
        advance : callable
            Called with a number of items that are done.

        Yields
        ------
        tuple of Job and Outcome

        Raises
        ------
        InputError
            If ``work`` raises it; this ends the run.
        """
        ...


class LocalExecutor:
    """Runs jobs one after another in this process."""

    def run(
        self, jobs: Iterable[Job], work: Work, advance: Advance
    ) -> Iterator[tuple[Job, Outcome]]:
        """Yield each job with its outcome as it ends; see `Executor.run`.

        Parameters
        ----------
        jobs : iterable of Job
            In the order in which they run.
        work : Work
            What a job runs.
        advance : callable
            Called with the number of items that are done.
        """
        for job in jobs:
            prepare(work)
            yield job, attempt(work, job, advance)


class JobStore(Protocol):
    """Where the rows of jobs are kept; a `RowStore`, or tables of one's own."""

    @property
    def folder(self) -> Path:
        """Where they lie, for messages."""
        ...

    def write_manifest(self, jobs: Sequence[Job], activity: str) -> None:
        """Keep the list of jobs.

        Parameters
        ----------
        jobs : sequence of Job
            All of the run.
        activity : str
            What is done, in words.
        """
        ...

    def finished(self, keys: Iterable[str]) -> set[str]:
        """Return the keys of jobs that ended well.

        Parameters
        ----------
        keys : iterable of str
            Of the jobs to look at.
        """
        ...

    def write(self, key: str, rows: list[dict[str, Any]]) -> None:
        """Keep the rows of a job.

        Parameters
        ----------
        key : str
            Of the job.
        rows : list of dict
            One for each row.
        """
        ...

    def write_failure(self, key: str, error: str, columns: Mapping[str, Any]) -> None:
        """Keep why a job failed.

        Parameters
        ----------
        key : str
            Of the job.
        error : str
            With its traceback.
        columns : mapping of str to Any
            Further columns of its row.
        """
        ...

    def clear(self, key: str) -> None:
        """Remove what a killed writer of a job left half written.

        Parameters
        ----------
        key : str
            Of the job.
        """
        ...


@dataclass(frozen=True)
class JobCounts:
    """How the jobs of a run ended.

    Parameters
    ----------
    reused, done : int
        Jobs that were found finished, and that ran well now.
    failed : dict of str to str
        Error by the key of each job that failed now.
    """

    reused: int
    done: int
    failed: dict[str, str]


def run_jobs(
    jobs: Sequence[Job],
    work: Work,
    store: JobStore,
    *,
    activity: str,
    executor: Executor | None = None,
) -> JobCounts:
    """Run the jobs that the store lacks.

    One process at a time runs jobs into a folder: another one waits for it. The store receives the
    list of jobs before they begin and the rows of each as soon as it ends.

    Parameters
    ----------
    jobs : sequence of Job
        All jobs of the run.
    work : Work
        ``work(job, advance) -> rows`` calls ``advance(n)`` after every n items.
    store : JobStore
        Where rows are kept, with ``job_s``, the seconds of their job.
    activity : str
        What is done, in words.
    executor : Executor, optional
        By default this process.

    Raises
    ------
    InputError
        If ``work`` raises it: this ends the run, as no other job can do better.
    KeyboardInterrupt
        Which says how much is kept.
    """
    with alone_in(store.folder):
        store.write_manifest(jobs, activity)
        finished = store.finished(job.key for job in jobs)
        waiting = [job for job in jobs if job.key not in finished]
        total = sum(job.size for job in jobs)
        run = _Run(store, total - sum(job.size for job in waiting))
        try:
            with announced_bar(total, activity, kept=run.kept) as bar:
                begun = run.begin(waiting)
                for job, outcome in (executor or LocalExecutor()).run(begun, work, bar.update):
                    run.record(job, outcome)
        except KeyboardInterrupt:
            kept = f"it goes on from the {run.kept} of {total} images that {store.folder} keeps"
            raise KeyboardInterrupt(kept) from None
    return JobCounts(len(finished), run.done, run.failed)


@dataclass
class _Run:
    """What came of the jobs of a run.

    Parameters
    ----------
    store : JobStore
        Where rows are kept.
    kept, done : int
        Items that the store has, and jobs that ran well now.
    failed : dict of str to str
        Error by the key of a job.
    """

    store: JobStore
    kept: int
    done: int = 0
    failed: dict[str, str] = field(default_factory=dict)

    def begin(self, waiting: Sequence[Job]) -> Iterator[Job]:
        """Yield one job after another, without what a killed writer left of it."""
        for job in waiting:
            self.store.clear(job.key)
            yield job

    def record(self, job: Job, outcome: Outcome) -> None:
        """Write what came of a job."""
        if outcome.error:
            self.failed[job.key] = outcome.error
            error = f"{outcome.error}\n{outcome.detail}"
            columns = {"job_s": outcome.seconds, **job.columns}
            self.store.write_failure(job.key, error, columns)
        else:
            self.store.write(job.key, [{**row, "job_s": outcome.seconds} for row in outcome.rows])
            self.done += 1
            self.kept += job.size


def as_done(
    work: Callable[[Item], Result], items: Iterable[Item], workers: int
) -> Iterator[Result]:
    """Yield what becomes of each item, as soon as it is there.

    One worker takes them in turn, in the thread of the caller; several call ``work`` at once, and
    whoever is done first is first. When the caller stops, or an item raises, no further one is
    begun.

    Parameters
    ----------
    work : callable
        From an item to a result.
    items : iterable
        With several workers it is read to its end at once.
    workers : int
        Number of threads.

    Examples
    --------
    >>> list(as_done(str.upper, "abc", 1)), sorted(as_done(str.upper, "abc", 3))
    (['A', 'B', 'C'], ['A', 'B', 'C'])
    """
    if workers <= 1:
        yield from map(work, items)
        return
    pool = ThreadPoolExecutor(workers, thread_name_prefix="worker")
    try:
        for future in as_completed([pool.submit(work, item) for item in items]):
            yield future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


class Ahead(Generic[Key, Item]):
    """Makes items in other threads, a few before they are asked for, and gives them in order.

    Parameters
    ----------
    make : callable
        From a key to an item.
    keys : iterable
        Of the items.
    depth : int
        So many items at most are made or being made that nobody has asked for yet.
    workers : int
        Threads that call `make`; with 0 the caller makes each item when it asks for it.

    Examples
    --------
    >>> with Ahead(str.upper, "abc", depth=2) as letters:
    ...     [letter() for letter in letters]
    ['A', 'B', 'C']
    """

    def __init__(
        self, make: Callable[[Key], Item], keys: Iterable[Key], *, depth: int, workers: int = 1
    ) -> None:
        self.make = make
        self.keys = keys
        self.depth = depth
        self.workers = workers

    def __enter__(self) -> Iterator[Callable[[], Item]]:
        """Begin; for each key there is a function that waits for its item, or raises its error."""
        self._threads = ThreadPoolExecutor(max(self.workers, 1), thread_name_prefix="ahead")
        return self._each()

    def __exit__(self, *error: object) -> None:
        """Wait for the items in work and make no more."""
        self._threads.shutdown(cancel_futures=True)

    def _each(self) -> Iterator[Callable[[], Item]]:
        """Yield what waits for each item; see `__enter__`."""
        if not self.workers:
            yield from (partial(self.make, key) for key in self.keys)
            return
        waiting: deque[Future[Item]] = deque()
        for key in self.keys:
            waiting.append(self._threads.submit(self.make, key))
            if len(waiting) > self.depth:
                yield waiting.popleft().result
        while waiting:
            yield waiting.popleft().result


class Behind:
    """Does work in another thread, in the order in which it is given, at most a few calls behind.

    An error of the work is raised by a later call, or at the end.

    Parameters
    ----------
    work : callable
        What is done with the arguments of each call.
    depth : int
        Calls that may wait.

    Examples
    --------
    >>> done = []
    >>> with Behind(done.append, depth=2) as later:
    ...     for letter in "abc":
    ...         later(letter)
    >>> done
    ['a', 'b', 'c']
    """

    def __init__(self, work: Callable[..., object], *, depth: int) -> None:
        self.work = work
        self.depth = depth

    def __enter__(self) -> Callable[..., None]:
        """Begin; what is returned takes the arguments of a call."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="behind")
        self._waiting: deque[Future[object]] = deque()
        return self._later

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        """Wait for all that was given; after an error of the body, for what has begun alone."""
        self._thread.shutdown(cancel_futures=kind is not None)
        while kind is None and self._waiting:
            self._waiting.popleft().result()

    def _later(self, *arguments: object) -> None:
        """Give one call of the work; waits where too many do, and raises an earlier error."""
        self._waiting.append(self._thread.submit(self.work, *arguments))
        while len(self._waiting) > self.depth or (self._waiting and self._waiting[0].done()):
            self._waiting.popleft().result()
