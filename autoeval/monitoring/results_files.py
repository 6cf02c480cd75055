"""Which results files there are: one for each site or part of a site, or one for all sites."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path

from autoeval.errors import InputError
from autoeval.io.image_folder import natural_order, walk
from autoeval.io.labels.content import LabelledImage
from autoeval.io.predictions import read_image_list
from autoeval.io.same_files import path_stamp
from autoeval.io.wording import printable
from autoeval.monitoring.site_pass import site_of
from autoeval.runtime.files import PathLike

RESULTS = re.compile(r"(\.(json|jsonl|ndjson|parquet))(\.gz)?$", re.IGNORECASE)
HIDDEN = re.compile(r"(^|/)\.")
LISTS = ("", ".txt", ".json")


@dataclass(frozen=True)
class ResultsFile:
    """A results file, with what belongs to it."""

    path: Path
    name: str = ""  # path below the folder, without suffix; empty for a single file of all sites
    reference: Path | None = None  # results of a reference detector
    image_list: Path | None = None  # all images; see `read_image_list`
    folder: str = ""  # with which the file names in that list begin that are of this file

    @property
    def stamp(self) -> str:
        """Sizes and times of the files: another one means that they have changed."""
        files = (self.path, self.image_list, self.reference)
        return "; ".join(path_stamp(p) for p in files if p)

    @cached_property
    def images(self) -> tuple[LabelledImage, ...] | None:
        """All images that the detector was run on, where they are listed.

        Of a list of all sites those in the folder of this file's name; InputError if there are
        none.
        """
        if self.image_list is None:
            return None
        images = _images(self.image_list, path_stamp(self.image_list))
        in_folder = tuple(image for image in images if image.file_name.startswith(self.folder))
        if not in_folder:
            raise InputError(
                f"{self.image_list} lists no image in a folder {self.folder}, as the results file "
                f"{self.path} is called."
            )
        return in_folder

    def image_name(self, image: LabelledImage) -> str:
        """Name an image among those of all sites."""
        name = printable(image.file_name)
        return name if not self.name or name.startswith(f"{self.name}/") else f"{self.name}/{name}"

    def site(self, image_name: str, depth: int | None) -> str:
        """Return the site of an image: the file, or with a depth its first folders.

        >>> day = ResultsFile(Path("all/gate/2026-03-01.json"), "gate/2026-03-01")
        >>> day.site("gate/2026-03-01/1.jpg", None), day.site("gate/2026-03-01/1.jpg", 1)
        ('gate/2026-03-01', 'gate')
        """
        return site_of(f"{self.name}/" if self.name else image_name, depth)


def find_results(
    predictions: PathLike,
    *,
    reference: PathLike | None = None,
    image_list: PathLike | None = None,
) -> list[ResultsFile]:
    """Find the results files of all sites; none is opened.

    `predictions` is a folder with results files, at any depth, or one file whose images are named
    by ``file_name`` in a folder for each site; `reference` the same of a reference detector.
    `image_list` is for a folder of results files a folder that holds, for each ``NAME.json`` among
    them, ``NAME.txt``, ``NAME.json`` or a folder ``NAME`` of images; or a single list of file names
    in a folder for each site. Raises InputError if there is no results file, two have the same
    name, or what belongs to one is missing.
    """
    path = Path(predictions)
    stronger, lists = (None if p is None else Path(p) for p in (reference, image_list))
    if path.is_file():
        return [ResultsFile(path, "", stronger, lists)]
    if not path.is_dir():
        raise InputError(f"No results file or folder {path}: check the path.")
    names = [name for name in walk(path) if RESULTS.search(name) and not HIDDEN.search(name)]
    names.sort(key=natural_order)
    if not names:
        raise InputError(
            f"No results file in {path}: expected one for each site, such as gate.json, in COCO's "
            "results format."
        )
    files = [
        ResultsFile(
            path / name,
            file_name,
            stronger and stronger / name,
            *_list_of(lists, file_name),
        )
        for name in names
        for file_name in [RESULTS.sub("", printable(name))]
    ]
    for file in files:
        if file.reference and not file.reference.is_file():
            raise InputError(
                f"Expected {file.reference}, the results of the reference detector of {file.name}, "
                "but there is none."
            )
    for one, other in pairwise(files):
        if one.name == other.name:
            raise InputError(
                f"{one.path} and {other.path} are results of one name: keep one of them."
            )
    return files


@lru_cache(1)
def _images(path: Path, stamp: str) -> tuple[LabelledImage, ...]:
    """Read a list once, though it may be of many files; another stamp means another list."""
    return read_image_list(path)


def _list_of(lists: Path | None, name: str) -> tuple[Path | None, str]:
    """Return what lists the images of a file, and with what their names begin there."""
    if lists is None or not lists.is_dir():
        return lists, f"{name}/" if lists else ""
    paths = [lists / f"{name}{suffix}" for suffix in LISTS]
    image_list = next((path for path in paths if path.exists()), None)
    if image_list is None:
        raise InputError(
            f"Expected the images of {name} as {paths[1]}, {paths[2]} or a folder {paths[0]}, but "
            "there is none of these."
        )
    return image_list, ""
