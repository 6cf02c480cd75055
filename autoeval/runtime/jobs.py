"""Running jobs: what is done is not done again, what fails becomes a row, processes share."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from autoeval.runtime.job import Executor, Job, LocalExecutor, Outcome, Work
from autoeval.runtime.progress import announced_bar
from autoeval.runtime.store import Claims

POLL_S = 0.5


class JobStore(Protocol):
    """Where the rows of jobs are kept; a `RowStore`, or tables of one's own."""

    @property
    def folder(self) -> Path:
        """Where they lie, for messages."""
        ...

    def write_manifest(self, jobs: Sequence[Job], what: str) -> None:
        """Keep the list of jobs."""
        ...

    def claims(self) -> Claims:
        """Return the locks on jobs."""
        ...

    def finished(self, keys: Iterable[str]) -> set[str]:
        """Return those of some jobs that ended well."""
        ...

    def write(self, key: str, rows: list[dict[str, Any]]) -> None:
        """Keep the rows of a job."""
        ...

    def write_failure(self, key: str, error: str, **columns: Any) -> None:
        """Keep why a job failed."""
        ...

    def clear(self, key: str) -> None:
        """Remove what a killed writer of a job left half written."""
        ...


@dataclass(frozen=True)
class JobCounts:
    """How many jobs were found finished, ran well now, and failed now (key -> error)."""

    reused: int
    done: int
    failed: dict[str, str]


def run_jobs(
    jobs: Sequence[Job], work: Work, store: JobStore, *, what: str, executor: Executor | None = None
) -> JobCounts:
    """Run the jobs that the store lacks.

    Several processes may run the same jobs into the same folder, and then share them: each job is
    claimed before it begins, and all processes return when all jobs have ended. ``work(job,
    advance) -> rows`` calls ``advance(n)`` after every n items; the store receives the list of jobs
    before they begin and the rows of each as soon as it ends. `InputError` raised by ``work`` ends
    the run, as no other job can do better; KeyboardInterrupt says how much is kept.
    """
    store.write_manifest(jobs, what)
    finished = store.finished(job.key for job in jobs)
    waiting = [job for job in jobs if job.key not in finished]
    total, left = (sum(job.size for job in some) for some in (jobs, waiting))
    run = _Run(store, store.claims(), len(finished), total - left)
    try:
        with announced_bar(total, what, kept=run.kept) as bar, run.claims.kept():
            while waiting:
                claimed = run.claimable(waiting)
                for job, outcome in (executor or LocalExecutor()).run(claimed, work, bar.update):
                    run.record(job, outcome)
                waiting, run.busy = run.busy, []
                if waiting:
                    time.sleep(POLL_S)
    except KeyboardInterrupt:
        kept = f"it goes on from the {run.kept} of {total} images that {store.folder} keeps"
        raise KeyboardInterrupt(kept) from None
    return JobCounts(run.reused, run.done, run.failed)


@dataclass
class _Run:
    """What one process has to say of the jobs it saw, and the number of items that are kept."""

    store: JobStore
    claims: Claims
    reused: int
    kept: int
    done: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    busy: list[Job] = field(default_factory=list)

    def claimable(self, waiting: Sequence[Job]) -> Iterator[Job]:
        """Claim one job after another; those that other processes have at the moment are busy."""
        for job in waiting:
            if not self.claims.take(job.key):
                self.busy.append(job)
            elif self.store.finished([job.key]):
                self.claims.release(job.key)
                self.reused += 1
                self.kept += job.size
            else:
                self.store.clear(job.key)
                yield job

    def record(self, job: Job, outcome: Outcome) -> None:
        """Write what came of a job, and only then let it go."""
        if outcome.error:
            self.failed[job.key] = outcome.error
            error = f"{outcome.error}\n{outcome.detail}"
            self.store.write_failure(job.key, error, job_s=outcome.seconds, **job.columns)
        else:
            self.store.write(job.key, [{**row, "job_s": outcome.seconds} for row in outcome.rows])
            self.done += 1
            self.kept += job.size
        self.claims.release(job.key)
