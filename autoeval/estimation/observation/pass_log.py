"""What became of the images of a pass, and where its time went."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import numpy as np
from typing_extensions import Self

from autoeval.errors import FailedOnImagesError, InputError
from autoeval.metasets.sample_set import Sample


class PassLog:
    """Names the images that cannot be read, and adds up seconds.

    unreadable: why an image could not be, by its number in the set.
    failure: the first error of a detector that was nobody's input; empty without one.
    """

    def __init__(self) -> None:
        self.n_observed = 0
        self.failure = ""
        self.unreadable: dict[int, str] = {}
        self.seconds: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Add the time of the body to the seconds called ``name``."""
        start = time.perf_counter()
        yield
        self.seconds[name] += time.perf_counter() - start

    def merge(self, other: Self) -> None:
        """Take in what ``other`` has seen."""
        self.unreadable |= other.unreadable
        self.n_observed += other.n_observed
        self.failure = self.failure or other.failure
        for name, seconds in other.seconds.items():
            self.seconds[name] += seconds

    def check(self, n_images: int) -> None:
        """Make sure that there was an image."""
        if not n_images and self.failure:
            raise RuntimeError(f"The detector fails on all images: {self.failure}")
        if not n_images:
            lost = list(self.unreadable.values())
            raise InputError(f"None of the {len(lost)} images can be read: {'; '.join(lost[:3])}")


Seen = TypeVar("Seen")
Observe = Callable[[Sequence[np.ndarray], Sequence[str]], Iterable[Seen]]
Numbered = tuple[int, Sample]
MOST_AT_FIRST = 8


class FailingImages(Generic[Seen]):
    """Runs a detector over batches so that an image on which it fails does not end the run.

    An error that is no image's fault still ends it: bad input of any kind, and files that cannot be
    written or read.

    observe: from images and their names to what the detector leaves of each.
    """

    def __init__(self, observe: Observe[Seen], log: PassLog) -> None:
        self._observe, self._log = observe, log
        self._n_failed = 0

    def observe(self, batch: Sequence[Numbered]) -> Iterator[tuple[int, Sample, Seen]]:
        """Yield the images on which it does not fail."""
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
