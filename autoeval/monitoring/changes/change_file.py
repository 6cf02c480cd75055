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
CLEAN = "clean_boxes"
"""Part of the file: the slopes that read nothing but the boxes at full size."""


def read_change_model(
    path: str | os.PathLike[str] | None = None, *, signals: bool = True, half_size: bool = True
) -> ChangeModel:
    """Read slopes of change.

    Parameters
    ----------
    path : path-like, optional
        What `write_change_model` wrote; by default the shipped ones, which were fitted with
        another detector than most will have: their `origin` names it.
    signals, half_size : bool
        Whether signals of the images, and boxes at half the input size, are there to be read.
        Without the latter there are none of the former, either.

    Raises
    ------
    InputError
        If the file is missing or holds something else, or no slopes for boxes at full size alone.
    """
    path = path or shipped_config(*SHIPPED)
    content = read_json(path, "slopes of change")
    try:
        model = ChangeModel.from_dict(content)
        clean = ChangeModel.from_dict(content[CLEAN]) if content.get(CLEAN) else None
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(
            f"{path} holds no slopes of change ({error!r}): make them with autoeval fit-change."
        ) from error
    if half_size:
        return model if signals else model.without_signals()
    if clean is None:
        raise InputError(
            f"{path} holds no slopes for boxes at full size alone: make it again with autoeval "
            "fit-change, or give predictions at half the size (--half-size-predictions)."
        )
    return clean


def write_change_model(
    path: str | os.PathLike[str], model: ChangeModel, clean_boxes: ChangeModel | None = None
) -> Path:
    """Write slopes of change, and those for boxes at full size alone; return the path."""
    more = {} if clean_boxes is None else {CLEAN: clean_boxes.to_dict()}
    return write_json(path, {**model.to_dict(), **more})
