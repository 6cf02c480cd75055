"""What became of the images of a pass, and where its time went."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from typing_extensions import Self

from autoeval.errors import InputError


class PassLog:
    """Names the images that cannot be read, and adds up seconds.

    Attributes
    ----------
    unreadable : dict of int to str
        Why an image could not be, by its number in the set.
    seconds : dict of str to float
    n_observed : int
        Images that the detector has seen.
    failure : str
        The first error of a detector that was nobody's input; empty without one.
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
        """Make sure that there was an image.

        Parameters
        ----------
        n_images : int
            Those that were read.

        Raises
        ------
        InputError
            If none could be read.
        RuntimeError
            If none is left because the detector failed.
        """
        if not n_images and self.failure:
            raise RuntimeError(f"The detector fails on all images: {self.failure}")
        if not n_images:
            lost = list(self.unreadable.values())
            raise InputError(f"None of the {len(lost)} images can be read: {'; '.join(lost[:3])}")
