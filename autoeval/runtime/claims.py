"""Which process works on which job: locks that the system takes back from a dead owner."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout


class Claims:
    """Locks on jobs, one file each, among all processes that share a folder.

    A lock belongs to an open file (``flock``): it ends with its owner, however that dies, also
    between machines on a network file system with locks. A file that a dead owner leaves behind
    locks nothing.

    Parameters
    ----------
    folder : path-like
        Where the lock files lie; made on the first claim.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Claims(folder).kept() as mine:
    ...     other = Claims(folder)
    ...     first = mine.take("job"), other.take("job"), other.is_taken("job")
    ...     mine.release("job")
    ...     first, other.is_taken("job")
    ((True, False, True), False)
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._held: dict[str, FileLock] = {}

    @contextmanager
    def kept(self) -> Iterator[Claims]:
        """Release in the end what is still held."""
        try:
            yield self
        finally:
            for key in list(self._held):
                self.release(key)

    def take(self, key: str) -> bool:
        """Claim a job; False when another has it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = self._lock(key)
        if not _acquire(lock):
            return False
        self._held[key] = lock
        return True

    def release(self, key: str) -> None:
        """Give a job back, and remove its lock file.

        Who opened the file before may still lock it afterwards: a claim says who works on a job,
        not whether it is done. Look for its result after claiming.
        """
        lock = self._held.pop(key)
        Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()

    def is_taken(self, key: str) -> bool:
        """Whether some process works on a job."""
        lock = self._lock(key)
        if not Path(lock.lock_file).exists():
            return False
        free = _acquire(lock)
        lock.release()
        return not free

    def _lock(self, key: str) -> FileLock:
        return FileLock(self.folder / f"{key}.lock", thread_local=False)


def _acquire(lock: FileLock) -> bool:
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return False
    return True
