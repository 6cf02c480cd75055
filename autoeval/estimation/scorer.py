"""The work of scoring a sample set, which can go to another process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autoeval.detectors.detector import Detector
from autoeval.errors import InputError
from autoeval.estimation.collect import collect
from autoeval.estimation.presets import PassSettings
from autoeval.metasets.task import Task
from autoeval.runtime.job import Advance, Job

LoadDetector = Callable[[], Detector]


class Scorer:
    """Scores a detector on the `SampleSet` that a job brings along.

    Parameters
    ----------
    detector : Detector
    task : Task
    settings : PassSettings
    batch_size : int
        Changes no number.
    load : callable, optional
        Loads the same detector in another process; without it the detector itself is sent there.
    """

    def __init__(
        self,
        detector: Detector,
        task: Task,
        settings: PassSettings,
        *,
        batch_size: int = 4,
        load: LoadDetector | None = None,
    ) -> None:
        self.detector: Detector | None = detector
        self.task = task
        self.settings = settings
        self.batch_size = batch_size
        self.load = load
        self.fingerprint = detector.fingerprint

    def prepare(self) -> None:
        """Load the detector where it is not there.

        Raises
        ------
        InputError
            If it is another one here, or cannot be loaded.
        """
        if self.detector is None and self.load is not None:
            loaded = self.load()
            if loaded.fingerprint != self.fingerprint:
                raise InputError(
                    f"A worker loaded detector {loaded.fingerprint} where this run is of "
                    f"{self.fingerprint}. Do all machines see the same config and checkpoint?"
                )
            self.detector = loaded

    def __call__(self, job: Job, advance: Advance) -> list[dict[str, Any]]:
        """Return the rows of one sample set, one a repeat."""
        assert self.detector is not None
        rows = collect(
            self.detector,
            job.payload,
            categories=self.task.categories,
            lookup=self.task.lookup(self.detector.categories),
            settings=self.settings,
            batch_size=self.batch_size,
            advance=advance,
        )
        return [{**job.columns, **row} for row in rows]

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "detector": None if self.load else self.detector}
