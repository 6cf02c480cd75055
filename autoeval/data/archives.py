"""Archives: exports come as such, and have to be unpacked before they are named."""

from __future__ import annotations

import zipfile
from pathlib import Path

from autoeval.data.wording import listed, printable
from autoeval.errors import InputError


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
