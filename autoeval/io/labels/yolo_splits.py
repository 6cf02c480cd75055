"""The splits of a YOLO data set: which images its ``data.yaml`` calls train, val and test.

Source: https://docs.ultralytics.com/datasets/detect/ (paths relative to ``path``; folders, or text
files with an image a line) and `ultralytics.data.utils.img2label_paths` (the last folder ``images``
is ``labels`` for label files).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autoeval.io.image_folder import SUFFIXES, sorted_files, suffix_of
from autoeval.io.labels.beside import LabelPairs
from autoeval.io.yaml_file import read_yaml

SPLITS = ("train", "val", "test")
LABEL_SUFFIX = ".txt"


def pairs_of_yaml(path: Path) -> tuple[LabelPairs, dict[str, str]] | None:
    """Return images and label files of the splits that a data.yaml names, and the split of each.

    None where it names none, none of its paths is there, or no image there has a label file.
    """
    content = read_yaml(path)
    if not isinstance(content, dict):
        return None
    roots = _roots(path, content)
    split_of: dict[Path, str] = {}
    for split in SPLITS:
        for image in _images(content.get(split), roots):
            split_of.setdefault(image, split)
    labelled = {image: label for image in split_of if (label := _label_file(image)).is_file()}
    if not labelled:
        return None
    # A folder that is named may be a link to another disk: names are relative to where it leads.
    places = {folder: Path(os.path.realpath(folder)) for folder in {i.parent for i in split_of}}
    root, beside = Path(os.path.commonpath(places.values())), Path(os.path.realpath(path.parent))
    root = beside if root.is_relative_to(beside) else root
    names = {i: (places[i.parent] / i.name).relative_to(root).as_posix() for i in split_of}
    pairs = LabelPairs(
        root,
        {names[image]: label for image, label in labelled.items()},
        tuple(name for image, name in names.items() if image not in labelled),
        (),
    )
    return pairs, {names[image]: split for image, split in split_of.items()}


def _roots(path: Path, content: dict[str, Any]) -> list[Path]:
    """Return what paths may be relative to: ``path``, or the folder of the file."""
    folder = path.absolute().parent
    given = content.get("path")
    return [folder / given, Path(given).absolute(), folder] if isinstance(given, str) else [folder]


def _images(entry: Any, roots: list[Path]) -> Iterator[Path]:
    for part in entry if isinstance(entry, list) else [entry]:
        place = _place(part, roots) if isinstance(part, str) and part else None
        if place is not None and place.is_dir():
            names = sorted_files(place)[0]
            yield from (_plain(place / name) for name in names if suffix_of(name) in SUFFIXES)
        elif place is not None:
            lines = place.read_text(encoding="utf-8", errors="replace").splitlines()
            named = (line.strip() for line in lines if line.strip())
            listed = (_place(name, [place.parent, *roots]) for name in named)
            yield from (image for image in listed if image is not None)


def _place(name: str, roots: list[Path]) -> Path | None:
    """Find a path; Roboflow writes ``../val/images`` for the folder ``val`` beside the file."""
    for tried in (name, name.removeprefix("../")):
        for root in roots:
            if (root / tried).exists():
                return _plain(root / tried)
    return None


def _plain(path: Path) -> Path:
    return Path(os.path.normpath(path))


def _label_file(image: Path) -> Path:
    parts = list(image.with_suffix(LABEL_SUFFIX).parts)
    if "images" in parts:
        parts[len(parts) - 1 - parts[::-1].index("images")] = "labels"
    return Path(*parts)
