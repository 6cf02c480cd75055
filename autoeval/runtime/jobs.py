"""Running jobs: what is done is not done again, what fails becomes a row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from autoeval.runtime.files import alone_in
from autoeval.runtime.job import Executor, Job, LocalExecutor, Outcome, Work
from autoeval.runtime.progress import announced_bar


class JobStore(Protocol):
    """Where the rows of jobs are kept; a `RowStore`, or tables of one's own."""

    @property
    def folder(self) -> Path:
        """Where they lie, for messages."""
        ...

    def write_manifest(self, jobs: Sequence[Job], what: str) -> None:
        """Keep the list of jobs."""
        ...

    def finished(self, keys: Iterable[str]) -> set[str]:
        """Return those of some jobs that ended well."""
        ...

    def write(self, key: str, rows: list[dict[str, Any]]) -> None:
        """Keep the rows of a job."""
        ...

    def write_failure(self, key: str, error: str, columns: Mapping[str, Any]) -> None:
        """Keep why a job failed, with further columns."""
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

    One process at a time runs jobs into a folder: another one waits for it. ``work(job,
    advance) -> rows`` calls ``advance(n)`` after every n items; the store receives the list of jobs
    before they begin and the rows of each as soon as it ends. `InputError` raised by ``work`` ends
    the run, as no other job can do better; KeyboardInterrupt says how much is kept.
    """
    with alone_in(store.folder):
        store.write_manifest(jobs, what)
        finished = store.finished(job.key for job in jobs)
        waiting = [job for job in jobs if job.key not in finished]
        total, left = (sum(job.size for job in some) for some in (jobs, waiting))
        run = _Run(store, total - left)
        try:
            with announced_bar(total, what, kept=run.kept) as bar:
                begun = run.begin(waiting)
                for job, outcome in (executor or LocalExecutor()).run(begun, work, bar.update):
                    run.record(job, outcome)
        except KeyboardInterrupt:
            kept = f"it goes on from the {run.kept} of {total} images that {store.folder} keeps"
            raise KeyboardInterrupt(kept) from None
    return JobCounts(len(finished), run.done, run.failed)


@dataclass
class _Run:
    """What came of the jobs of a run, and the number of items that are kept."""

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
