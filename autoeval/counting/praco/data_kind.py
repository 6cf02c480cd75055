"""Finding out what kind of data set a path is, and reading it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from autoeval.counting.praco.coco_classes import CocoPart, load_coco_classes
from autoeval.counting.praco.data import CountingSet, read_exclusions
from autoeval.counting.praco.fsc147 import is_fsc147, load_fsc147
from autoeval.counting.praco.mucca import is_mucca, load_mucca
from autoeval.data.config_file import read_config
from autoeval.errors import InputError
from autoeval.metasets.task import find_data_root


def load_counting_set(
    path: str | os.PathLike[str],
    *,
    split: str = "test",
    data_root: str | os.PathLike[str] | None = None,
    exclude: Sequence[str | os.PathLike[str]] = (),
    need_images: bool = True,
) -> CountingSet:
    """Read a data set for PrACo.

    Parameters
    ----------
    path : path-like
        A folder in FSC-147's layout, or with MUCCA's files; a COCO annotation file, or a folder
        that holds ``annotations.json`` and ``images``; or a config file that puts COCO files
        together, such as `configs/counting/praco/vehicle_person.py`.
    split : str
        Which split of FSC-147 or MUCCA.
    data_root : path-like, optional
        Folder that the paths of a config file are relative to.
    exclude : sequence of path-like
        Lists of image ids to take out of all measures.
    need_images : bool
        Whether images without a file are left out; predictions made elsewhere need none.

    Raises
    ------
    InputError
        If the path is none of these, or what it holds is malformed.
    """
    path = Path(path)
    if path.is_dir() and is_mucca(path):
        found = load_mucca(path, split, need_images=need_images)
    elif path.is_dir() and is_fsc147(path):
        found = load_fsc147(path, split, need_images=need_images)
    elif path.is_dir() and (path / "annotations.json").is_file():
        part = CocoPart(path / "annotations.json", path / "images")
        found = load_coco_classes([part], name=path.name, need_images=need_images)
    elif path.suffix == ".json" and path.is_file():
        part = CocoPart(path, _images_beside(path))
        found = load_coco_classes([part], name=path.stem, need_images=need_images)
    elif path.suffix == ".py":
        found = _of_config(path, data_root, need_images)
    else:
        raise InputError(
            f"Cannot tell what data set {path} is: expected a folder in FSC-147's layout or with "
            "MUCCA's files, a folder with annotations.json and images/, a COCO JSON file, or a "
            "config file (.py)."
        )
    for listed in exclude:
        found = found.exclude(read_exclusions(listed))
    return found


def _images_beside(ann_file: Path) -> Path:
    folder = ann_file.parent / "images"
    return folder if folder.is_dir() else ann_file.parent


def _of_config(
    path: Path, data_root: str | os.PathLike[str] | None, need_images: bool
) -> CountingSet:
    config = read_config(path)
    try:
        name = config["name"]
        root = find_data_root(path, name, config.get("data_root"), data_root)
        parts = [_part(root, dict(entry)) for entry in config["parts"]]
    except (KeyError, TypeError) as error:
        raise InputError(
            f"{path} is malformed ({error!r}). Expected `name` and `parts`, each with ann_file and "
            "img_dir and, where needed, name, mapping and keep."
        ) from error
    prompt_only = config.get("prompt_only", ())
    found = load_coco_classes(parts, name=name, prompt_only=prompt_only, need_images=need_images)
    return found.exclude(config.get("exclude", ()))


def _part(root: Path, entry: dict[str, Any]) -> CocoPart:
    ann_file, img_dir = root / entry.pop("ann_file"), root / entry.pop("img_dir")
    return CocoPart(ann_file, img_dir, **entry)
