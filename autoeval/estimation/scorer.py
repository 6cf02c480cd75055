"""The work of scoring a sample set, which can go to another process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autoeval.errors import InputError
from autoeval.estimation.labels.recording import LABELLED, Recording
from autoeval.estimation.observing import ImageDetector, Observer
from autoeval.estimation.score_table import SEED
from autoeval.runtime.job import Advance, Job

LoadDetector = Callable[[], ImageDetector]


class Scorer:
    """Scores the `SampleSet` that a job brings along.

    Parameters
    ----------
    observer : Observer
    load : callable, optional
        Loads the same detector in another process; without it the detector itself is sent there.
    """

    def __init__(self, observer: Observer, *, load: LoadDetector | None = None) -> None:
        self.load = load
        self.fingerprint = observer.detector.fingerprint
        self._observer: Observer | None = observer
        self._options = (observer.task, observer.settings, observer.batch_size)

    def prepare(self) -> None:
        """Load the detector where it is not there.

        Raises
        ------
        InputError
            If it is another one here, or cannot be loaded.
        """
        if self._observer is None and self.load is not None:
            loaded = self.load()
            if loaded.fingerprint != self.fingerprint:
                raise InputError(
                    f"A worker loaded detector {loaded.fingerprint} where this run is of "
                    f"{self.fingerprint}. Do all machines see the same config and checkpoint?"
                )
            task, settings, batch_size = self._options
            self._observer = Observer(loaded, task, settings, batch_size=batch_size)

    def __call__(self, job: Job, advance: Advance) -> list[dict[str, Any]]:
        """Return the rows of one sample set, one a repeat; own images also with all their boxes."""
        observer = self._observer
        assert observer is not None
        if job.columns.get("kind") != SEED:
            rows = observer.rows(job.payload, advance=advance)
            return [{**job.columns, **row} for row in rows]
        recording = Recording(job.payload)
        rows = observer.rows(recording, advance=advance, watch=recording.watch)
        rows[0][LABELLED] = recording.content(observer.task.categories)
        return [{**job.columns, **row} for row in rows]

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_observer": None if self.load else self._observer}
