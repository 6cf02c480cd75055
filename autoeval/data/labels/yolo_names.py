"""The names of a YOLO data set's classes: data.yaml, classes.txt, obj.names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from autoeval.data.wording import listed
from autoeval.errors import InputError

_LISTS = ("classes.txt", "obj.names", "_darknet.labels")


@dataclass(frozen=True)
class YoloNames:
    """What is known of the classes.

    Parameters
    ----------
    names : dict of int to str
        Name of each class; empty where no file tells.
    keypoints : bool
        Whether lines hold keypoints behind the box (``kpt_shape`` in data.yaml).
    """

    names: dict[int, str]
    keypoints: bool = False


def find_names(folder: Path) -> YoloNames:
    """Look for a file of names in a folder and the two above it, the nearest first.

    Raises
    ------
    InputError
        If a file of names is malformed.
    """
    for place in (folder, *folder.absolute().parents[:2]):
        for path in sorted([*place.glob("*.yaml"), *place.glob("*.yml")]):
            found = _from_yaml(path)
            if found:
                return found
        for path in (place / name for name in _LISTS):
            if path.is_file():
                lines = path.read_text(encoding="utf-8-sig").splitlines()
                return YoloNames(dict(enumerate(line.strip() for line in lines if line.strip())))
    return YoloNames({})


def _from_yaml(path: Path) -> YoloNames | None:
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    if "names" not in text:
        return None
    try:
        content = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise InputError(f"{path} is not a YAML file ({error}).") from error
    if not isinstance(content, dict) or "names" not in content:
        return None
    return YoloNames(_named(path, content["names"]), "kpt_shape" in content)


def _named(path: Path, names: Any) -> dict[int, str]:
    if isinstance(names, list):
        names = dict(enumerate(names))
    words = list(names.values()) if isinstance(names, dict) else [None]
    try:
        if all(isinstance(word, str | int | float) for word in words):
            return {int(number): str(name) for number, name in names.items()}
    except (ValueError, TypeError):
        pass
    raise InputError(
        f"{path}: expected `names` as a list of words, or as numbers with words, got "
        f"{listed(words)[:100]}."
    )
