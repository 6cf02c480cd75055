"""The files of a folder and its subfolders, linked ones included, and archives refused."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

from autoeval.data.wording import listed, printable
from autoeval.errors import InputError


def walk(folder: Path) -> Iterator[str]:
    """Yield the files of a folder, as paths relative to it with forward slashes, in no order.

    Linked subfolders are entered as others are, each folder once: a link to a folder further up
    does not loop. Links that lead nowhere or around in a circle are yielded as the files that they
    stand for, and reading them says what is wrong.

    Raises
    ------
    InputError
        If a folder cannot be read.
    """
    entered = {os.path.realpath(folder)}
    for root, folders, files in os.walk(folder, followlinks=True, onerror=_refuse):
        folders[:] = sorted(name for name in folders if _is_new(os.path.join(root, name), entered))
        for name in files:
            yield Path(root, name).relative_to(folder).as_posix()


def _refuse(error: OSError) -> None:
    what = printable(str(error.filename))
    raise InputError(f"Cannot read the folder {what}: {str(error.strerror).lower()}.") from error


def _is_new(folder: str, entered: set[str]) -> bool:
    real = os.path.realpath(folder)
    known = real in entered
    entered.add(real)
    return not known


def refuse_archive(path: Path) -> None:
    """Refuse a zip archive, and name what it holds.

    Parameters
    ----------
    path : Path
        Anything; what is no archive is not refused.

    Raises
    ------
    InputError
        If it is a zip archive.
    """
    if not (path.is_file() and zipfile.is_zipfile(path)):
        return
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
    raise InputError(
        f"{printable(path)} is a zip archive of {len(names)} files ({printable(listed(names))}): "
        "unpack it, and name the folder that it becomes or the file that is meant."
    )
