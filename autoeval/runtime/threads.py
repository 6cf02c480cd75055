"""Independent pieces of work in several threads, and items made ahead of their use."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from functools import partial
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Key = TypeVar("Key")


def as_done(
    work: Callable[[Item], Result], items: Iterable[Item], workers: int
) -> Iterator[Result]:
    """Yield what becomes of each item, as soon as it is there.

    One worker takes them in turn, in the thread of the caller; several call ``work`` at once, and
    whoever is done first is first. When the caller stops, or an item raises, no further one is
    begun.

    Examples
    --------
    >>> list(as_done(str.upper, "abc", 1)), sorted(as_done(str.upper, "abc", 3))
    (['A', 'B', 'C'], ['A', 'B', 'C'])
    """
    if workers <= 1:
        yield from map(work, items)
        return
    pool = ThreadPoolExecutor(workers, thread_name_prefix="worker")
    try:
        for future in as_completed([pool.submit(work, item) for item in items]):
            yield future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


class Ahead(Generic[Key, Item]):
    """Makes items in other threads, a few before they are asked for, and gives them in order.

    `workers` threads call `make`, one by default; with 0 the caller makes each item when it asks
    for it. At most `depth` items are made or being made that nobody has asked for yet.

    Examples
    --------
    >>> with Ahead(str.upper, "abc", depth=2) as letters:
    ...     [letter() for letter in letters]
    ['A', 'B', 'C']
    """

    def __init__(
        self, make: Callable[[Key], Item], keys: Iterable[Key], *, depth: int, workers: int = 1
    ) -> None:
        self.make = make
        self.keys = keys
        self.depth = depth
        self.workers = workers

    def __enter__(self) -> Iterator[Callable[[], Item]]:
        """Begin; for each key there is a function that waits for its item, or raises its error."""
        self._threads = ThreadPoolExecutor(max(self.workers, 1), thread_name_prefix="ahead")
        return self._each()

    def __exit__(self, *error: object) -> None:
        """Wait for the items in work and make no more."""
        self._threads.shutdown(cancel_futures=True)

    def _each(self) -> Iterator[Callable[[], Item]]:
        if not self.workers:
            yield from (partial(self.make, key) for key in self.keys)
            return
        waiting: deque[Future[Item]] = deque()
        for key in self.keys:
            waiting.append(self._threads.submit(self.make, key))
            if len(waiting) > self.depth:
                yield waiting.popleft().result
        while waiting:
            yield waiting.popleft().result


class Behind:
    """Does work in another thread, in the order in which it is given, at most a few calls behind.

    An error of the work is raised by a later call, or at the end.

    Examples
    --------
    >>> done = []
    >>> with Behind(done.append, depth=2) as later:
    ...     for letter in "abc":
    ...         later(letter)
    >>> done
    ['a', 'b', 'c']
    """

    def __init__(self, work: Callable[..., object], *, depth: int) -> None:
        self.work = work
        self.depth = depth

    def __enter__(self) -> Callable[..., None]:
        """Begin; what is returned takes the arguments of a call."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="behind")
        self._waiting: deque[Future[object]] = deque()
        return self._later

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        """Wait for all that was given; after an error of the body, for what has begun alone."""
        self._thread.shutdown(cancel_futures=kind is not None)
        while kind is None and self._waiting:
            self._waiting.popleft().result()

    def _later(self, *arguments: object) -> None:
        self._waiting.append(self._thread.submit(self.work, *arguments))
        while len(self._waiting) > self.depth or (self._waiting and self._waiting[0].done()):
            self._waiting.popleft().result()
