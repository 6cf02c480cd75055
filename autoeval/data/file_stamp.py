"""What a file is known by without opening it."""

from __future__ import annotations

import os


def file_stamp(path: str | os.PathLike[str]) -> str:
    """Return size and time of the last change: another one means other content.

    Raises
    ------
    OSError
        If there is no such file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     os.utime(file.name, ns=(0, 7))
    ...     file_stamp(file.name)
    '0-7'
    """
    status = os.stat(path)
    return f"{status.st_size}-{status.st_mtime_ns}"


def path_stamp(path: str | os.PathLike[str]) -> str:
    """Return where a file lies and its stamp, such as of images that several folders name alike."""
    try:
        return f"{os.path.abspath(path)} {file_stamp(path)}"
    except OSError:
        return f"{os.path.abspath(path)} absent"
