"""The work of scoring a sample set, which can go to another process."""

from __future__ import annotations

from typing import Any

from autoeval.estimation.observation.recording import LABELLED, Recording
from autoeval.estimation.observation.travelling import TravellingObserver
from autoeval.estimation.score_table import SEED
from autoeval.runtime.job import Advance, Job


class Scorer(TravellingObserver):
    """Scores the `SampleSet` that a job brings along; for parameters see `TravellingObserver`."""

    def __call__(self, job: Job, advance: Advance) -> list[dict[str, Any]]:
        """Return the rows of one sample set, one a repeat; own images also with all their boxes."""
        if job.columns.get("kind") != SEED:
            rows = self.observer.rows(job.payload, advance=advance)
            return [{**job.columns, **row} for row in rows]
        recording = Recording(job.payload)
        rows = self.observer.rows(recording, advance=advance, watch=recording.watch)
        rows[0][LABELLED] = recording.content(self.observer.task.categories)
        return [{**job.columns, **row} for row in rows]
