"""Images on which a detector fails: tried one by one, named, and passed over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from autoeval.errors import FailedOnImagesError, InputError
from autoeval.estimation.observation.pass_log import PassLog
from autoeval.metasets.sample_set import Sample

Seen = TypeVar("Seen")
Observe = Callable[[Sequence[np.ndarray], Sequence[str]], Iterable[Seen]]
Numbered = tuple[int, Sample]
MOST_AT_FIRST = 8


class FailingImages(Generic[Seen]):
    """Runs a detector over batches so that an image on which it fails does not end the run.

    An error that is no image's fault still ends it: bad input of any kind, and files that cannot be
    written or read.

    Parameters
    ----------
    observe : callable
        From images and their names to what the detector leaves of each.
    log : PassLog
        Is told what fails, and the time spent.
    """

    def __init__(self, observe: Observe[Seen], log: PassLog) -> None:
        self._observe, self._log = observe, log
        self._n_failed = 0

    def observe(self, batch: Sequence[Numbered]) -> Iterator[tuple[int, Sample, Seen]]:
        """Yield the images on which it does not fail.

        Raises
        ------
        Exception
            That of the detector, where it fails on eight images before it has seen any.
        """
        try:
            seen = self._run(batch)
        except Exception as error:
            if not _of_an_image(error):
                raise
            for one in batch:
                yield from self._alone(one)
            return
        self._log.n_observed += len(batch)
        for (number, sample), one_seen in zip(batch, seen, strict=True):
            yield number, sample, one_seen

    def _alone(self, one: Numbered) -> Iterator[tuple[int, Sample, Seen]]:
        number, sample = one
        try:
            (seen,) = self._run([one])
        except Exception as alone:
            if not _of_an_image(alone):
                raise
            self._n_failed += 1
            if not self._log.n_observed and self._n_failed >= MOST_AT_FIRST:
                raise
            if not isinstance(alone, InputError):
                self._log.failure = self._log.failure or _text(alone)
            why = f"the detector fails on it ({_text(alone)})"
            self._log.unreadable[number] = f"{sample.image_id}: {why}"
        else:
            self._log.n_observed += 1
            yield number, sample, seen

    def _run(self, batch: Sequence[Numbered]) -> list[Seen]:
        with self._log.timed("network_s"):
            images = [sample.image for _, sample in batch]
            return list(self._observe(images, [sample.image_id for _, sample in batch]))


def _of_an_image(error: Exception) -> bool:
    return isinstance(error, FailedOnImagesError) or not isinstance(error, InputError | OSError)


def _text(error: Any) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:100]}"
