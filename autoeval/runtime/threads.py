"""Independent pieces of work in several threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def as_done(
    work: Callable[[Item], Result], items: Iterable[Item], workers: int
) -> Iterator[Result]:
    """Yield what becomes of each item, as soon as it is there.

    Parameters
    ----------
    work : callable
        Called in several threads at once where there is more than one worker.
    items : iterable
        One worker takes them in turn, in the thread of the caller; of several, whoever is done
        first is first.
    workers : int
        Items in work at once. When the caller stops, or an item raises, no further one is begun.

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
