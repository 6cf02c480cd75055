"""What users give: boxes or a detector, labels, and the categories that count."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import TypedDict, Unpack

from autoeval.boxes import Boxes, LabelledImage
from autoeval.detectors.adapters import wrap_object
from autoeval.detectors.detector_spec import DetectorSpec
from autoeval.errors import InputError
from autoeval.estimation.observation.kept_observer import Keeping
from autoeval.estimation.observation.observing import ImageDetector
from autoeval.estimation.observation.reference_boxes import Reference, load_reference
from autoeval.estimation.observation.samples import ImageLoading
from autoeval.io.coco import read_coco
from autoeval.io.documents import is_json, name_of
from autoeval.io.image_lists import image_folders, with_sizes
from autoeval.io.in_memory import in_memory, labels_in_memory, not_accepted
from autoeval.io.labels.content import LabelSet
from autoeval.io.predictions import read_predictions
from autoeval.io.predictions.category_words import read_names, spelt_as
from autoeval.io.predictions.reading import NoBoxError
from autoeval.labels import PLAN
from autoeval.notices import Notice
from autoeval.runtime.files import PathLike
from autoeval.runtime.jobs import Executor
from autoeval.sites.category_numbers import usual_way
from autoeval.sites.site import Site
from autoeval.words import listed, listed_near

if TYPE_CHECKING:
    pass

Categories = Mapping[str, Sequence[str]]
GivenLabels = PathLike | Any
"""A path, or labels in memory; see `labels_in_memory`."""


@dataclass(frozen=True)
class Predictions:
    """What a detector found on one set of images, as files.

    Parameters
    ----------
    path : path-like or object in memory
        COCO results, JSON lines, Parquet or a folder of text files; see
        `autoeval.load_predictions`. For a task a folder with ``NAME.json`` for each source; the
        other files are then such folders, too. Or a DataFrame with the columns of Parquet, rows of
        a COCO result, a COCO dict or ``pycocotools.COCO``, or a list with one item an image of
        ``supervision.Detections``, torchvision's dicts or Ultralytics ``Results``.
    reference : path-like or sequence of path-like, optional
        What a stronger detector found on the same images: its boxes count as probable labels; see
        docs/how-to/reference.md. Of several a fit reads the strongest.
    names : mapping of str to str, or path-like
        Word for each category number, where neither the file nor the labels have it; or the file
        with the words: ``data.yaml``, or a text file with a word a line, counted from 0.
    complete : bool
        Whether all boxes are there; False goes on although those with a score under .3 are missing.
    reference_names : mapping of str to str, or path-like
        Word of the detector for each category number of the reference, as `names`.
    columns : sequence of str
        What stands in which column of text files, such as ``["class", "score", "left", "top",
        "right", "bottom"]``; see `autoeval.io.predictions.text_folder.column_names`. By default it
        is found out.
    numbering : str
        How category numbers count: ``"labels"`` (as in the labels, `names` or the fit), ``"0"`` or
        ``"1"`` (positions in their list from there), ``"coco"`` (COCO's 1 to 90). By default the
        way in which all numbers have a word; where several fit, labels or the fit decide.
    """

    path: Any
    reference: PathLike | Sequence[PathLike] | None = None
    names: Mapping[str, str] | PathLike = field(default_factory=dict)
    complete: bool = True
    reference_names: Mapping[str, str] | PathLike = field(default_factory=dict)
    columns: Sequence[str] = ()
    numbering: str = ""

    def read(
        self,
        images: Sequence[LabelledImage] | None,
        *,
        where: str,
        numbers: Mapping[str, str],
        words: Sequence[str] | None = None,
        kind: str = "",
    ) -> Site:
        """Read all passes, in the words of the detector, on the images that all of them cover.

        Category numbers that several ways fit are left to the caller, see
        `autoeval.sites.category_numbers`.

        images: all images that the detector was run on; by default those that the predictions name.
        numbers: word of each category number; `names` go before.
        words: of the detector, where the predictions may hold no box; see `read_predictions`.
        kind: of the files of the fit; see `autoeval.sites.category_numbers.kind_of`.
        """
        if self.reference_names and self.reference is None:
            raise InputError(
                "`reference_names` belongs to the boxes of a reference detector, and there are "
                "none: give `reference`, too, or leave it out."
            )
        if len(self.references) > 1:
            raise InputError(
                f"Expected the boxes of one reference detector here but got {len(self.references)}:"
                " give those of the one that the fit reads."
            )
        numbers = _words_of(self.names) or numbers
        read = read_predictions(
            self.path,
            images=images,
            where=where,
            numbers=numbers,
            words=words,
            columns=self.columns,
            numbering=self.numbering,
            usual=usual_way(kind, text=self.name.is_dir()),
            undecided=True,
        )
        clean = spelt_as(read, [*numbers.values(), *(words or ())])
        kept, reference = clean.covered, None
        if self.references:
            numbers = _words_of(self.reference_names) or numbers
            reference = _read_reference(clean, self.references[0], self.name, numbers)
            kept = np.intersect1d(kept, reference.covered)
        # Frames of a video show the same things for a while; see `time_blocks`.
        blocks = clean.run.blocks if clean.run and clean.run.knows_images else None
        left_out = (*clean.left_out, *(reference.left_out if reference is not None else ()))
        site = Site(clean, reference=reference, blocks=blocks, left_out=left_out)
        return site if len(kept) == len(site) else site.on_images(kept)

    def of_source(self, path: Path) -> Predictions:
        """Return those of one source of a task: its file, and those of equal name beside it."""
        references = [Path(reference) / path.name for reference in self.references]
        return replace(self, path=path, reference=references or None)

    @property
    def name(self) -> Path:
        """The path, or for messages what is in memory."""
        return name_of(self.path)

    @property
    def references(self) -> tuple[PathLike, ...]:
        """The boxes of each reference detector."""
        if self.reference is None or isinstance(self.reference, str | os.PathLike):
            return () if self.reference is None else (self.reference,)
        return tuple(self.reference)


class Loading(TypedDict, total=False):
    """How a detector that is named is loaded; see `DetectorSpec`."""

    checkpoint: str | None
    device: str | None
    cfg_options: Mapping[str, Any] | None
    trust_checkpoint: bool
    classes: str | None
    precision: str | None


class Detector:
    """A detector that is run over images: how it is loaded, and how it is run.

    Parameters
    ----------
    detector : str, DetectorSpec, ImageDetector or object
        A name as `DetectorSpec` describes it; or a detector that is loaded already, such as a
        `BlackBoxDetector`, Ultralytics' `YOLO`, a detection module of torchvision, or a pair of
        model and processor of transformers.
    reference : str, DetectorSpec or Reference, optional
        A stronger detector, or the path of its predictions: agreement with it becomes a score.
    batch_size, num_workers : int, optional
        How many images are read ahead together, and in how many threads; see
        `autoeval.estimation.observation.samples.ImageLoading`. They change no number.
    executor : Executor, optional
        Where it is run; this process by default.
    **loading
        Where it is named: ``checkpoint``, ``device``, ``cfg_options``, ``classes``, ``precision``,
        ``trust_checkpoint``, as `DetectorSpec` describes them.

    Raises
    ------
    InputError
        If a detector that is loaded already is to be loaded otherwise, the batch size is under 1,
        or the number of workers under 0.
    """

    def __init__(
        self,
        detector: str | DetectorSpec | ImageDetector,
        *,
        reference: PathLike | DetectorSpec | Reference | None = None,
        batch_size: int | None = None,
        num_workers: int | None = None,
        executor: Executor | None = None,
        **loading: Unpack[Loading],
    ) -> None:
        if isinstance(detector, str):
            detector = DetectorSpec(detector, **loading)
        elif loading:
            raise InputError(
                f"{listed(sorted(loading))}: for a detector that is named, and this one is loaded "
                "already or says itself how. Leave that out."
            )
        if not isinstance(detector, DetectorSpec) and not hasattr(detector, "observe"):
            detector = wrap_object(detector) or detector
        self.detector = detector
        self.reference = reference
        self.reading = ImageLoading(batch_size, num_workers)
        self.executor = executor

    @property
    def spec(self) -> DetectorSpec | None:
        """How it is loaded, where that is known."""
        return self.detector if isinstance(self.detector, DetectorSpec) else None

    @cached_property
    def loaded(self) -> ImageDetector:
        """The detector itself; `InputError` as `autoeval.load_detector`."""
        return self.spec() if self.spec else self.detector  # type: ignore[return-value]

    @property
    def loaded_reference(self) -> Reference | None:
        """The stronger detector, loaded."""
        return load_reference(self.reference)

    def keeping(self, folder: PathLike | None) -> Keeping | None:
        """Return where to keep what is observed, and who observes; None without a folder.

        Raises InputError if there is an executor and no folder: its workers share one.
        """
        if folder is not None:
            return Keeping(Path(folder), self.executor, self.spec)
        if self.executor is not None:
            raise InputError("An executor needs a folder in which its workers meet: `work_dir`.")
        return None

    @property
    def loading(self) -> dict[str, Any] | None:
        """How both are loaded, as plain values to keep with an estimator."""
        if self.spec is None:
            return None
        given = self.reference
        reference = given.to_dict() if isinstance(given, DetectorSpec) else None
        return {"detector": self.spec.to_dict(), "reference": reference}


GivenBoxes = PathLike | Predictions | Detector | DetectorSpec | ImageDetector | Any


"""A path or an object in memory is short for `Predictions`; see there for which objects."""


def given_boxes(boxes: GivenBoxes) -> Predictions | Detector:
    """Tell predictions, of which a path or an object is short for `Predictions`, from a detector.

    Raises InputError if a path is none, but could be the name of a detector, and for an object that
    is neither.
    """
    if isinstance(boxes, Predictions | Detector):
        return boxes
    if not isinstance(boxes, str | os.PathLike):
        if isinstance(boxes, DetectorSpec) or hasattr(boxes, "observe"):
            return Detector(boxes)
        if in_memory(boxes):
            return Predictions(boxes)
        wrapped = wrap_object(boxes)
        if wrapped is None:
            raise not_accepted(boxes)
        return Detector(wrapped)
    path = Path(boxes)
    if not path.exists() and (not path.suffix or ".py" in path.name):
        raise InputError(
            f"No predictions {boxes}: check the path. A detector to be run is given as "
            f"`detector` (--detector {boxes})."
        )
    return Predictions(boxes)


def _words_of(names: Mapping[str, str] | PathLike) -> Mapping[str, str]:
    return read_names(Path(names)) if isinstance(names, str | os.PathLike) else names


def _read_reference(clean: Boxes, path: PathLike, where: Path, numbers: Mapping[str, str]) -> Boxes:
    """Read a reference's boxes on the same images, in the same words; its file may hold no box."""
    try:
        reference = read_predictions(path, images=clean.images, where=str(where), numbers=numbers)
    except NoBoxError:
        return clean.where(np.zeros(len(clean), bool))
    reference = spelt_as(reference, clean.categories)
    words = {word: word for word in reference.categories if word in clean.categories}
    if not words:
        raise InputError(
            f"{path} has other categories than the predictions: {listed(reference.categories, 10)}."
        )
    return reference.as_categories(clean.categories, words)


def named_categories(given: Categories | Sequence[str] | None) -> dict[str, list[str]] | None:
    """Return categories with the detector's words for each, a list; None for none.

    A single word stands for a list of one, and a list of categories for each by its own word.

    Examples
    --------
    >>> named_categories({"vehicle": "car"}), named_categories(["car"])
    ({'vehicle': ['car']}, {'car': ['car']})
    """
    if not given:
        return None
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, Mapping):
        given = {name: [name] for name in given}
    return {
        name: [words] if isinstance(words, str) else list(words or [name])
        for name, words in given.items()
    }


def words_of(categories: Categories) -> dict[str, str]:
    """Return the category of each word of the detector; a category without words is its own."""
    categories_of: dict[str, str] = {}
    for name, words in categories.items():
        for word in words or [name]:
            if categories_of.setdefault(word, name) != name:
                raise InputError(
                    f"The word '{word}' is given to two categories, {categories_of[word]} and "
                    f"{name}: a box counts for one."
                )
    return categories_of


def given_categories(given: Categories | None, of_fit: Categories | None) -> Categories | None:
    """Return the categories that may count at a site, each with the detector's words for it.

    given: for the site; one without other words than its own name has those of the fit.
    of_fit: categories whose words the fit knows, which stand where none are given.

    >>> given_categories({"vehicle": ["vehicle"]}, {"vehicle": ["car", "bus"], "dog": ["dog"]})
    {'vehicle': ['car', 'bus']}
    """
    if not given:
        return of_fit
    known = of_fit or {}
    return {
        name: known[name] if name in known and list(words or [name]) == [name] else words
        for name, words in given.items()
    }


def checked_present(
    present: Collection[str], categories: Categories | None, names: Sequence[str]
) -> tuple[str, ...]:
    """Return the categories that are said to be there; a single one that may count always is.

    names: of the categories of the site. Raises InputError for others.
    """
    unknown = [name for name in present if name not in names]
    if unknown:
        raise InputError(
            f"Expected `present` (--present) to name categories of the site but got "
            f"{listed(unknown)}. There are {listed_near(unknown, sorted(names))}."
        )
    single = categories if categories is not None and len(categories) == 1 else {}
    return tuple(dict.fromkeys([*present, *single]))


def check_words(categories: Categories, vocabulary: set[str]) -> list[str]:
    """Warn of words that no box has; refuse a category that has no other."""
    warnings: list[str] = []
    for name, words in categories.items():
        unknown = [word for word in words or [name] if word not in vocabulary]
        if len(unknown) == len(words or [name]):
            raise InputError(
                f"No box is called {listed(unknown)}, neither here nor where the estimator was "
                f"fitted. The detector's words: {listed_near(unknown, sorted(vocabulary))}."
            )
        if unknown:
            warnings.append(
                Notice(
                    "word-not-known",
                    f"no box is called {listed(unknown)}, here or in the fit: check the word",
                )
            )
    return warnings


def is_coco_file(path: Path, layout: str | None = None) -> bool:
    """Whether labels are one COCO file, which names its images without their folder."""
    return is_json(path) and path.is_file() and layout in (None, "coco")


def plan_beside(labels: GivenLabels) -> Path | None:
    """Return the folder of the plan that drew the labelled images, where labels lie in one."""
    if not isinstance(labels, str | os.PathLike):
        return None
    folder = Path(labels).parent
    return folder if (folder / PLAN).exists() else None


def read_labels(
    labels: GivenLabels,
    img_dir: PathLike | None,
    *,
    layout: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> LabelSet:
    """Read labels; a COCO file without a folder of images needs no library that reads images.

    With one, its images get the names of the files there, and one of them at least is among these.
    """
    if not isinstance(labels, str | os.PathLike):
        if img_dir is not None:
            raise InputError(
                "`img_dir` is for label files that do not say where their images lie, and these "
                "labels are in memory: leave it out."
            )
        return labels_in_memory(labels)
    path = Path(labels)
    if not path.exists():
        raise InputError(f"No labels {path}: check the path.")
    is_coco = is_coco_file(path, layout)
    if is_coco and img_dir is None:
        content = read_coco(path)
        return replace(content, images=with_sizes(content.images, image_folders(path)))
    from autoeval.io.labels.any_format import load_labels

    folder = None if img_dir is None else os.fspath(img_dir)
    content = load_labels(path, folder, layout=layout, **(options or {}))
    there = (Path(folder or "") / image.file_name for image in content.images)
    if is_coco and not any(path.is_file() for path in there):
        raise InputError(
            f"Expected images of {path} in {img_dir} but found none of them there: check "
            "`img_dir` (--img-dir), or leave it out."
        )
    return content
