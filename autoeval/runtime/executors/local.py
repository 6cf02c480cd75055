"""One job after another, in this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from autoeval.runtime.job import Advance, Job, Outcome, Work, attempt, prepare


class LocalExecutor:
    """Runs jobs one after another in this process."""

    def run(
        self, jobs: Iterable[Job], work: Work, advance: Advance
    ) -> Iterator[tuple[Job, Outcome]]:
        """Yield each job as it ends."""
        for job in jobs:
            prepare(work)
            yield job, attempt(work, job, advance)
