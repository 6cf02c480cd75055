"""Reading MUCCA, the photographs of several classes that come with PrACo++."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.counting.praco.data import CountedImage, CountingSet
from autoeval.data.json_file import read_json
from autoeval.data.wording import listed
from autoeval.errors import InputError

COUNTS = "multiclass_class_counts_per_image.json"
POINTS = "annotations.json"
CLASSES, IMAGES = "multiclass_split_classes.json", "multiclass_split_images.json"
NAMES = "class_mapping.json"
HEIGHT = 384  # of the frame that the points are in, whatever the size of the image


def is_mucca(root: str | os.PathLike[str]) -> bool:
    """Tell whether a folder has the file of counts by image and class."""
    return (Path(root) / COUNTS).is_file()


def load_mucca(
    root: str | os.PathLike[str], split: str = "test", *, need_images: bool = True
) -> CountingSet:
    """Read the released files.

    Parameters
    ----------
    root : path-like
        Folder with ``multiclass_class_counts_per_image.json`` (count by class by image),
        ``annotations.json`` (``H``, ``W``, ``points`` and their ``classes`` by image; points as xy
        in pixels of the image at height 384) and ``images``. Where they are there,
        ``class_mapping.json`` names the classes of the points, which otherwise are those of the
        counts in their order, and ``multiclass_split_images.json`` and
        ``multiclass_split_classes.json`` choose images and classes, which otherwise are all.
    split : str
        Of the latter two.
    need_images : bool
        Whether images without a file are left out.

    Raises
    ------
    InputError
        If a file is missing or malformed, or the points of an image are not as many of each class
        as its counts say.
    """
    root = Path(root)
    counts, points = _objects(root / COUNTS), _objects(root / POINTS)
    listed_classes = list(dict.fromkeys(name for of_image in counts.values() for name in of_image))
    classes = _of_split(root / CLASSES, split) or listed_classes
    names = _class_names(root, listed_classes)
    chosen = _of_split(root / IMAGES, split) or list(counts)
    unknown = [name for name in chosen if name not in counts or name not in points]
    missing = [n for n in chosen if need_images and not (root / "images" / n).is_file()]
    left_out = {*unknown, *missing}
    images = tuple(
        _image(root, name, points[name], counts[name], names)
        for name in chosen
        if name not in left_out
    )
    if not images:
        raise InputError(
            f"No image of {root} is complete: of {len(chosen)}, {len(unknown)} have no points or "
            f"counts and {len(missing)} no file in images/."
        )
    said = (("images without points or counts", unknown), ("images missing in images/", missing))
    problems = tuple(f"{what}: {len(n)} ({listed(n)})" for what, n in said if n)
    return CountingSet(split, tuple(classes), images, problems=problems)


def _image(
    root: Path,
    name: str,
    entry: Mapping[str, Any],
    counts: Mapping[str, int],
    names: Mapping[str, str],
) -> CountedImage:
    try:
        points = np.array(entry["points"], np.float64).reshape(-1, 2)
        kinds = np.array([names[str(k)] for k in entry["classes"]], object)
        size = (HEIGHT, max(1, round(HEIGHT * entry["W"] / entry["H"])))
        if len(points) != len(kinds):
            raise ValueError(f"{len(points)} points and {len(kinds)} classes")
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise InputError(f"{root / POINTS}: {name} is malformed: {error!r}.") from None
    by_class = {kind: points[kinds == kind] for kind in dict.fromkeys(kinds)}
    said = {kind: n for kind, n in counts.items() if n}
    found = {kind: len(own) for kind, own in by_class.items()}
    if said != found:
        raise InputError(f"{root / COUNTS} says {said} for {name}, but {POINTS} has {found}.")
    return CountedImage(name, root / "images" / name, by_class, size)


def _objects(path: Path) -> dict[str, dict[str, Any]]:
    content = read_json(path)
    if not isinstance(content, dict) or not all(isinstance(v, dict) for v in content.values()):
        raise InputError(f"{path}: expected an object with an object for each image.")
    return content


def _of_split(path: Path, split: str) -> list[str]:
    if not path.is_file():
        return []
    content = read_json(path)
    if not isinstance(content, dict) or not isinstance(content.get(split), list):
        raise InputError(f"{path}: expected a list of names for the split '{split}'.")
    return [str(name) for name in content[split]]


def _class_names(root: Path, in_order: list[str]) -> dict[str, str]:
    if not (root / NAMES).is_file():
        return {str(k): name for k, name in enumerate(in_order)}
    content = read_json(root / NAMES)
    if not isinstance(content, dict):
        raise InputError(f"{root / NAMES}: expected an object with a name for each number.")
    return {str(k): str(name) for k, name in content.items()}
