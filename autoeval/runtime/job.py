"""What a job is, what runs it, and how it ends."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from autoeval.errors import InputError

Rows = list[dict[str, Any]]
Advance = Callable[[int], object]


@dataclass(frozen=True)
class Job:
    """One unit of work whose rows stand or fall together.

    Equal keys, fit for a file name, mean equal results; `size` is the number of items, `payload`
    whatever the work function needs; a row that a failure leaves has `columns`.
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
    """How a job ended: rows, none where it failed, and of an error its type, message and place."""

    rows: Rows
    seconds: float
    error: str = ""
    detail: str = ""


def prepare(work: Work) -> None:
    """Set work up in this process, where it asks for that."""
    getattr(work, "prepare", lambda: None)()


def attempt(work: Work, job: Job, advance: Advance) -> Outcome:
    """Do a job; an error becomes its outcome, unless it is an `InputError`, the user's."""
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
        is no job. `InputError` from ``work`` ends the run.
        """
        ...


class LocalExecutor:
    """Runs jobs one after another in this process."""

    def run(
        self, jobs: Iterable[Job], work: Work, advance: Advance
    ) -> Iterator[tuple[Job, Outcome]]:
        """Yield each job as it ends."""
        for job in jobs:
            prepare(work)
            yield job, attempt(work, job, advance)
