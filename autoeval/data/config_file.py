"""Configuration files in mmengine's format."""

from __future__ import annotations

import os
from typing import Any

from autoeval.data.shipped import or_shipped
from autoeval.errors import InputError


def read_config(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read an mmengine configuration file as plain dictionaries.

    Parameters
    ----------
    path : path-like
        A file, or the ``configs/...`` of one that comes with the package.

    Raises
    ------
    InputError
        If it is missing or cannot be run.
    """
    from mmengine.config import Config

    file = or_shipped(path)
    if not file.is_file():
        raise InputError(f"No configuration file {path}: check the path.")
    try:
        return Config.fromfile(file).to_dict()
    except Exception as error:  # the file is a program: it can fail in any way
        raise InputError(f"Cannot read the configuration file {path}: {error}") from error
