"""Slopes of change as a file: one's own, or those that come with the package."""

from __future__ import annotations

import os
from pathlib import Path

from autoeval.data.json_file import read_json
from autoeval.data.shipped import shipped_config
from autoeval.errors import InputError
from autoeval.monitoring.changes.change_model import ChangeModel
from autoeval.runtime.writers import write_json

SHIPPED = ("changes", "yolox_nano.json")


def read_change_model(path: str | os.PathLike[str] | None = None) -> ChangeModel:
    """Read slopes of change.

    Parameters
    ----------
    path : path-like, optional
        What `write_change_model` wrote; by default the shipped ones, which were fitted with
        another detector than most will have: their `origin` says with which.

    Raises
    ------
    InputError
        If the file is missing or holds something else.
    """
    path = path or shipped_config(*SHIPPED)
    try:
        return ChangeModel.from_dict(read_json(path, "slopes of change"))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(
            f"{path} holds no slopes of change ({error!r}): make them with autoeval fit-change."
        ) from error


def write_change_model(path: str | os.PathLike[str], model: ChangeModel) -> Path:
    """Write slopes of change; return the path."""
    return write_json(path, model.to_dict())
