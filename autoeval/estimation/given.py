"""What users give in files and in memory: predictions, labels, and the categories that count."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from autoeval.boxes import Boxes, Categories, LabelledImage
from autoeval.errors import InputError
from autoeval.io.coco import read_coco
from autoeval.io.image_lists import with_sizes
from autoeval.io.in_memory import labels_in_memory
from autoeval.io.labels.content import LabelSet
from autoeval.io.predictions.category_words import (
    IMAGES,
    ReadAs,
    frequencies,
    numbered_by_fit,
    read_names,
)
from autoeval.io.predictions.reading import read_boxes
from autoeval.labels import PLAN
from autoeval.runtime.files import PathLike, is_json, name_of
from autoeval.sites.site import Site
from autoeval.words import Notice, listed, listed_near

if TYPE_CHECKING:
    from autoeval.estimation.run_detector import Detector

GivenLabels = PathLike | Any
"""A path, or labels in memory; see `labels_in_memory`."""


@dataclass(frozen=True)
class Predictions:
    """What a detector found on one set of images, as files.

    Parameters
    ----------
    path : path-like or object in memory
        COCO results, JSON lines, Parquet or a folder of text files; see
        `autoeval.load_predictions`. For a task a folder with ``NAME.json`` for each site; the
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
        ``"1"`` (positions in their list from there), ``"coco"`` (COCO's 1 to 90), ``"images"`` (the
        categories of the list of images). By default the way in which all numbers have a word;
        where several fit, labels or the fit decide. Of these only ``"images"`` is of a reference's
        numbers, too.
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
        of_images: Mapping[str, str] = MappingProxyType({}),
        of_fit: Mapping[str, float] | None = None,
    ) -> Site:
        """Read all passes, in the words of the detector, on the images that all of them cover.

        Category numbers that several ways fit are read by how often a fit finds each category,
        those of a reference by how often the detector does here; without a fit they are left to
        the caller. See `autoeval.io.predictions.category_words`.

        images: all images that the detector was run on; by default those that the predictions name.
        numbers: word of each category number; `names` go before.
        words: of the detector, where the predictions may hold no box; see `read_predictions`.
        kind: of the files of the fit; see `autoeval.io.predictions.category_words.kind_of`.
        of_images: word of each category number by the list of images; `names` go before.
        of_fit: how often a fit finds each category; see
            `autoeval.io.predictions.category_words.frequencies`.
        """
        if self.reference_names and not self.references:
            raise InputError(
                "`reference_names` belongs to the boxes of a reference detector, and there are "
                "none: give `reference`, too, or leave it out."
            )
        if len(self.references) > 1:
            raise InputError(
                f"Expected the boxes of one reference detector here but got {len(self.references)}:"
                " give those of the one that the fit reads."
            )
        if self.names:
            numbers, of_images = read_names(self.names), {}
        how = ReadAs(
            numbers,
            words,
            self.columns,
            self.numbering,
            kind,
            undecided=True,
            of_images=of_images,
        )
        clean = read_boxes(self.path, how, images, where)
        if of_fit is not None and clean.numbering.others:
            clean = numbered_by_fit(clean, of_fit, kind, self.name)
        reference = None
        if self.references:
            how = ReadAs(numbers, clean.categories)
            if self.reference_names:
                how = ReadAs(read_names(self.reference_names), clean.categories)
            elif of_images and self.numbering in ("", IMAGES):
                how = replace(how, undecided=True, of_images=of_images)
            reference = self._read_reference(clean, how)
        # Frames of a video show the same things for a while; see `time_blocks`.
        blocks = clean.run.blocks if clean.run and clean.run.knows_images else None
        left_out = (*clean.left_out, *(reference.left_out if reference is not None else ()))
        site = Site(clean, reference=reference, blocks=blocks, left_out=left_out)
        uncovered = [*clean.uncovered, *(reference.uncovered if reference is not None else ())]
        return site.without_images(uncovered) if uncovered else site

    def _read_reference(self, clean: Boxes, how: ReadAs) -> Boxes:
        """Read a reference's boxes on the same images, in the same words; there may be none."""
        path = self.references[0]
        reference = read_boxes(path, how, clean.images, str(self.name))
        numbering = reference.numbering
        if self.numbering == IMAGES and IMAGES in (numbering.used, *numbering.others):
            reference = reference.numbered(IMAGES)
        elif not numbering.decided:
            reference = numbered_by_fit(reference, frequencies(clean), "", name_of(path))
        words = {word: word for word in reference.categories if word in clean.categories}
        if not words:
            raise InputError(
                f"{path} has other categories than the predictions: "
                f"{listed(reference.categories, 10)}."
            )
        return reference.as_categories(clean.categories, words)

    def of_site(self, path: Path) -> Predictions:
        """Return those of one site of a task: its file, and those of equal name beside it."""
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


GivenBoxes = PathLike | Predictions | Any
"""A path or an object in memory is short for `Predictions`, see there for which objects; or a
`Detector`, for which a `DetectorSpec` or a detector that is loaded is short."""


def given_boxes(boxes: GivenBoxes) -> Predictions | Detector:
    """Tell predictions, of which a path or an object is short for `Predictions`, from a detector.

    Raises InputError if a path is none, but could be the name of a detector, and for an object that
    is neither.
    """
    if isinstance(boxes, Predictions):
        return boxes
    if isinstance(boxes, str | os.PathLike):
        path = Path(boxes)
        if not path.exists() and (not path.suffix or ".py" in path.name):
            raise InputError(
                f"No predictions {boxes}: check the path. A detector to be run is given as "
                f"`detector` (--detector {boxes})."
            )
        return Predictions(boxes)
    # What runs detectors takes a while to import, and files need none of it.
    from autoeval.detectors.adapters import wrap_object
    from autoeval.detectors.detector_spec import DetectorSpec
    from autoeval.estimation.run_detector import Detector
    from autoeval.io.in_memory import in_memory, not_accepted

    if isinstance(boxes, Detector):
        return boxes
    if isinstance(boxes, DetectorSpec) or hasattr(boxes, "observe"):
        return Detector(boxes)
    if in_memory(boxes):
        return Predictions(boxes)
    wrapped = wrap_object(boxes)
    if wrapped is None:
        raise not_accepted(boxes)
    return Detector(wrapped)


def named_categories(
    given: Categories | Sequence[str] | None, of_fit: Categories | None = None
) -> dict[str, list[str]] | None:
    """Return the categories that may count, each with a list of the detector's words for it.

    given: a single word stands for a list of one, and a list of categories for each by its own
        word. A category without other words than its own name has those of the fit.
    of_fit: categories whose words a fit knows, which stand where none are given; None for none.

    Examples
    --------
    >>> named_categories({"vehicle": "car"}), named_categories(["car"])
    ({'vehicle': ['car']}, {'car': ['car']})
    >>> named_categories(["vehicle"], {"vehicle": ["car", "bus"], "dog": ["dog"]})
    {'vehicle': ['car', 'bus']}
    """
    known = {name: list(words) for name, words in (of_fit or {}).items()}
    if not given:
        return None if of_fit is None else known
    if isinstance(given, str):
        given = [given]
    named = given if isinstance(given, Mapping) else {name: [name] for name in given}
    categories = {}
    for name, words in named.items():
        listed_words = [words] if isinstance(words, str) else list(words or [name])
        categories[name] = known.get(name, [name]) if listed_words == [name] else listed_words
    return categories


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
        return replace(content, images=with_sizes(content.images, path))
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


def other_reference(given: bool) -> InputError:
    """Return the error of a reference detector that is not read, or none where one is needed.

    given: whether there is one for the new images.
    """
    if given:
        return InputError(
            "This estimator was fitted without a reference detector (`reference`, --reference), so "
            "it would not be read: leave it out, or fit again with it."
        )
    return InputError(
        "This estimator was fitted with a reference detector: give the same one for these "
        "images (--reference), as a detector or by its boxes, or fit again without."
    )
