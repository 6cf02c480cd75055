"""Reading a data set for PrACo, whatever its format, COCO's classes included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from autoeval.counting.praco.data import CountedImage, CountingSet, left_out, read_exclusions
from autoeval.counting.praco.published_sets import is_fsc147, is_mucca, load_fsc147, load_mucca
from autoeval.errors import InputError
from autoeval.io.coco import read_coco
from autoeval.io.documents import read_config
from autoeval.io.image_lists import image_path
from autoeval.io.labels.content import LabelSet
from autoeval.io.tasks.task import find_data_root
from autoeval.runtime.files import PathLike
from autoeval.words import listed


def load_counting_set(
    path: PathLike,
    *,
    split: str = "test",
    data_root: PathLike | None = None,
    exclude: Sequence[PathLike] = (),
    need_images: bool = True,
) -> CountingSet:
    """Read a data set for PrACo.

    `path` is a folder in FSC-147's layout, or with MUCCA's files; a COCO file, or a folder with
    ``annotations.json`` and ``images``; or a config file that puts COCO files together, relative to
    `data_root`. `exclude` are lists of image ids. Predictions made elsewhere need no images.
    """
    path = Path(path)
    if path.is_dir() and is_mucca(path):
        counting_set = load_mucca(path, split, need_images=need_images)
    elif path.is_dir() and is_fsc147(path):
        counting_set = load_fsc147(path, split, need_images=need_images)
    elif path.is_dir() and (path / "annotations.json").is_file():
        part = CocoPart(path / "annotations.json", path / "images")
        counting_set = load_coco_classes([part], name=path.name, need_images=need_images)
    elif path.suffix == ".json" and path.is_file():
        beside = path.parent / "images"
        part = CocoPart(path, beside if beside.is_dir() else path.parent)
        counting_set = load_coco_classes([part], name=path.stem, need_images=need_images)
    elif path.suffix == ".py":
        counting_set = _of_config(path, data_root, need_images)
    else:
        raise InputError(
            f"Data set {path} is not recognised: expected a folder in FSC-147's layout or with "
            "MUCCA's files, a folder with annotations.json and images/, a COCO JSON file, or a "
            "config file (.py)."
        )
    for file in exclude:
        counting_set = counting_set.exclude(read_exclusions(file))
    return counting_set


def _of_config(path: Path, data_root: PathLike | None, need_images: bool) -> CountingSet:
    config = read_config(path)
    try:
        name = config["name"]
        root = find_data_root(path, name, config.get("data_root"), data_root)
        parts = []
        for entry in config["parts"]:
            files = {name: root / entry[name] for name in ("ann_file", "img_dir")}
            parts.append(CocoPart(**(dict(entry) | files)))
    except (KeyError, TypeError) as error:
        raise InputError(
            f"{path} is malformed ({error!r}). Expected `name` and `parts`, each with ann_file and "
            "img_dir and, where needed, name, mapping and keep."
        ) from error
    prompt_only = config.get("prompt_only", ())
    counting_set = load_coco_classes(
        parts, name=name, prompt_only=prompt_only, need_images=need_images
    )
    return counting_set.exclude(config.get("exclude", ()))


@dataclass(frozen=True)
class CocoPart:
    """One annotation file that contributes images; file names are relative to `img_dir`.

    `name` is put before file names in image ids. `mapping` gives the class for each category; boxes
    of other categories are objects all the same. `keep` are the file names to use, by default all.
    """

    ann_file: PathLike
    img_dir: PathLike
    name: str = ""
    mapping: Mapping[str, str] | None = None
    keep: Sequence[str] | None = None


def load_coco_classes(
    parts: Sequence[CocoPart],
    *,
    name: str = "all",
    prompt_only: Sequence[str] = (),
    need_images: bool = True,
) -> CountingSet:
    """Read images with the centres of their boxes, by class; image ids are ``part/file name``.

    Images with a crowd box, whose count is not known, and missing ones become `warnings`.
    """
    images: list[CountedImage] = []
    warnings: list[str] = []
    classes: list[str] = []
    for part in parts:
        content = read_coco(part.ann_file)
        mapping = {name: name for name in content.categories}
        if part.mapping is not None:
            mapping = dict(part.mapping)
            if absent := [category for category in mapping if category not in content.categories]:
                raise InputError(
                    f"The mapping of {part.ann_file} names {listed(absent)}, but the file has "
                    f"{listed(content.categories, most=100) or 'no category'}."
                )
        part_images, unfit = _images(part, content, mapping, need_images)
        images += part_images
        warnings += [*content.warnings, *left_out(unfit)]
        classes += mapping.values()
    if not images:
        raise InputError(f"No image is left of {listed([str(p.ann_file) for p in parts])}.")
    ordered = tuple(dict.fromkeys([*classes, *prompt_only]))
    return CountingSet(name, ordered, tuple(images), warnings=tuple(warnings))


def _images(
    part: CocoPart, content: LabelSet, mapping: Mapping[str, str], need_images: bool
) -> tuple[list[CountedImage], dict[str, list[str]]]:
    """Return the images of a part, and the file names of those that are left out by reason."""
    names = {image.file_name for image in content.images}
    keep = names if part.keep is None else set(part.keep)
    if keep - names:
        unknown = [name for name in part.keep or () if name not in names]
        raise InputError(f"{part.ann_file} has no images {listed(unknown)}, which are to be kept.")
    centres: dict[str, dict[str, list]] = {image.image_id: {} for image in content.images}
    for box in content.boxes:
        x, y, width, height = box.xywh
        category = mapping.get(box.category, box.category)
        centres[box.image_id].setdefault(category, []).append((x + width / 2, y + height / 2))
    crowded = {box.image_id for box in content.boxes if box.iscrowd}
    folder, prefix = Path(part.img_dir), f"{part.name}/" if part.name else ""
    images, missing, crowds = [], [], []
    for im in content.images:
        path = image_path(folder, im.file_name)
        if im.file_name not in keep:
            continue
        is_missing = need_images and not path.is_file()
        missing += [im.file_name] * is_missing
        crowds += [im.file_name] * (im.image_id in crowded)
        if not is_missing and im.image_id not in crowded:
            points = {k: np.array(v, np.float64) for k, v in centres[im.image_id].items()}
            images.append(CountedImage(prefix + im.file_name, path, points, im.size))
    reasons = {f"images missing in {folder}": missing, "images with a crowd box": crowds}
    return images, {f"{why}, left out": unfit for why, unfit in reasons.items()}
