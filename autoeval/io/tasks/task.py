"""Tasks: categories, seed sets and the detector's words, as a task file has them.

`load_task` is `autoeval.load_task`; fits of a task, published methods and counting read their sites
by a `Task`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.errors import InputError
from autoeval.io.labels.any_format import FORMATS, label_format, load_labels
from autoeval.io.labels.content import LabelSet
from autoeval.io.predictions.category_words import known_spellings
from autoeval.io.tasks.seed_set import SeedSet, checked_mapping, seed_set_of, thinned
from autoeval.runtime.files import PathLike, read_config
from autoeval.words import listed, refuse_unknown

ROOT_VARIABLE = "AUTOEVAL_DATA_ROOT"
FILE_KEYS = ("name", "categories", "seed_sets", "detector_mapping", "data_root")
SEED_SET_KEYS = ("name", "labels", "ann_file", "img_dir", "mapping", "layout", "group")


@dataclass(frozen=True)
class SeedSetFiles:
    """Where a seed set lies and how its categories are read.

    Parameters
    ----------
    name : str
        Of the seed set.
    labels, img_dir, layout, options
        As in `load_labels`; `options` are of the format `layout`.
    mapping : mapping of str to str, optional
        Category of the task for each category of the labels that counts; by default
        the task's own words and those it knows of detectors.
    group : str, optional
        Seed sets of one group (one camera, one site, one data set cut in parts) are left out
        together and count once; by default each is its own.
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

    Parameters
    ----------
    name : str
        Of the task.
    categories : tuple of str
        That count.
    seed_sets : tuple of SeedSetFiles
        Its labelled sites.
    detector_mapping : mapping of str to str
        Category of the task for a detector's category of another name.
    max_images : int, optional
        So many images of each seed set are read, at equal distances; all by default.

    Examples
    --------
    >>> task = Task("traffic", ("vehicle",), (), {"car": "vehicle", "bus": "vehicle"})
    >>> task.lookup(["person", "car", "bus"]).tolist()
    [-1, 0, 0]
    """

    name: str
    categories: tuple[str, ...]
    seed_sets: tuple[SeedSetFiles, ...]
    detector_mapping: Mapping[str, str] = field(default_factory=dict)
    max_images: int | None = None

    def load_seed_sets(self) -> tuple[SeedSet, ...]:
        """Read all seed sets; see `seed_set_of` for what is refused."""
        return tuple(map(self.load_seed_set, self.seed_sets))

    def load_seed_set(self, files: SeedSetFiles, *, clip: bool = True) -> SeedSet:
        """Read the seed set of a source.

        Parameters
        ----------
        files : SeedSetFiles
            Of this task.
        clip : bool
            See `seed_set_of`.

        Raises
        ------
        InputError
            See `load_labels` and `seed_set_of`.
        """
        labels = load_labels(files.labels, files.img_dir, layout=files.layout, **files.options)
        return self.seed_set_of(labels, files, clip=clip)

    def seed_set_of(self, content: LabelSet, files: SeedSetFiles, *, clip: bool = True) -> SeedSet:
        """Make the seed set of a source whose labels have been read; see `load_seed_set`.

        Parameters
        ----------
        content : LabelSet
            The labels of `files`.
        files, clip
            See `load_seed_set`.
        """
        words, mapping = self.detector_mapping, files.mapping
        seed_set = seed_set_of(
            content, files.name, self.categories, mapping, words=words, clip=clip
        )
        return thinned(seed_set, self.max_images)

    @property
    def groups(self) -> dict[str, str]:
        """Group of each seed set, by the seed set's name."""
        return {files.name: files.group or files.name for files in self.seed_sets}

    @property
    def words(self) -> dict[str, str]:
        """Category of each word of a detector that counts: the categories' names among them."""
        return {**{name: name for name in self.categories}, **self.detector_mapping}

    def label_words(self, content: LabelSet, files: SeedSetFiles) -> dict[str, str]:
        """Return the category of each word of the labels of a source that counts.

        Parameters
        ----------
        content : LabelSet
            The labels of `files`.
        files : SeedSetFiles
            Of this task; by default its labels have the words of detectors.

        Raises
        ------
        InputError
            If the mapping of `files` does not fit its labels; see `checked_mapping`.
        """
        if files.mapping is None:
            return self.words
        return checked_mapping(content, self.categories, files.mapping)

    def lookup(self, detector_categories: Sequence[str]) -> np.ndarray:
        """Return the index into `categories` of each category of a detector.

        Parameters
        ----------
        detector_categories : sequence of str
            K words, by the labels of the detector; they may be spelt otherwise, see
            `known_spellings`.

        Returns
        -------
        ndarray of shape (K,), int64
            -1 for unused ones.

        Raises
        ------
        InputError
            If all are unused.
        """
        words = self.words
        index = {name: i for i, name in enumerate(self.categories)}
        spelt = known_spellings(detector_categories, [*words])
        of_word = {word: index[name] for word, name in words.items() if name in index}
        indices = [of_word.get(spelt.get(name, name), -1) for name in detector_categories]
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
        If the file is missing or malformed, has a key that is not read, or the data root is not
        given or does not exist.
    """
    config = read_config(config_path, FILE_KEYS)
    try:
        name, categories = str(config["name"]), tuple(config["categories"])
        if isinstance(config["categories"], str) or not all(isinstance(c, str) for c in categories):
            raise TypeError(f"categories are no list of words: {config['categories']!r}")
        root = find_data_root(Path(config_path), name, config.get("data_root"), data_root)
        for entry in config["seed_sets"]:
            layout = entry.get("layout")
            formats = [label_format(layout)] if layout else FORMATS.values()
            options = [option for fmt in formats for option in fmt.options]
            place = f"Seed set {entry['name']!r} of {config_path}"
            refuse_unknown(entry, [*SEED_SET_KEYS, *options], place)
        seed_sets = tuple(_files(root, entry) for entry in config["seed_sets"])
        words = _words_of(config.get("detector_mapping", {}))
    except InputError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"Task file {config_path} is malformed ({error!r}). Expected `name`, a list of "
            "`categories` and `seed_sets`, each with name and labels (and img_dir, mapping, layout "
            "where needed); mappings are dict(WORD=CATEGORY)."
        ) from error
    _check(config_path, categories, seed_sets, words)
    return Task(name, categories, seed_sets, words)


def find_data_root(
    config_path: Path, task: str, in_file: str | None, data_root: PathLike | None
) -> Path:
    """Find the folder with the data of a config file.

    Parameters
    ----------
    config_path : Path
        The file.
    task : str
        What it describes, for messages.
    in_file : str, optional
        The file's ``data_root``, relative to it; counts last.
    data_root : path-like, optional
        By the user; goes before the environment variable `ROOT_VARIABLE`, which goes before
        `in_file`.

    Raises
    ------
    InputError
        If there is none, or no such folder.
    """
    chosen = data_root or os.environ.get(ROOT_VARIABLE)
    root = Path(chosen) if chosen else config_path.parent / in_file if in_file else None
    if root is not None and root.is_dir():
        return root
    fault = "is not given" if root is None else f"{root} does not exist"
    raise InputError(
        f"The folder with the data of task {task!r} {fault}. Give it as `data_root` "
        f"(--data-root DIR), or set {ROOT_VARIABLE}, or write `data_root` in {config_path}."
    )


def _files(root: Path, entry: Mapping) -> SeedSetFiles:
    """Read where a seed set lies; KeyError if its name or its labels are missing."""
    rest = dict(entry)
    name = str(rest.pop("name"))
    labels = rest.pop("ann_file") if "ann_file" in rest else rest.pop("labels")
    img_dir, mapping = rest.pop("img_dir", None), rest.pop("mapping", None)
    group = rest.pop("group", None)
    return SeedSetFiles(
        name,
        root / labels,
        None if img_dir is None else root / img_dir,
        None if mapping is None else _words_of(dict(mapping)),
        rest.pop("layout", None),
        rest,
        None if group is None else str(group),
    )


def _words_of(mapping: Mapping[Any, object]) -> dict[str, str]:
    return {str(word): str(category) for word, category in mapping.items()}


def _check(
    path: PathLike,
    categories: tuple[str, ...],
    seed_sets: tuple[SeedSetFiles, ...],
    detector_mapping: Mapping[str, str],
) -> None:
    """Raise `InputError` for a task that names seed sets, groups or categories inconsistently."""
    names = [files.name for files in seed_sets]
    if not names or len(set(names)) < len(names):
        raise InputError(f"Task file {path} needs seed sets of different names, got {names}.")
    if not categories or len(set(categories)) < len(categories):
        raise InputError(f"Task file {path} needs different categories, got {list(categories)}.")
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
