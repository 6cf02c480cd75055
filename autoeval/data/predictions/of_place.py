"""Finding the predictions of one place among those of several."""

from __future__ import annotations

from pathlib import Path

from autoeval.errors import InputError

SUFFIXES = (".json", ".jsonl", ".ndjson", ".parquet", ".json.gz", ".jsonl.gz", ".ndjson.gz")


def file_of(place: str, folder: Path) -> Path:
    """Return the one predictions file of a place that a folder holds, at any depth.

    Parameters
    ----------
    place : str
    folder : Path
        With ``PLACE.json``, or another of `SUFFIXES`.

    Raises
    ------
    InputError
        If there is no such file, or several.
    """
    files = sorted(path for suffix in SUFFIXES for path in folder.rglob(f"{place}{suffix}"))
    if len(files) != 1:
        raise InputError(
            f"Expected one file {place}.json (or {', '.join(SUFFIXES[1:])}) under {folder}, with a "
            f"second detector's boxes, but found {len(files)}."
        )
    return files[0]


def files_by_place(folder: Path) -> dict[str, Path]:
    """Return the predictions files that lie in a folder, by the name of their place.

    Raises
    ------
    InputError
        If there are two of one place.
    """
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        suffix = next((suffix for suffix in SUFFIXES if path.name.endswith(suffix)), None)
        if suffix is None:
            continue
        place = path.name.removesuffix(suffix)
        if place in found:
            raise InputError(
                f"{folder} holds two files of {place}: {found[place].name} and {path.name}. "
                "Expected one."
            )
        found[place] = path
    return found
