"""The files that come with the package: in a checkout beside it, once installed within it."""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
CONFIGS = next((f for f in (PACKAGE / "configs", PACKAGE.parent / "configs") if f.is_dir()), None)


def shipped_config(*parts: str) -> Path:
    """Return the path of a shipped configuration file, or of a folder of them.

    Raises
    ------
    FileNotFoundError
        If the package was taken apart: it lies neither in a checkout nor as installed.

    Examples
    --------
    >>> shipped_config("tasks", "vehicle.py").name
    'vehicle.py'
    """
    if CONFIGS is None:
        raise FileNotFoundError(
            f"No folder configs in or beside {PACKAGE}: install autoeval with pip, or run it from "
            "a whole checkout."
        )
    return CONFIGS.joinpath(*parts)


def or_shipped(path: str | os.PathLike[str]) -> Path:
    """Return the file, or where there is none the shipped one that ``configs/...`` names.

    So what the documentation calls ``configs/metasets/corruptions.py`` is found from any folder.

    Examples
    --------
    >>> or_shipped("configs/metasets/mild.py").is_file(), str(or_shipped("mine.py"))
    (True, 'mine.py')
    """
    given = Path(path)
    if given.exists() or given.parts[:1] != ("configs",) or CONFIGS is None:
        return given
    found = CONFIGS.joinpath(*given.parts[1:])
    return found if found.is_file() else given
