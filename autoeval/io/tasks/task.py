"""Tasks: categories, seed sets and the detector's words; several tasks joined."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.errors import InputError
from autoeval.io.labels.any_format import load_labels
from autoeval.io.tasks.seed_set import SeedSet, seed_set_of, thinned
from autoeval.runtime.files import PathLike, read_config
from autoeval.words import listed

ROOT_VARIABLE = "AUTOEVAL_DATA_ROOT"


@dataclass(frozen=True)
class SeedSetFiles:
    """Where a seed set lies and how its categories are read; for `labels` see `load_labels`.

    `mapping` gives the category of the task for each category of the labels that counts; by default
    the task's own words and those it knows of detectors. `options` are of the format `layout`. Seed
    sets of one `group` (one camera, one site, one data set cut in parts) are left out together and
    count once; by default each is its own.
    """

    name: str
    labels: Path
    img_dir: Path | None = None
    mapping: Mapping[str, str] | None = None
    layout: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    group: str | None = None


@dataclass(frozen=True)
class Task:
    """A detection task.

    `detector_mapping` gives the category of the task for a detector's category of another name.
    Of each seed set `max_images` are read, at equal distances; all by default.
    """

    name: str
    categories: tuple[str, ...]
    seed_sets: tuple[SeedSetFiles, ...]
    detector_mapping: Mapping[str, str] = field(default_factory=dict)
    max_images: int | None = None

    def load_seed_sets(self) -> tuple[SeedSet, ...]:
        """Read all seed sets; see `seed_set_of` for what is refused."""
        return tuple(map(self.load_seed_set, self.seed_sets))

    def load_seed_set(self, files: SeedSetFiles) -> SeedSet:
        """Read one of them."""
        labels = load_labels(files.labels, files.img_dir, layout=files.layout, **files.options)
        seed_set = seed_set_of(
            labels, files.name, self.categories, files.mapping, words=self.detector_mapping
        )
        return thinned(seed_set, self.max_images)

    @property
    def groups(self) -> dict[str, str]:
        """Group of each seed set, by the seed set's name."""
        return {files.name: files.group or files.name for files in self.seed_sets}

    def lookup(self, detector_categories: Sequence[str]) -> np.ndarray:
        """Return the index into `categories` of each category of a detector, -1 for unused ones."""
        words = {**{name: name for name in self.categories}, **self.detector_mapping}
        index = {name: i for i, name in enumerate(self.categories)}
        indices = [index.get(words.get(name, ""), -1) for name in detector_categories]
        if max(indices, default=-1) < 0:
            raise InputError(
                f"The detector knows none of {listed(words, most=20)}, which task {self.name!r} "
                f"asks for. It knows: {listed(detector_categories, most=20)}. "
                "Add its words to `detector_mapping` in the task file."
            )
        return np.array(indices, np.int64)


def load_task(config_path: PathLike, data_root: PathLike | None = None) -> Task:
    """Read a task file.

    Parameters
    ----------
    config_path : path-like
        mmengine configuration file with ``name``, ``categories``, ``seed_sets`` (each with
        ``name``, ``labels`` or ``ann_file``, and where needed ``img_dir``, ``mapping``, ``layout``
        and options of the format), ``detector_mapping`` and
        ``data_root``; `configs/tasks/vehicle.py` is an example.
    data_root : path-like, optional
        Folder that the paths of the seed sets are relative to. By default the environment variable
        ``AUTOEVAL_DATA_ROOT``, else the file's own ``data_root``, relative to the file.

    Raises
    ------
    InputError
        If the file is missing or malformed, or the data root is not given or does not exist.
    """
    config = read_config(config_path)
    try:
        name, categories = config["name"], tuple(config["categories"])
        root = find_data_root(Path(config_path), name, config.get("data_root"), data_root)
        seed_sets = tuple(_files(root, entry) for entry in config["seed_sets"])
    except (KeyError, TypeError) as error:
        raise InputError(
            f"Task file {config_path} is malformed ({error!r}). Expected `name`, `categories` and "
            "`seed_sets`, each with name and labels (and img_dir, mapping, layout where needed)."
        ) from error
    _check(config_path, categories, seed_sets, config.get("detector_mapping", {}))
    return Task(name, categories, seed_sets, config.get("detector_mapping", {}))


def find_data_root(
    config_path: Path, task: str, in_file: str | None, given: PathLike | None
) -> Path:
    """Find the folder with the data of a config file, which describes `task`.

    `given` by the user goes before the environment variable, which goes before `in_file`, the
    file's ``data_root``, relative to it.
    """
    chosen = given or os.environ.get(ROOT_VARIABLE)
    root = Path(chosen) if chosen else config_path.parent / in_file if in_file else None
    if root is not None and root.is_dir():
        return root
    what = "is not given" if root is None else f"{root} does not exist"
    raise InputError(
        f"The folder with the data of task {task!r} {what}. Give it as `data_root` "
        f"(--data-root DIR), or set {ROOT_VARIABLE}, or write `data_root` in {config_path}."
    )


def _files(root: Path, entry: Mapping) -> SeedSetFiles:
    rest = dict(entry)
    name = rest.pop("name")
    labels = rest.pop("ann_file") if "ann_file" in rest else rest.pop("labels")
    img_dir, mapping = rest.pop("img_dir", None), rest.pop("mapping", None)
    group = rest.pop("group", None)
    return SeedSetFiles(
        name,
        root / labels,
        None if img_dir is None else root / img_dir,
        None if mapping is None else dict(mapping),
        rest.pop("layout", None),
        rest,
        None if group is None else str(group),
    )


def _check(
    path: PathLike,
    categories: tuple[str, ...],
    seed_sets: tuple[SeedSetFiles, ...],
    detector_mapping: Mapping[str, str],
) -> None:
    names = [files.name for files in seed_sets]
    if not names or len(set(names)) < len(names):
        raise InputError(f"Task file {path} needs seed sets of different names, got {names}.")
    # Labels listed in two groups would be left out in one and seen in the other.
    group_of: dict[Path, SeedSetFiles] = {}
    for files in seed_sets:
        first = group_of.setdefault(files.labels, files)
        if (first.group or first.name) != (files.group or files.name):
            raise InputError(
                f"Task file {path}: {files.labels} is in two groups, as {first.name!r} and as "
                f"{files.name!r}. Give both the same `group`."
            )
    lost = sorted(set(detector_mapping.values()) - set(categories))
    if lost:
        raise InputError(
            f"Task file {path}: `detector_mapping` leads to {listed(lost)}, not among the "
            f"categories ({listed(categories, most=20)})."
        )
