"""Finding the predictions of one place among those of several."""

from __future__ import annotations

from pathlib import Path

from autoeval.errors import InputError


def file_of(place: str, folder: Path) -> Path:
    """Return the one COCO results file ``PLACE.json`` that a folder holds, at any depth.

    Raises
    ------
    InputError
        If there is no such file, or several.
    """
    files = sorted(folder.rglob(f"{place}.json"))
    if len(files) != 1:
        raise InputError(
            f"Expected one file {place}.json under {folder}, with a second detector's boxes, "
            f"but found {len(files)}."
        )
    return files[0]
