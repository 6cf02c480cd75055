"""An observer that can go to another process without its detector, and loads it there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autoeval.errors import InputError
from autoeval.estimation.observation.observing import ImageDetector, Observer

LoadDetector = Callable[[], ImageDetector]


class TravellingObserver:
    """What work holds of a pass; see `autoeval.runtime.jobs.Work`."""

    def __init__(self, observer: Observer, *, load: LoadDetector | None = None) -> None:
        self.load = load
        self.fingerprint = observer.detector.fingerprint
        self._observer: Observer | None = observer
        self._options = (observer.task, observer.settings, observer.batch_size)

    @property
    def observer(self) -> Observer:
        """The pass, once prepared."""
        assert self._observer is not None
        return self._observer

    def prepare(self) -> None:
        """Load the detector where it is not there."""
        if self._observer is None and self.load is not None:
            loaded = self.load()
            if loaded.fingerprint != self.fingerprint:
                raise InputError(
                    f"A worker loaded detector {loaded.fingerprint} where this run is of "
                    f"{self.fingerprint}. Do all machines see the same config and checkpoint?"
                )
            task, settings, batch_size = self._options
            self._observer = Observer(loaded, task, settings, batch_size=batch_size)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_observer": None if self.load else self._observer}
