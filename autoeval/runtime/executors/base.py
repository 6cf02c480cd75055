"""What runs jobs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from autoeval.runtime.job import Advance, Job, Outcome, Work


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
