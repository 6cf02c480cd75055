"""Reading the boxes of sites into the store: of results files, or of a detector that is run.

Results files are one for each site or part of a site, or one for all sites; those that have not
changed stay closed. Images are observed once.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from autoeval.boxes import Boxes, LabelledImage
from autoeval.errors import InputError
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.given import Predictions
from autoeval.estimation.observation.detector_identity import (
    LoadDetector,
    TravellingObserver,
    refuse_differences,
    score_thresholds,
)
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.pass_settings import PassSettings
from autoeval.estimation.observation.reference_boxes import PredictionsReference
from autoeval.estimation.observation.samples import PassLog, UnlabelledSamples
from autoeval.estimation.read_site import site_of_files
from autoeval.estimation.run_detector import Detector, fitted_reference, own_words
from autoeval.io.find_images import file_stamp, path_stamp
from autoeval.io.image_identity import normal_name
from autoeval.io.image_lists import (
    STANDARD_INPUT,
    ImageFile,
    content_digest,
    is_pattern,
    listed_names,
    natural_order,
    read_image_list,
    walk,
)
from autoeval.io.predictions.formats import SUFFIXES
from autoeval.model.pair_table import REFERENCE_FEATURES
from autoeval.monitoring.monitor_store import (
    BOX,
    CameraImage,
    MonitorStore,
    box_rows,
    site_of,
)
from autoeval.monitoring.windows import AUTO, Clock
from autoeval.runtime.files import PathLike
from autoeval.runtime.jobs import Advance, Executor, Job, JobCounts, run_jobs
from autoeval.runtime.progress import progress_bar
from autoeval.sites.file_looks import SAME_FLOOR, Looks
from autoeval.words import Notice, codes_of, counted, listed, notices_of, prefixed, printable

RESULTS = re.compile(
    rf"({'|'.join(map(re.escape, SUFFIXES))})(\.(gz|bz2|xz|zst|zip))?$", re.IGNORECASE
)
"""Ends of the names of results files, also compressed: one that is not read so is named as such."""
HIDDEN = re.compile(r"(^|/)\.")
LISTS = ("", ".txt", ".json")
MOST_SIMILAR = 3  # warnings that differ in their numbers alone and are shown each
NUMBER = re.compile(r"\d+(\.\d+)?")
IN_BATCH = 128


@dataclass(frozen=True)
class ResultsFile:
    """A results file, with what belongs to it.

    Parameters
    ----------
    path : Path
        The file.
    name : str
        Path below the folder, without suffix; empty for a single file of all sites.
    reference : Path, optional
        Results of a reference detector.
    image_list : Path, optional
        All images; see `read_image_list`.
    folder : str
        With which the file names in that list begin that are of this file.
    """

    path: Path
    name: str = ""
    reference: Path | None = None
    image_list: Path | None = None
    folder: str = ""

    def images(self) -> tuple[LabelledImage, ...]:
        """Read the list of all images that the detector was run on.

        Raises
        ------
        InputError
            If it is a list of all sites and has none in the folder of this file's name.
        """
        assert self.image_list is not None
        images = _images(self.image_list, path_stamp(self.image_list))
        in_folder = tuple(
            image for image in images if normal_name(image.file_name).startswith(self.folder)
        )
        if not in_folder:
            raise InputError(
                f"{self.image_list} lists no image in a folder {self.folder}, as the results file "
                f"{self.path} is called."
            )
        return in_folder


def find_results(
    predictions: PathLike,
    *,
    reference: PathLike | None = None,
    image_list: PathLike | None = None,
) -> list[ResultsFile]:
    """Find the results files of all sites; none is opened.

    Parameters
    ----------
    predictions : path-like
        A folder with results files, at any depth, or one file whose images are named by
        ``file_name`` in a folder for each site.
    reference : path-like, optional
        The same of a reference detector.
    image_list : path-like, optional
        For a folder of results files a folder that holds, for each ``NAME.json`` among them,
        ``NAME.txt``, ``NAME.json`` or a folder ``NAME`` of images; or a single list of file names
        in a folder for each site.

    Raises
    ------
    InputError
        If there is no results file, two have the same name, or what belongs to one is missing.
    """
    if not isinstance(predictions, str | os.PathLike):
        raise InputError(
            "Expected predictions as files, a folder with those of each site, but got "
            f"{type(predictions).__name__}."
        )
    path = Path(predictions)
    stronger = None if reference is None else Path(reference)
    lists = None if image_list is None else Path(image_list)
    if image_list is not None and os.fspath(image_list) != STANDARD_INPUT:
        _images.cache_clear()  # a pattern and a folder have new images under an old stamp
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
    files = []
    for name in names:
        called = RESULTS.sub("", printable(name))
        listing, folder = lists, f"{called}/" if lists else ""
        if lists is not None and lists.is_dir():
            paths, folder = [lists / f"{called}{suffix}" for suffix in LISTS], ""
            listing = next((path for path in paths if path.exists()), None)
            if listing is None:
                raise InputError(
                    f"Expected the images of {called} as {paths[1]}, {paths[2]} or a folder "
                    f"{paths[0]}, but there is none of these."
                )
        of_reference = stronger
        if stronger is not None:  # in this format or another one
            ends = (name, *(f"{RESULTS.sub('', name)}{suffix}" for suffix in SUFFIXES))
            of_reference = next((p for end in ends if (p := stronger / end).is_file()), None)
            if of_reference is None:
                raise InputError(
                    f"Expected {stronger / name} (or {', '.join(SUFFIXES)}), the results of the "
                    f"reference detector of {called}, but there is none."
                )
        files.append(ResultsFile(path / name, called, of_reference, listing, folder))
    # a name between them may hold the same name and more: gate.json, gate.2.json, gate.parquet
    for file, next_file in pairwise(sorted(files, key=lambda file: file.name)):
        if file.name == next_file.name:
            raise InputError(
                f"{file.path} and {next_file.path} are results of one name: keep one of them."
            )
    return files


def _list_stamp(path: Path) -> str:
    """Return what changes with a list of images: of a pattern and of a folder their names."""
    names = list[str]()
    with suppress(InputError):  # which the file that it belongs to raises again
        if path.is_dir():
            names = sorted(walk(path))
        elif is_pattern(path):
            names = listed_names(path)
        elif os.fspath(path) == STANDARD_INPUT:
            names = [image.file_name for image in _images(path, path_stamp(path))]
    return f"{path_stamp(path)} {hashlib.sha256(repr(names).encode()).hexdigest()[:20]}"


@lru_cache(1)
def _images(path: Path, stamp: str) -> tuple[LabelledImage, ...]:
    """Read a list once, though it may be of many files; another stamp means another list."""
    unread = list[Notice]()
    images = read_image_list(path, unread)
    if unread:  # of which the windows would lack images or their times
        raise InputError(f"{path}: {unread[0]}.")
    return images


@dataclass(frozen=True, eq=False)
class ResultsReader:
    """Turns results files into records.

    Parameters
    ----------
    predictions : Predictions
        How they are read; the path and the reference are those of each file.
    looks : Looks
        Of the predictions of the fit.
    clock : Clock
        Reads when images were taken.
    depth : int, optional
        How many folders name a site; by default the file does.
    """

    predictions: Predictions
    looks: Looks
    clock: Clock
    depth: int | None = None

    def read(
        self, file: ResultsFile, before: Mapping[str, np.datetime64], store: MonitorStore
    ) -> tuple[list[CameraImage], dict[str, Any]]:
        """Read a file, in the words that a store knows then.

        Parameters
        ----------
        file : ResultsFile
            The file.
        before : mapping of str to datetime64
            When the images that an earlier version of the file named were taken, by name.
        store : MonitorStore
            Where words of the detector are noted.

        Returns
        -------
        images : list of CameraImage
            The images of the file.
        note : dict
            ``warnings`` of the file, its ``sites``, ``n_images``, and ``floor`` and ``unseen``, see
            `Site`; ``fit_floor``, at which scores of the fit begin; ``blocks``, those of its images
            by name where some have one in common.

        Raises
        ------
        InputError
            As `site_of_files`.
        """
        predictions = replace(self.predictions, path=file.path, reference=file.reference)
        # A camera that has gone dark finds nothing in any image: all that are listed count.
        listed_there = file.images() if file.image_list else None
        site = site_of_files(predictions, self.looks, listed_there, all_seen=True)
        in_file = site.boxes.categories
        words = store.add_words([*self.looks.categories, *in_file])
        if words != in_file:
            site = site.as_categories(words, {word: word for word in in_file})
        of_file = (*site.warnings, *site.left_out)
        warnings = [notice for notice in of_file if notice not in self.looks.warnings]  # of the fit
        times = {image.taken for image in site.boxes.images}
        one_time = self.clock.source == AUTO and len(site) > 1 and len(times) == 1
        one_time &= None not in times
        if one_time:  # as where a tool wrote the time of its export
            warnings.append(
                Notice("times-equal", "all images have the same time: taken as without one")
            )
        blocks = list[int]() if site.blocks is None else site.blocks.tolist()
        if len(set(blocks)) == len(blocks):  # no frames of a video
            blocks = []
        boxes_of_images = _rows_of_images(site.boxes)
        stronger = None if site.reference is None else _rows_of_images(site.reference)
        names = [printable(normal_name(image.file_name)) for image in site.boxes.images]
        folder = ""
        if file.name:  # unique among the images of all sites
            folder = f"{file.name}/"
            names = [folder + name.removeprefix(folder) for name in names]
        named, images = set[str](), []
        for k, (image, name) in enumerate(zip(site.boxes.images, names, strict=True)):
            taken, source = self.clock.read(None, name, None if one_time else image.taken)
            of_reference = None if stronger is None else stronger[k]
            of_site = site_of(folder or name, self.depth)
            if name in named:  # of another folder, which the file leaves out
                name = f"{name} ({printable(image.image_id).replace('/', '_')})"
            named.add(name)
            size = image.size or (0, 0)
            passes = [
                boxes.tobytes() for boxes in (boxes_of_images[k], of_reference) if boxes is not None
            ]
            content = repr((of_site, size, taken, *passes, *blocks[k : k + 1])).encode()
            stamp = f"{hashlib.sha256(content).hexdigest()[:20]} {file.name}"
            images.append(
                CameraImage(
                    name, of_site, size, taken, boxes_of_images[k], of_reference, stamp, source
                )
            )
        lost = before.keys() - {image.name for image in images}
        taken = np.array([image.taken for image in images], "datetime64[us]")
        lost_taken = np.array([before[name] for name in lost], "datetime64[us]")
        # a file of the last days leaves out what is no newer than all that it names: several frames
        # may have one time, and those whose clock was reset have none (`fmin`, `fmax` skip NaT)
        if lost and not (len(taken) and np.fmax.reduce(lost_taken) <= np.fmin.reduce(taken)):
            shown = f"{counted(len(before), 'image')} that it named before"
            text = (
                f"no longer names {len(lost)} of {shown} ({listed(sorted(lost), most=2)}): they "
                "still count, for a site is compared with its history. To leave them out, start "
                "again with another --work-dir"
            )
            warnings.append(Notice("images-no-longer-named", text))
        sites = sorted({image.site for image in images})
        note = {"warnings": codes_of(warnings), "sites": sites, "n_images": len(images)}
        first = dict[int, str]()  # image of each block, by whose name other files know it, too
        of_frames = {
            image.name: first.setdefault(block, image.name)
            for image, block in zip(images, blocks, strict=False)
        }
        begins = {"unseen": site.unseen, "floor": site.floor, "fit_floor": self.looks.floor}
        return images, {**note, **begins, "blocks": of_frames}


def _rows_of_images(boxes: Boxes) -> list[np.ndarray]:
    """Return the boxes of each image, in the order of the file."""
    order = np.argsort(boxes.image, kind="stable")
    rows = box_rows(boxes.boxes[order], boxes.scores[order], boxes.label[order])
    ends = np.searchsorted(boxes.image[order], np.arange(1, len(boxes.images)))
    return np.split(rows, ends)


def read_results(
    files: Sequence[ResultsFile], reader: ResultsReader, store: MonitorStore
) -> tuple[tuple[Notice, ...], dict[str, dict[str, float]], dict[str, str]]:
    """Read the files that are new or have changed, and keep the images that are.

    With another fit all files are read again.

    Images that an earlier version of a file had, and that it no longer names, stay and are counted
    in a warning.

    Parameters
    ----------
    files : sequence of ResultsFile
        All files, see `find_results`.
    reader : ResultsReader
        Reads one of them.
    store : MonitorStore
        Where images are kept.

    Returns
    -------
    warnings : tuple of Notice
        With the files they are of; files that cannot be read.
    of_sites : dict of str to dict
        Of each site the largest ``unseen`` and ``floor`` of its files; see `Site`.
    blocks : dict of str to str
        Block of time of each image that is a frame of a video, by name.

    Raises
    ------
    InputError
        If the store holds records that were made with other settings, or with a fit at another
        score floor and of files that are gone or that this fit does not read.
    """
    predictions = reader.predictions
    reading: dict[str, Any] = {"names": dict(predictions.names)}  # type: ignore[arg-type]
    reading |= {"numbering": predictions.numbering} if predictions.numbering else {}
    if any(file.reference for file in files):
        reading["reference"] = dict(predictions.reference_names)  # type: ignore[arg-type]
    store.check(
        {
            "predictions": reading,
            "words of the detector": sorted(reader.looks.categories),
            "depth": reader.depth,
            "time": reader.clock.source,
        }
    )
    notes = store.files()
    failed: list[Notice] = []
    # another fit leaves out other boxes, and has another floor
    how = repr((reader.looks, predictions.columns, predictions.complete))
    read_as = hashlib.sha256(how.encode()).hexdigest()[:20]
    of_lists = {path: _list_stamp(path) for path in {file.image_list for file in files} if path}
    stamps = {}  # sizes and times of the files, and how they are read: another one means read again
    for file in files:
        together = [path_stamp(path) for path in (file.path, file.reference) if path]
        together += [of_lists[file.image_list]] if file.image_list else []
        stamps[file.name] = "; ".join([*together, read_as])
    changed = [file for file in files if notes.get(file.name, {}).get("stamp") != stamps[file.name]]
    observed: dict[str, dict[str, np.datetime64]] = {}
    if changed:
        index = store.index()
        observed = _images_of_files(files, index["name"], index["taken"].to_numpy())
    with progress_bar(len(changed), "reading results files", unit="file") as bar:
        for file in changed:
            stamp, name = stamps[file.name], file.name or file.path.name
            try:
                rows, note = reader.read(file, observed[file.name], store)
            except InputError as error:
                failed.append(Notice("file-unreadable", f"could not be read: {name} ({error})"))
                continue
            finally:
                bar.update()
            if stay := observed[file.name].keys() - {image.name for image in rows}:
                earlier = notes.get(file.name, note)  # they count as those of another file do
                note["sites"] = sorted({*note["sites"], *earlier["sites"]})
                for begins in ("unseen", "floor", "fit_floor"):
                    note[begins] = max(note[begins], earlier.get(begins, 0.0))
                blocks = earlier.get("blocks", {})
                note["blocks"] |= {image: blocks[image] for image in stay & blocks.keys()}
            store.add(rows, numbered=True, file=(file.name, stamp, note))
            notes[file.name] = {"stamp": stamp, **note}
    floor, known = reader.looks.floor, {0.0, *dict(reader.looks.floors)}
    if as_before := [
        name or reader.predictions.path
        for name, note in notes.items()
        if abs(note.get("fit_floor", floor) - floor) > SAME_FLOOR or note["floor"] not in known
    ]:
        raise InputError(
            f"{store.folder} holds images that were read with a fit whose scores begin elsewhere, "
            f"and that cannot be read again: their files ({listed(as_before, most=3)}) are gone, "
            "no longer name them, or do not go with this fit. Put them back, or name another "
            "folder with --work-dir."
        )
    site_names = {file.name: file.name or file.path.name for file in files if file.name in notes}
    sites = {site for name in site_names for site in notes[name]["sites"]}
    gone = [site for name in notes.keys() - site_names.keys() for site in notes[name]["sites"]]
    if gone := sorted(set(gone) - sites):
        text = (
            f"{listed(gone, most=3)}: no file is of this site any more, and no new image can "
            "come: its state is that of the images that were read before"
        )
        failed.append(Notice("site-without-file", text))
    of_sites: dict[str, dict[str, float]] = {}
    for note in notes.values():
        for site in note["sites"]:
            largest = of_sites.setdefault(site, {"unseen": 0.0, "floor": 0.0})
            largest |= {name: max(value, note[name]) for name, value in largest.items()}
    of_frames = {
        image: block for note in notes.values() for image, block in note.get("blocks", {}).items()
    }
    of_files = {site_names[name]: notices_of(notes[name]["warnings"]) for name in site_names}
    return (*each_once(of_files), *failed), of_sites, of_frames


def _images_of_files(
    files: Sequence[ResultsFile], observed: Iterable[str], taken: np.ndarray
) -> dict[str, dict[str, np.datetime64]]:
    """Return when the observed images of each file were taken, by name.

    They are those in its folder, and in no file's below it.
    """
    images: dict[str, dict[str, np.datetime64]] = {file.name: {} for file in files}
    for name, when in zip(observed, taken, strict=True):
        folder = name
        while folder:
            folder = folder.rpartition("/")[0]
            if folder in images:
                images[folder][name] = when
                break
    return images


def each_once(warnings: Mapping[str, Iterable[Notice]]) -> Iterator[Notice]:
    """Return each warning once, with the files or sites it is of.

    Of more than `MOST_SIMILAR` that differ in their numbers alone the first is an example.

    Parameters
    ----------
    warnings : mapping of str to iterable of Notice
        Of each file or site, by name.
    """
    files: dict[Notice, list[str]] = {}
    for name, of_file in warnings.items():
        for warning in of_file:
            files.setdefault(warning, []).append(name)
    kinds: dict[str, list[Notice]] = {}
    for warning in files:
        kinds.setdefault(NUMBER.sub("0", warning), []).append(warning)
    for similar in kinds.values():
        if len(similar) <= MOST_SIMILAR:
            for warning in similar:
                yield from prefixed(listed(files[warning], most=3), [warning])
            continue
        names = [name for warning in similar for name in files[warning]]
        yield from prefixed(f"{listed(names, most=3)}; in {files[similar[0]][0]}", similar[:1])


@dataclass(frozen=True)
class SiteImage:
    """An image file of a site.

    Parameters
    ----------
    file : ImageFile
        The file, and its name below the root.
    site : str
        See `site_of`.
    stamp : str
        Another one means another image, see `file_stamp`; a record has the digest of the file's
        content behind it.
    """

    file: ImageFile
    site: str
    stamp: str


def site_images(
    files: Iterable[ImageFile], *, depth: int | None = None
) -> tuple[list[SiteImage], list[str]]:
    """Look at the files of all sites; none is opened.

    Parameters
    ----------
    files : iterable of ImageFile
        Images of all sites, named by their path below one root.
    depth : int, optional
        How many folders name a site; all by default.

    Returns
    -------
    images : list of SiteImage
        Those that are there.
    vanished : list of str
        Names of those that are no longer.
    """
    images, vanished = [], []
    for file in files:
        try:
            stamp = file_stamp(file.path)
        except OSError:
            vanished.append(file.image_id)
            continue
        images.append(SiteImage(file, site_of(file.image_id, depth), stamp))
    return images, vanished


def site_observer(estimator: AccuracyEstimator, detector: Detector) -> Observer:
    """Make the plain pass over the images of sites, in the detector's own words.

    Parameters
    ----------
    estimator : AccuracyEstimator
        The fit.
    detector : Detector
        The same as in the fit. By default its reference is that of the fit, where that was a
        detector.

    Raises
    ------
    InputError
        If the detector or the reference is not that of the fit, or a reference is missing, would
        not be read, or is given as predictions.
    """
    loaded, reference = detector.loaded, detector.loaded_reference
    if isinstance(reference, PredictionsReference):
        raise InputError(
            "Where a detector is run on the images of sites its reference detector is run, too "
            "(--reference ALIAS): its results files belong to --predictions."
        )
    if reference is None and {*REFERENCE_FEATURES} & {*estimator.regression_.features_}:
        reference = fitted_reference(estimator.loading_)
    estimator.check_reference(reference is not None)
    estimator.check_detector(loaded, reference)
    # Boxes are stored as they are found: those under a threshold of the fit would count.
    fitted = estimator.context_.get("detector") or estimator.known_looks().detector
    refuse_differences(
        score_thresholds(fitted), score_thresholds(loaded.settings), prefix="detector."
    )
    settings = PassSettings(reference=reference)
    return Observer(loaded, own_words(loaded), settings, reading=detector.reading)


class SitePass(TravellingObserver):
    """Observes the `SiteImage` of a job and returns a `CameraImage` of each, as ``row``.

    Parameters
    ----------
    observer : Observer
        The pass over each image; see `site_observer`.
    clock : Clock
        Reads when images were taken.
    load : callable, optional
        Loads the detector in another process; see `TravellingObserver`.
    depth : int, optional
        How many folders name a site; all by default.
    """

    def __init__(
        self,
        observer: Observer,
        clock: Clock,
        *,
        load: LoadDetector | None = None,
        depth: int | None = None,
    ) -> None:
        super().__init__(observer, load=load)
        self.clock, self.depth = clock, depth

    def __call__(self, job: Job, advance: Advance) -> list[dict[str, Any]]:
        """Observe a batch; files that vanished leave no row, others that cannot be read a reason.

        Parameters
        ----------
        job : Job
            Its payload is a sequence of `SiteImage`.
        advance : callable
            Called with 1 after each image that could be read.

        Raises
        ------
        FileNotFoundError
            If all have vanished.
        """
        images: Sequence[SiteImage] = job.payload
        by_name, log = {image.file.image_id: image for image in images}, PassLog()
        samples = UnlabelledSamples([image.file for image in images])
        rows = []
        for sample, evidence in self.observer.each(samples, log=log):
            image = by_name[sample.image_id]
            boxes = [
                box_rows(detections.boxes, detections.scores, detections.labels)
                for detections in (evidence.clean, evidence.reference)
                if detections is not None  # without a box it says that nothing is there
            ]
            rows.append(self._row(image, evidence.image_size, *boxes))
            advance(1)
        for k, reason in log.unreadable.items():
            if images[k].file.path.exists():
                rows.append(self._row(images[k], (0, 0), np.empty(0, BOX), reason=reason))
        if not rows:
            raise FileNotFoundError(f"{images[0].file.path} and all {len(images)} of its batch")
        return [{"row": row} for row in rows]

    @property
    def made_with(self) -> dict[str, Any]:
        """What its records depend on, as nested plain values."""
        return {**self.observer.context(), "time": self.clock.source, "depth": self.depth}

    def _row(
        self,
        image: SiteImage,
        size: tuple[int, int],
        boxes: np.ndarray,
        reference: np.ndarray | None = None,
        *,
        reason: str = "",
    ) -> CameraImage:
        name = image.file.image_id
        taken, source = self.clock.read(image.file.path, name)
        facts = (f"{image.stamp} {content_digest(image.file.path).hex()}", source, reason)
        return CameraImage(name, image.site, size, taken, boxes, reference, *facts)


class _StoredJobs:
    """A monitor's store as `run_jobs` sees it: jobs whose images are there now are finished."""

    def __init__(self, store: MonitorStore, jobs: Sequence[Job]) -> None:
        self.store, self.jobs = store, jobs
        self.folder = store.folder

    def write_manifest(self, jobs: Sequence[Job], activity: str) -> None:
        """Keep no list: the images themselves are known."""

    def finished(self, keys: Iterable[str]) -> set[str]:
        """Return those that another process has done since they were listed."""
        observed = _observed(self.store)
        done = [job.key for job in self.jobs if observed >= {*map(_named_and_stamped, job.payload)}]
        return {*done} & {*keys}

    def write(self, key: str, rows: list[dict[str, Any]]) -> None:
        self.store.add([row["row"] for row in rows])

    def write_failure(self, key: str, error: str, columns: Mapping[str, Any]) -> None:
        """Leave no row: the next run observes the images again."""

    def clear(self, key: str) -> None:
        """Nothing is ever half written."""


def _observed(store: MonitorStore) -> set[tuple[str, str]]:
    """Return name and stamp of the images of a store, without the digests of their content."""
    index = store.index()
    return set(zip(index["name"], index["stamp"].str.split(" ").str[0], strict=True))


def _named_and_stamped(image: SiteImage) -> tuple[str, str]:
    return image.file.image_id, image.stamp


def observe_sites(
    images: Sequence[SiteImage],
    work: SitePass,
    store: MonitorStore,
    *,
    executor: Executor | None = None,
    in_batch: int = IN_BATCH,
) -> JobCounts:
    """Observe the images that a store does not hold yet, batch by batch.

    A kill loses a batch at most.

    Parameters
    ----------
    images : sequence of SiteImage
        All images.
    work : SitePass
        Observes a batch.
    store : MonitorStore
        Where they are kept.
    executor : Executor, optional
        Runs the batches; by default they run here.
    in_batch : int
        Images of a batch.

    Raises
    ------
    InputError
        If the store holds what another detector, or other settings, left of the images.
    """
    store.check(work.made_with)
    observed = _observed(store)
    new = [image for image in images if _named_and_stamped(image) not in observed]
    fingerprint, jobs = work.observer.detector.fingerprint, []
    for k in range(0, len(new), in_batch):
        batch = tuple(new[k : k + in_batch])
        content = repr((fingerprint, [*map(_named_and_stamped, batch)]))
        key = hashlib.sha256(content.encode()).hexdigest()[:20]
        jobs.append(Job(key, len(batch), batch))
    stored = _StoredJobs(store, jobs)
    return run_jobs(jobs, work, stored, activity="observing images", executor=executor)


def observe_images(
    files: Sequence[ImageFile],
    estimator: AccuracyEstimator,
    detector: Detector,
    store: MonitorStore,
    clock: Clock,
    depth: int | None,
) -> tuple[list[SiteImage], list[str], JobCounts]:
    """Run a detector on the images that its store lacks; see `monitor_images`.

    Parameters
    ----------
    files : sequence of ImageFile
        Images of all sites, named by their path below one root.
    estimator : AccuracyEstimator
        The fit, of the same detector.
    detector : Detector
        The detector, and how it is run.
    store : MonitorStore
        Where the images are kept, and the words of the detector.
    clock : Clock
        Reads when images were taken.
    depth : int or None
        How many folders name a site; all by default.

    Returns
    -------
    images : list of SiteImage
        All images.
    vanished : list of str
        Names of those that vanished.
    counts : JobCounts
        What could not be observed.

    Raises
    ------
    InputError
        As `site_observer` and `observe_sites`.
    """
    observer = site_observer(estimator, detector)
    images, vanished = site_images(files, depth=depth)
    work = SitePass(observer, clock, load=detector.spec, depth=depth)
    counts = observe_sites(images, work, store, executor=detector.executor)
    store.add_words(detector.loaded.categories)
    return images, vanished, counts


def lost_warnings(
    images: Sequence[SiteImage], vanished: Sequence[str], counts: JobCounts, index: pd.DataFrame
) -> Iterator[Notice]:
    """Warn of images that vanished, could not be observed, or cannot be read.

    Parameters
    ----------
    images, vanished, counts
        What `observe_images` returned.
    index : DataFrame
        Images of the store after that; see `MonitorStore.index`.
    """
    seen = set(index["name"])
    lost = [*vanished, *(i.file.image_id for i in images if i.file.image_id not in seen)]
    if lost:
        yield Notice(
            "images-vanished",
            f"vanished during the run: {counted(len(lost), 'image')} ({listed(lost)})",
            severity="note",
        )
    for error in list(dict.fromkeys(counts.failed.values()))[:3]:
        yield Notice(
            "images-not-observed",
            f"could not be observed: {counted(len(counts.failed), 'batch', 'batches')} ({error})",
        )
    reasons = index.loc[index["unreadable"] != "", "unreadable"]
    if len(reasons):
        yield Notice(
            "images-unreadable",
            f"cannot be read: {counted(len(reasons), 'image')} ({listed(reasons, 2)})",
        )
