"""Running jobs one after another: what is done is not done again, what fails becomes a row."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from autoeval.errors import InputError
from autoeval.runtime.progress import progress_bar
from autoeval.runtime.store import RowStore

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Job:
    """One unit of work whose rows stand or fall together.

    Parameters
    ----------
    key : str
        Names the result; equal keys mean equal results. Fit for a file name.
    size : int
        Number of items, for the progress bar.
    payload : object
        Whatever the work function needs.
    columns : dict
        Columns of the row that a failure leaves.
    """

    key: str
    size: int
    payload: Any = None
    columns: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class JobCounts:
    """How many jobs were found finished, ran well now, and failed now (key -> error)."""

    reused: int
    done: int
    failed: dict[str, str]


def run_jobs(
    jobs: Sequence[Job],
    work: Callable[[Job, Callable[[int], None]], Rows],
    store: RowStore,
    *,
    what: str,
) -> JobCounts:
    """Run the jobs that the store lacks.

    Parameters
    ----------
    jobs : sequence of Job
    work : callable
        ``work(job, advance) -> rows``; calls ``advance(n)`` after every n items.
    store : RowStore
        Receives the rows of each job as soon as it ends.
    what : str
        Shown before the progress bar.

    Returns
    -------
    JobCounts

    Raises
    ------
    InputError
        As raised by ``work``: the user's input is wrong, so no other job can do better.
    OSError
        If rows cannot be written; what was written before stays.
    """
    finished = store.finished(job.key for job in jobs)
    waiting = [job for job in jobs if job.key not in finished]
    failed: dict[str, str] = {}
    with progress_bar(sum(job.size for job in waiting), what) as bar:
        for job in waiting:
            try:
                rows = work(job, bar.update)
            except InputError:
                raise
            except Exception as error:
                failed[job.key] = f"{type(error).__name__}: {error}"
                detail = traceback.format_exc(limit=-3)
                store.write_failure(job.key, f"{failed[job.key]}\n{detail}", **job.columns)
            else:
                store.write(job.key, rows)
    return JobCounts(len(finished), len(waiting) - len(failed), failed)
