"""Results files of many sites: which there are, and reading those that are new or have changed.

There is one for each site or part of a site, or one for all sites. Files that have not changed stay
closed.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.boxes import Boxes, LabelledImage
from autoeval.errors import InputError
from autoeval.estimation.given import Predictions
from autoeval.estimation.read_site import site_of_files
from autoeval.io.image_lists import natural_order, walk
from autoeval.io.predictions import read_image_list
from autoeval.io.same_files import path_stamp
from autoeval.monitoring.monitor_store import CameraImage, ImageRow, MonitorStore, box_rows, site_of
from autoeval.monitoring.windows import Clock
from autoeval.notices import Notice, codes_of, notices_of
from autoeval.runtime.files import PathLike
from autoeval.runtime.progress import progress_bar
from autoeval.sites.file_looks import Looks
from autoeval.words import counted, listed, printable

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
    if not isinstance(predictions, str | os.PathLike):
        raise InputError(
            "Expected predictions as files, a folder with those of each site, but got "
            f"{type(predictions).__name__}."
        )
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
    unread = list[str]()
    images = read_image_list(path, unread)
    if unread:  # of which the windows would lack images or their times
        raise InputError(f"{path}: {unread[0]}.")
    return images


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


@dataclass(frozen=True, eq=False)
class ResultsReader:
    """Turns results files into records."""

    statistics: Looks  # of the predictions of the fit
    clock: Clock
    depth: int | None = None  # see `ResultsFile.site`
    names: Mapping[str, str] = field(default_factory=dict)  # word of each category number
    truncated: bool = False  # boxes with low scores are known to be left out
    reference_names: Mapping[str, str] = field(default_factory=dict)  # as `names`, of a reference
    numbering: str = ""  # how category numbers count; see `Predictions`

    def made_with(self, *, reference: bool = False) -> dict[str, Any]:
        """Return what records depend on beside the files, as nested plain values."""
        predictions: dict[str, Any] = {"names": dict(self.names)}
        if self.numbering:
            predictions["numbering"] = self.numbering
        if reference:
            predictions["reference"] = dict(self.reference_names)
        return {
            "predictions": predictions,
            "words of the detector": sorted(self.statistics.categories),
            "depth": self.depth,
            "time": self.clock.source,
        }

    def read(self, file: ResultsFile, store: MonitorStore) -> tuple[list[ImageRow], dict[str, Any]]:
        """Read a file, in the words that a store knows then; raises as `site_of_files`.

        Returns its images, and a note: ``warnings`` of the file, its ``sites``, and ``floor`` and
        ``unseen``, see `Site`.
        """
        files = Predictions(
            file.path,
            reference=file.reference,
            names=self.names,
            complete=not self.truncated,
            reference_names=self.reference_names,
            numbering=self.numbering,
        )
        site = site_of_files(files, self.statistics, file.images)
        in_file = site.boxes.categories
        words = store.add_words([*self.statistics.categories, *in_file])
        site = site.as_categories(words, {word: word for word in in_file})
        warnings = [*site.warnings, *site.left_out]
        images = site.boxes.images
        times = {image.taken for image in images}
        if len(images) > 1 and len(times) == 1 and None not in times:
            # as where a tool wrote the time of its export
            warnings.append(
                Notice("times-equal", "all images have the same time: taken as without one")
            )
            images = tuple(replace(image, taken=None) for image in images)
        found = _rows_of_images(site.boxes)
        stronger = None if site.reference is None else _rows_of_images(site.reference)
        rows = [
            self._row(file, image, found[k], None if stronger is None else stronger[k])
            for k, image in enumerate(images)
        ]
        sites = sorted({row.image.site for row in rows})
        note = {"warnings": codes_of(warnings), "sites": sites, "unseen": site.unseen}
        return rows, {**note, "floor": site.floor}

    def _row(
        self,
        file: ResultsFile,
        image: LabelledImage,
        boxes: np.ndarray,
        reference: np.ndarray | None,
    ) -> ImageRow:
        name = file.image_name(image)
        taken, source = self.clock.read(None, name, image.taken)
        record = CameraImage(
            name, file.site(name, self.depth), image.size or (0, 0), taken, boxes, reference
        )
        content = (record.site, record.size, taken, boxes.tobytes())
        more = () if reference is None else (reference.tobytes(),)
        stamp = hashlib.sha256(repr((*content, *more)).encode()).hexdigest()[:20]
        return ImageRow(record, stamp, source)


def _rows_of_images(found: Boxes) -> list[np.ndarray]:
    """Return the boxes of each image, in the order of the file."""
    order = np.argsort(found.image, kind="stable")
    rows = box_rows(found.boxes[order], found.scores[order], found.label[order])
    ends = np.searchsorted(found.image[order], np.arange(1, len(found.images)))
    return np.split(rows, ends)


def read_results(
    files: Sequence[ResultsFile], reader: ResultsReader, store: MonitorStore
) -> tuple[tuple[str, ...], dict[str, dict[str, float]]]:
    """Read the files that are new or have changed, and keep the images that are.

    Images that an earlier version of a file had, and that it no longer names, stay and are counted
    in a warning. Returns warnings (with the files they are of; files that cannot be read), and of
    each site the largest ``unseen`` and ``floor`` of its files; see `Site`. Raises InputError if
    the store holds records that were made with other settings.
    """
    store.check(reader.made_with(reference=any(file.reference for file in files)))
    notes = store.files()
    failed: list[str] = []
    changed = [file for file in files if notes.get(file.name, {}).get("stamp") != file.stamp]
    observed = _images_of_files(files, store.index()["name"]) if changed else {}
    with progress_bar(len(changed), "reading results files", unit="file") as bar:
        for file in changed:
            stamp = file.stamp
            try:
                rows, note = reader.read(file, store)
            except InputError as error:
                failed.append(
                    Notice(
                        "file-unreadable",
                        f"could not be read: {file.name or file.path.name} ({error})",
                    )
                )
                continue
            finally:
                bar.update()
            lost = _no_longer_named(observed.get(file.name, set()), rows)
            if lost:
                note["warnings"] += codes_of([lost])
            store.add(rows, numbered=True, file=(file.name, stamp, note))
            notes[file.name] = {"stamp": stamp, **note}
    notes_of_files = {
        file.name or file.path.name: notes[file.name] for file in files if file.name in notes
    }
    of_sites: dict[str, dict[str, float]] = {}
    for note in notes.values():
        for site in note["sites"]:
            known = of_sites.setdefault(site, {"unseen": 0.0, "floor": 0.0})
            for name in known:
                known[name] = max(known[name], note[name])
    now = {file.name for file in files}
    sites_now = {site for name in now & notes.keys() for site in notes[name]["sites"]}
    gone = [site for name in notes if name not in now for site in notes[name]["sites"]]
    if gone := sorted(set(gone) - sites_now):
        failed.append(
            Notice(
                "site-without-file",
                "no file is of this site any more, and no new image can come: its state is that of "
                "the images that were read before",
            ).prefixed(listed(gone, most=3))
        )
    return (*_warnings(notes_of_files), *failed), of_sites


def _images_of_files(files: Sequence[ResultsFile], observed: Iterable[str]) -> dict[str, set[str]]:
    """Return the observed images of each file: those in its folder, and in no file's below it."""
    images: dict[str, set[str]] = {file.name: set() for file in files}
    for name in observed:
        folder = name
        while folder:
            folder = folder.rpartition("/")[0]
            if folder in images:
                images[folder].add(name)
                break
    return images


def _no_longer_named(before: set[str], rows: Sequence[ImageRow]) -> str:
    """Count images that an earlier version of a file named, and that still count; empty if none."""
    lost = before - {row.image.name for row in rows}
    if not lost:
        return ""
    return Notice(
        "images-no-longer-named",
        f"no longer names {len(lost)} of {counted(len(before), 'image')} that it named before "
        f"({listed(sorted(lost), most=2)}): they still count, for a site is compared with its "
        "history. To leave them out, start again with another --work-dir",
    )


def _warnings(notes: Mapping[str, Mapping[str, Any]]) -> Iterator[Notice]:
    """Return each warning once, with the files it is of."""
    files: dict[Notice, list[str]] = {}
    for name, note in notes.items():
        for warning in notices_of(note["warnings"]):
            files.setdefault(warning, []).append(name)
    for warning, names in files.items():
        yield warning.prefixed(listed(names, most=3))
