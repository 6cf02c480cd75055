"""COCO annotation files, found in a folder or named, with the folder of their images."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path, PurePath

from autoeval.boxes import LabelledImage
from autoeval.errors import InputError
from autoeval.io.coco import read_coco
from autoeval.io.documents import is_json, read_json
from autoeval.io.image_folder import image_folders, load_image_folder, with_sizes
from autoeval.io.image_identity import Named, match_images
from autoeval.io.labels.beside import holds_images
from autoeval.io.labels.content import LabelFormat, LabelSet
from autoeval.words import listed

BOXES = "instances_"
"""What names of files with boxes begin with, where a data set has a file for each kind of label."""


def read_coco_labels(path: Path, img_dir: Path | None = None) -> LabelSet:
    """Read a COCO file, or the only one of a folder (as CVAT and Label Studio export them).

    A folder has it in it or in its subfolder ``annotations``. `img_dir` is by default the first of
    `image_folders` that holds the file's first image. Sizes that the file lacks are read from the
    headers of the images.
    """
    content = read_coco(_only_file(path) if path.is_dir() else path)
    content = _as_on_disk(replace(content, img_dir=img_dir or _images_of(content)))
    assert content.img_dir is not None
    return replace(content, images=with_sizes(content.images, [content.img_dir]))


def _images_of(content: LabelSet) -> Path:
    places = image_folders(content.path)
    first = content.images[0].file_name if content.images else ""
    holding = [place for place in places if _holds(place, first)]
    existing = [place for place in places if place.is_dir()]
    return (holding or existing)[0]


def _holds(folder: Path, name: str) -> bool:
    """Say whether a path leads to a file within a folder; Label Studio writes others, too."""
    path = PurePath(name)
    return not path.is_absolute() and ".." not in path.parts and os.path.isfile(folder / path)


def _as_on_disk(content: LabelSet) -> LabelSet:
    """Give images the names that their files have, where the labels have others."""
    folder = content.img_dir
    assert folder is not None
    lost = [not _holds(folder, image.file_name) for image in content.images]
    if not any(lost) or not holds_images(folder):
        return content
    files = [file.image_id for file in load_image_folder(folder)]
    known = [LabelledImage(name, name, None) for name in files]
    missing = [k for k, is_lost in enumerate(lost) if is_lost]
    named = [Named(None, content.images[k].file_name) for k in missing]
    found = dict(zip(missing, match_images(named, known).places(), strict=True))
    places = [found.get(k) for k in range(len(content.images))]
    images = tuple(
        image if place is None else replace(image, file_name=files[place])
        for image, place in zip(content.images, places, strict=True)
    )
    return replace(content, images=images)


def _only_file(folder: Path) -> Path:
    files = _coco_files(folder)
    boxes = [file for file in files if file.stem.startswith(BOXES)]  # not captions, stuff, ...
    if 1 in (len(files), len(boxes)):
        return (files if len(files) == 1 else boxes)[0]
    if not files:
        raise InputError(f"No COCO annotation file in {folder}: name the JSON file.")
    names = [str(file.relative_to(folder)) for file in files]
    raise InputError(f"{folder} holds several COCO files: name one of {listed(names)}.")


def _coco_files(folder: Path) -> list[Path]:
    coco_files = []
    for file in sorted([*folder.glob("*"), *folder.glob("annotations/*")]):
        if not is_json(file) or not file.is_file():
            continue
        try:
            document = read_json(file)
        except InputError:
            continue
        if isinstance(document, dict) and {"images", "annotations"} <= document.keys():
            coco_files.append(file)
    return coco_files


def _recognises(path: Path) -> bool:
    return is_json(path) if path.is_file() else bool(_coco_files(path))


COCO = LabelFormat("coco", "COCO JSON", read_coco_labels, _recognises)
