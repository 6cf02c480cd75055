"""Reading FSC-147 and MUCCA."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.counting.praco.data import CountedImage, CountingSet, MosaicPool, left_out
from autoeval.counting.true_counts import GroundTruth, odd_points, truth_of_json
from autoeval.errors import InputError
from autoeval.io.documents import read_json
from autoeval.runtime.files import PathLike
from autoeval.words import listed

ANNOTATIONS = ("annotation_FSC147_384.json", "annotation_FSC147.json")
SPLITS = "Train_Test_Val_FSC_147.json"
IMAGE_CLASSES = "ImageClasses_FSC147.txt"
SPLIT_CLASSES = "Split_Classes_FSC147.json"
IMAGE_FOLDERS = ("images_384_VarV2", "images")
COUNTS = "multiclass_class_counts_per_image.json"
POINTS = "annotations.json"
CLASSES, IMAGES = "multiclass_split_classes.json", "multiclass_split_images.json"
NAMES = "class_mapping.json"
HEIGHT = 384  # of the frame that the points are in, whatever the size of the image


def is_fsc147(root: PathLike) -> bool:
    """Return whether a folder has FSC-147's class file or split file."""
    return any((Path(root) / name).is_file() for name in (SPLITS, IMAGE_CLASSES))


def load_fsc147(root: PathLike, split: str = "test", *, need_images: bool = True) -> CountingSet:
    """Read one split of FSC-147, or of a data set in its layout.

    Points are in pixels of the images of height 384. ``Split_Classes_FSC147.json`` gives the order
    of the classes, else the class file. Incomplete images of the split are left out and named in
    the `warnings`. The pool holds every image of the class file that has a class of the split,
    whatever split it belongs to.
    """
    root = Path(root)
    names = _of_split(root / SPLITS, split)
    class_of = read_classes(root / IMAGE_CLASSES)
    annotation = next((root / name for name in ANNOTATIONS if (root / name).exists()), None)
    if annotation is None:
        raise InputError(f"No annotation file in {root}: expected {' or '.join(ANNOTATIONS)}.")
    truth = truth_of_json(read_json(annotation), annotation)
    chosen = {name: truth.images[name] for name in names if name in truth.images}
    odd = odd_points(chosen)
    folder = next((root / name for name in IMAGE_FOLDERS if (root / name).is_dir()), None)
    if folder is None and need_images:
        raise InputError(f"No image folder in {root}: expected {' or '.join(IMAGE_FOLDERS)}.")
    folder = folder or root / IMAGE_FOLDERS[0]
    kept, warnings = _complete(names, truth, class_of, folder if need_images else None)
    warnings += tuple(odd)
    points = {name: truth.images[name].points for name in kept}
    images = tuple(
        CountedImage(name, folder / name, {class_of[name]: positions})
        for name, positions in points.items()
        if positions is not None
    )
    members = set(names)
    kinds_of_images = dict.fromkeys(kind for name, kind in class_of.items() if name in members)
    classes = tuple(_of_split(root / SPLIT_CLASSES, split, [*kinds_of_images]))
    if unknown := sorted(kinds_of_images.keys() - set(classes)):
        raise InputError(
            f"Images of the split '{split}' have classes that {root / SPLIT_CLASSES} does not list "
            f"for it: {listed(unknown)}."
        )
    upper = {name: class_of[name] for name in names if name in class_of}
    lower = {name: kind for name, kind in class_of.items() if kind in classes}
    pool = MosaicPool(upper, lower, {name: folder / name for name in lower})
    return CountingSet(split, classes, images, warnings=warnings, mosaic_pool=pool)


def _of_split(path: Path, split: str, default: list[str] | None = None) -> list[str]:
    """Read what a file lists for a split; `default` where there is no file."""
    if default is not None and not path.is_file():
        return default
    content = read_json(path)
    if not isinstance(content, Mapping) or split not in content:
        has = listed(content, most=20) if isinstance(content, Mapping) else type(content).__name__
        raise InputError(f"{path} has no split '{split}': it has {has}.")
    entries = content[split]
    if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
        raise InputError(f"{path}: expected a list of names for the split '{split}'.")
    twice = sorted(name for name, times in Counter(entries).items() if times > 1)
    if twice:
        raise InputError(f"{path}: the split '{split}' names {listed(twice)} more than once.")
    return entries


def read_classes(path: Path) -> dict[str, str]:
    """Read the class of every image from FSC-147's lines of image name, tab, class."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise InputError(f"No class file {path}: check the path.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"Cannot read the class file {path}: {error}.") from None
    rows = [
        (number, line.strip().split("\t")) for number, line in enumerate(lines, 1) if line.strip()
    ]
    wrong = [number for number, fields in rows if len(fields) != 2]
    if wrong or not rows:
        raise InputError(
            f"{path}: expected lines of image name, tab, class; "
            f"{f'not so: lines {listed(wrong)}' if wrong else 'the file is empty'}."
        )
    named: dict[str, set[str]] = {}
    for _, (name, category) in rows:
        named.setdefault(name, set()).add(category)
    if several := [name for name, kinds in named.items() if len(kinds) > 1]:
        first = several[0]
        raise InputError(
            f"{path} gives {len(several)} images two classes ({listed(several)}; {first}: "
            f"{' and '.join(sorted(named[first]))}): leave one line for each."
        )
    return {name: category for _, (name, category) in rows}


def _complete(
    names: list[str], truth: GroundTruth, class_of: Mapping[str, str], folder: Path | None
) -> tuple[list[str], tuple[str, ...]]:
    """Split names into those with points, class and file, and sentences about the others."""
    lacking: dict[str, list[str]] = {
        "images of the split without annotation": [n for n in names if n not in truth.images],
        "images of the split without class": [n for n in names if n not in class_of],
    }
    if folder is not None:
        lacking[f"images missing in {folder}"] = [n for n in names if not (folder / n).is_file()]
    incomplete = set().union(*lacking.values())
    kept = [name for name in names if name not in incomplete]
    if not kept:
        raise InputError(
            f"No image of the split is complete: of {len(names)}, "
            + ", ".join(
                f"{len(images_lacking)} are {what}" for what, images_lacking in lacking.items()
            )
            + "."
        )
    return kept, left_out(lacking)


def is_mucca(root: PathLike) -> bool:
    """Return whether a folder has the file of counts by image and class."""
    return (Path(root) / COUNTS).is_file()


def load_mucca(root: PathLike, split: str = "test", *, need_images: bool = True) -> CountingSet:
    """Read the released files.

    Points are xy in pixels of the image at height 384. ``class_mapping.json`` names the classes of
    the points, which otherwise are those of the counts in their order; the two ``multiclass_split``
    files choose images and classes of the split, otherwise all.
    """
    root = Path(root)
    counts, points = _objects(root / COUNTS), _objects(root / POINTS)
    listed_classes = list(
        dict.fromkeys(name for image_counts in counts.values() for name in image_counts)
    )
    classes = _of_split(root / CLASSES, split, listed_classes) or listed_classes
    names: Mapping[str, Any] = {str(k): name for k, name in enumerate(listed_classes)}
    if (root / NAMES).is_file():
        names = read_json(root / NAMES)
        if not isinstance(names, dict):
            raise InputError(f"{root / NAMES}: expected an object with a name for each number.")
    chosen = _of_split(root / IMAGES, split, list(counts)) or list(counts)
    unknown = [name for name in chosen if name not in counts or name not in points]
    missing = [n for n in chosen if need_images and not (root / "images" / n).is_file()]
    incomplete = {*unknown, *missing}
    images = tuple(
        _image(root, name, points[name], counts[name], names)
        for name in chosen
        if name not in incomplete
    )
    if not images:
        raise InputError(
            f"No image of {root} is complete: of {len(chosen)}, {len(unknown)} have no points or "
            f"counts and {len(missing)} no file in images/."
        )
    lacking = {"images without points or counts": unknown, "images missing in images/": missing}
    return CountingSet(split, tuple(classes), images, warnings=left_out(lacking))


def _image(
    root: Path,
    name: str,
    entry: Mapping[str, Any],
    counts: Mapping[str, int],
    names: Mapping[str, str],
) -> CountedImage:
    try:
        points = np.array(entry["points"], np.float64).reshape(-1, 2)
        kinds = np.array([str(names[str(k)]) for k in entry["classes"]], object)
        size = (HEIGHT, max(1, round(HEIGHT * entry["W"] / entry["H"])))
        if len(points) != len(kinds):
            raise ValueError(f"{len(points)} points and {len(kinds)} classes")
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise InputError(f"{root / POINTS}: {name} is malformed: {error!r}.") from None
    by_class = {kind: points[kinds == kind] for kind in dict.fromkeys(kinds)}
    nonzero = {kind: n for kind, n in counts.items() if n}
    annotated = {kind: len(positions) for kind, positions in by_class.items()}
    if nonzero != annotated:
        raise InputError(
            f"{root / COUNTS} says {nonzero} for {name}, but {POINTS} has {annotated}."
        )
    return CountedImage(name, root / "images" / name, by_class, size)


def _objects(path: Path) -> dict[str, dict[str, Any]]:
    content = read_json(path)
    if not isinstance(content, dict) or not all(isinstance(v, dict) for v in content.values()):
        raise InputError(f"{path}: expected an object with an object for each image.")
    return content
