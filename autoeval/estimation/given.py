"""What users give in files and in memory: predictions, labels, and the categories that may count.

`given_boxes` distinguishes predictions from a detector, `Predictions` reads the boxes of a detector
and of its reference into a `Site`, `read_labels` reads labels into a `LabelSet`. Fits
(`autoeval.estimation.labelled_sets`) and estimates (`autoeval.estimation.read_site`) begin here.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from autoeval.boxes import Boxes, Categories, LabelledImage, same_boxes, words_of
from autoeval.errors import InputError
from autoeval.io.coco import read_coco
from autoeval.io.image_lists import with_sizes
from autoeval.io.in_memory import in_memory, labels_in_memory, not_accepted
from autoeval.io.labels.content import LabelSet
from autoeval.io.predictions.category_words import (
    IMAGES,
    ReadAs,
    frequencies,
    known_spellings,
    numbered_by_fit,
    read_names,
)
from autoeval.io.predictions.covered_images import unseen_images
from autoeval.io.predictions.reading import file_of, read_boxes
from autoeval.labels import PLAN
from autoeval.runtime.files import PathLike, is_json, name_of
from autoeval.sites.label_warnings import reference_elsewhere
from autoeval.sites.site import Site
from autoeval.words import Notice, listed, listed_near, prefixed

if TYPE_CHECKING:
    from autoeval.estimation.run_detector import Detector

GivenLabels = PathLike | Any
"""A path, or labels in memory; see `labels_in_memory`."""


@dataclass(frozen=True)
class Predictions:
    """What a detector found on one set of images, as files or objects, and how they are read.

    `fit`, `estimate` and other functions take one wherever they take a path of predictions.

    Parameters
    ----------
    path : path-like or object in memory
        The boxes. As a path: COCO results, Parquet or another format of
        `autoeval.load_predictions`. For a task a folder with ``NAME.json`` for each site; the other
        files are then such folders, too. In memory: `Boxes`, as `autoeval.detect` returns
        them, a DataFrame with the columns of Parquet, rows of a COCO result, a COCO dict or
        ``pycocotools.COCO``, or a list with one item an image of ``supervision.Detections``,
        torchvision's dicts, lists of transformers' pipeline or Ultralytics ``Results``.
    reference : path-like or object in memory, or list of these, optional
        What a stronger detector found on the same images: its boxes count as probable labels; see
        docs/how-to/reference.md. Of several a fit reads the strongest.
    names : mapping or sequence of str, or path-like
        Word for each category number, where neither the file nor the labels have it, such as
        ``model.names`` or ``config.id2label``, or the words from number 0 on; or the file with the
        words: ``data.yaml``, JSON, or a text file with a word a line, counted from 0.
    complete : bool
        Whether all boxes are there; False goes on although those with a score under .3 are missing.
    reference_names : mapping or sequence of str, or path-like
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

    Examples
    --------
    Rows of a COCO result, whose boxes are ``[left, top, width, height]`` in pixels, of one image:

    >>> from autoeval.boxes import LabelledImage
    >>> rows = [
    ...     {"image_id": 7, "category_id": 3, "bbox": [10, 20, 30, 40], "score": 0.9},
    ...     {"image_id": 7, "category_id": 3, "bbox": [50, 20, 30, 40], "score": 0.2},
    ... ]
    >>> image = LabelledImage("7", "gate.jpg", (480, 640))
    >>> site = Predictions(rows).read([image], where="the list", numbers={"3": "car"})
    >>> site.boxes.categories, site.boxes.boxes[0].tolist(), site.boxes.scores.tolist()
    (('car',), [10.0, 20.0, 40.0, 60.0], [0.9, 0.2])
    """

    path: Any
    reference: Any = None
    names: Mapping[Any, str] | Sequence[str] | PathLike = field(default_factory=dict)
    complete: bool = True
    reference_names: Mapping[Any, str] | Sequence[str] | PathLike = field(default_factory=dict)
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
        unlabelled: Sequence[str] = (),
    ) -> Site:
        """Read boxes and reference, in the words of the detector, on the images that both cover.

        Category numbers that several ways fit are read by how often a fit finds each category,
        those of a reference by how often the detector does here; without a fit they are left to
        the caller. See `autoeval.io.predictions.category_words`.

        Parameters
        ----------
        images : sequence of LabelledImage, optional
            All images that the detector was run on; by default those that the predictions name.
        where : str
            What the images are the list of, for messages.
        numbers : mapping of str to str
            Word of each category number; `names` go before.
        words : sequence of str, optional
            Of the detector, where the predictions may hold no box; see `read_predictions`.
        kind : str
            Of the files of the fit; see `autoeval.io.predictions.category_words.kind_of`.
        of_images : mapping of str to str
            Word of each category number by the list of images; `names` go before.
        of_fit : mapping of str to float, optional
            How often a fit finds each category; see
            `autoeval.io.predictions.category_words.frequencies`.
        unlabelled : sequence of str
            File names of images that nobody has labelled, whose boxes do not count.

        Returns
        -------
        Site
            With the boxes, those of the reference where there is one, and blocks of time where
            `autoeval detect` noted them. Images of which the predictions or the reference say
            nothing are left out.

        Raises
        ------
        InputError
            If there are `reference_names` without a reference or several references, a file cannot
            be read, or the reference has no category of the detector.
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
        reading = ReadAs(
            numbers,
            words,
            self.columns,
            self.numbering,
            kind,
            undecided=True,
            of_images=of_images,
            unlabelled=unlabelled,
        )
        clean = read_boxes(self.path, reading, images, where)
        if of_fit is not None and clean.numbering.others:
            clean = numbered_by_fit(clean, of_fit, kind, self.name)
        reference = None
        if self.references:
            # words that the detector has, found here or not
            known = list(dict.fromkeys([*clean.categories, *(words or ())]))
            reading = ReadAs(numbers, known)
            if self.reference_names:
                reading = ReadAs(read_names(self.reference_names), known)
            elif of_images and self.numbering in ("", IMAGES):
                reading = replace(reading, undecided=True, of_images=of_images)
            reference = self._read_reference(clean, replace(reading, unlabelled=unlabelled))
            clean = replace(clean, categories=reference.categories)
        # Frames of a video show the same things for a while; see `time_blocks`.
        blocks = clean.run.blocks if clean.run else None
        left_out = (*clean.left_out, *(reference.left_out if reference is not None else ()))
        site = Site(clean, reference=reference, blocks=blocks, left_out=left_out)
        uncovered = [*clean.uncovered, *(reference.uncovered if reference is not None else ())]
        return site.without_images(uncovered) if uncovered else site

    def _read_reference(self, clean: Boxes, reading: ReadAs) -> Boxes:
        """Read a reference's boxes on the same images, in the same words; there may be none.

        Parameters
        ----------
        clean : Boxes
            Those of the detector, whose images and categories the result has; words of the
            detector of which the reference alone has boxes come last.
        reading : ReadAs
            How category numbers of the reference are read, with all words of the detector.

        Raises
        ------
        InputError
            If the reference shares no category with the detector, or cannot be read.
        """
        given, path = self.references[0], name_of(self.references[0])
        reference = read_boxes(given, reading, clean.images, str(self.name))
        numbering = reference.numbering
        if self.numbering == IMAGES and IMAGES in (numbering.used, *numbering.others):
            reference = reference.numbered(IMAGES)
        elif not numbering.decided:
            reference = numbered_by_fit(reference, frequencies(clean), "", path)
        known = {*clean.categories, *(reading.words or ())}
        words = {word: word for word in reference.categories if word in known}
        found = [reference.categories[k] for k in np.unique(reference.label).tolist()]
        if not words or (found and words.keys().isdisjoint(found)):
            raise InputError(
                f"{path} has other categories than the predictions: "
                f"{listed(found or reference.categories, 10)}."
            )
        more = [word for word in found if word in known and word not in clean.categories]
        clean = replace(clean, categories=(*clean.categories, *more))
        reference = reference.as_categories(clean.categories, words)
        # Images that the detector itself was not run on are left out in any case.
        unseen, notes = unseen_images(reference, clean.covered, str(path), complete=self.complete)
        notices = [*notes, *reference_elsewhere(clean, reference)]
        if same_boxes(clean, reference):
            text = (
                "it has the boxes of the predictions themselves, which the detector never misses: "
                "expected those of another, stronger detector"
            )
            notices.append(Notice("same-boxes", text))
        odd = prefixed("reference", notices)
        return replace(
            reference,
            uncovered=(*reference.uncovered, *unseen.tolist()),
            left_out=(*reference.left_out, *odd),
        )

    def of_site(self, site: str, path: Path) -> Predictions:
        """Return those of one site of a task.

        Parameters
        ----------
        site : str
            Its name.
        path : Path
            Its file; references are those of equal name in the folders of `reference`, or else
            those of the site there, see `file_of`.

        Raises
        ------
        InputError
            If a folder of `reference` has no file of the site, or several in other formats or
            folders below it.
        """
        folders = map(Path, self.references)
        references = [
            same if (same := folder / path.name).is_file() else file_of(site, folder)
            for folder in folders
        ]
        return replace(self, path=path, reference=references or None)

    @property
    def name(self) -> Path:
        """The path, or for messages what is in memory."""
        return name_of(self.path)

    @property
    def references(self) -> tuple[Any, ...]:
        """The boxes of each reference detector; a list of rows, or of images, is those of one."""
        given = self.reference
        if isinstance(given, list | tuple) and all(
            isinstance(item, str | os.PathLike) or in_memory(item) for item in given
        ):
            return tuple(given)
        return () if given is None else (given,)


GivenBoxes = PathLike | Predictions | Any
"""A path or an object in memory is short for `Predictions`, see there for which objects; or a
`Detector`, for which a `DetectorSpec` or a detector that is loaded is short."""


def given_boxes(boxes: GivenBoxes) -> Predictions | Detector:
    """Return predictions as `Predictions`, and a detector as `Detector`.

    Parameters
    ----------
    boxes : path-like, Predictions, Detector or object
        See `GivenBoxes`.

    Returns
    -------
    Predictions or Detector
        What is one already is returned as it is. Files are not opened.

    Raises
    ------
    InputError
        If a path is none, but could be the name of a detector, and for an object that is neither.

    Examples
    --------
    >>> row = {"image_id": 1, "bbox": [0, 0, 9, 9], "score": 0.5, "category": "car"}
    >>> type(given_boxes([row])).__name__, str(given_boxes(".").path)
    ('Predictions', '.')
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
    given: Categories | Sequence[str] | None,
    of_fit: Categories | None = None,
    joined: Categories | None = None,
    vocabulary: Sequence[str] = (),
) -> dict[str, list[str]] | None:
    """Return the categories that may count, each with a list of the detector's words for it.

    Parameters
    ----------
    given : mapping of str to sequence of str, or sequence of str, optional
        A single word stands for a list of one, and a list of categories for each by its own
        word. A category without other words than its own name has those of the fit.
    of_fit : mapping of str to sequence of str, optional
        Categories whose words a fit knows, which stand where none are given; None for none.
    joined : mapping of str to sequence of str, optional
        Categories whose words a joined fit knows of some of its parts, which do not.
    vocabulary : sequence of str
        Words of the detector: what differs from one by case or separators alone is this one, see
        `known_spellings`. So are categories without other words.

    Returns
    -------
    dict of str to list of str, or None
        None where categories are neither given nor known by the fit.

    Examples
    --------
    >>> named_categories({"vehicle": "car"}), named_categories(["car"])
    ({'vehicle': ['car']}, {'car': ['car']})
    >>> named_categories(["vehicle"], {"vehicle": ["car", "bus"], "dog": ["dog"]})
    {'vehicle': ['car', 'bus']}
    >>> named_categories({"X": ["Bus"], "Van": []}, vocabulary=["bus", "van"])
    {'X': ['bus'], 'van': ['van']}
    >>> named_categories(["bus"], {"Bus": ["bus"]}, vocabulary=["bus", "van"])
    {'Bus': ['bus']}
    """
    if not given:
        return None if of_fit is None else {name: list(words) for name, words in of_fit.items()}
    known = {name: list(words) for name, words in {**(joined or {}), **(of_fit or {})}.items()}
    if isinstance(given, str):
        given = [given]
    named = given if isinstance(given, Mapping) else {name: [name] for name in given}
    typed = {
        name: [words] if isinstance(words, str) else list(words or [name])
        for name, words in named.items()
    }
    alone = [name for name, words in typed.items() if words == [name]]
    spelt_names = known_spellings(alone, [*known, *vocabulary])
    # a fit may call a word of the detector otherwise: Bus, where its boxes are called bus
    by_fit = known_spellings(alone, [*known])
    spelt_names |= {word: name for word, name in by_fit.items() if known[name] == [word]}
    spelt = known_spellings([word for words in typed.values() for word in words], vocabulary)
    categories = {}
    for name, words in typed.items():
        if words == [name]:
            name = spelt_names.get(name, name)
            categories[name] = known.get(name, [name])
        else:
            categories[name] = [spelt.get(word, word) for word in words]
    return categories


def with_own_names(
    categories: Categories, of_fit: Collection[str], found: Collection[str]
) -> dict[str, list[str]]:
    """Add the name of a category to the detector's words for it, where boxes are called by it.

    As of a file in which several words were made one before. Not where the fit found boxes of this
    word, which the categories then leave out or have elsewhere.

    Parameters
    ----------
    categories : mapping of str to sequence of str
        Each with the detector's words for it.
    of_fit, found : collection of str
        Words of the boxes of the fit, and of the boxes that are read.

    Examples
    --------
    >>> with_own_names({"vehicle": ["car", "bus"]}, ["car", "bus", "dog"], ["vehicle", "dog"])
    {'vehicle': ['car', 'bus', 'vehicle']}
    """
    known = {*of_fit, *words_of(categories)}
    return {
        name: [*words, name] if name in found and name not in known else list(words)
        for name, words in categories.items()
    }


def checked_present(
    present: Collection[str], categories: Categories | None, names: Sequence[str]
) -> tuple[str, ...]:
    """Return the categories that are said to be there; a single one that may count always is.

    Parameters
    ----------
    present : collection of str
        As a user names them.
    categories : mapping, optional
        Those that may count, where they were named.
    names : sequence of str
        Of the categories of the site.

    Raises
    ------
    InputError
        If one of `present` is no category of the site.

    Examples
    --------
    >>> checked_present([], {"car": ["car"]}, ["car"])
    ('car',)
    >>> checked_present(["dog"], None, ["car", "dog"])
    ('dog',)
    """
    unknown = [name for name in present if name not in names]
    if unknown:
        raise InputError(
            f"Expected `present` (--present) to name categories of the site but got "
            f"{listed(unknown)}. There are {listed_near(unknown, sorted(names))}."
        )
    single = categories if categories is not None and len(categories) == 1 else {}
    return tuple(dict.fromkeys([*present, *single]))


def check_words(categories: Categories, vocabulary: set[str]) -> list[Notice]:
    """Warn of words that no box has; raise `InputError` for a category without any other word.

    Parameters
    ----------
    categories : mapping of str to sequence of str
        Each with the detector's words for it; its own name where it has none.
    vocabulary : set of str
        Words of the boxes, here and in the fit.

    Returns
    -------
    list of Notice
        One warning for each category with such a word.

    Raises
    ------
    InputError
        If all words of a category are unknown.
    """
    warnings: list[Notice] = []
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


def is_coco_file(path: Path, layout: str | None) -> bool:
    """Whether labels are one COCO file, which names its images without their folder.

    Parameters
    ----------
    path : Path
        Of the labels.
    layout : str or None
        Format that a task names; None where it is found out.
    """
    return is_json(path) and path.is_file() and layout in (None, "coco")


def plan_folder_of(labels: GivenLabels) -> Path | None:
    """Return the folder of the plan that drew the labelled images, where labels lie in one.

    Parameters
    ----------
    labels : path-like or object in memory
        A file in the folder, or the folder itself; labels in memory lie in no folder.

    Returns
    -------
    Path or None
    """
    if not isinstance(labels, str | os.PathLike):
        return None
    path = Path(labels)
    return next((folder for folder in (path, path.parent) if (folder / PLAN).exists()), None)


def refuse_planned(labels: GivenLabels, command: str) -> None:
    """Raise `InputError` for labels that a plan drew, where a simple random sample is expected.

    Parameters
    ----------
    labels : path-like or object in memory
        See `plan_folder_of`.
    command : str
        The command that reads labels as their plan drew them.
    """
    folder = plan_folder_of(labels)
    if folder is not None:
        raise InputError(
            f"{labels} lies in the folder of a plan, which did not draw images at random: "
            f"`autoeval {command} --plan {folder} --labels {labels}` reads it as drawn."
        )


def read_labels(
    labels: GivenLabels,
    img_dir: PathLike | None,
    *,
    layout: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> LabelSet:
    """Read labels; a COCO file without a folder of images needs no library that reads images.

    Parameters
    ----------
    labels : path-like or object in memory
        COCO, YOLO or VOC, or what `labels_in_memory` reads.
    img_dir : path-like, optional
        Folder of the images. With a COCO file its images get the names of the files there.
    layout : str, optional
        Format, where a task names it.
    options : mapping, optional
        Other arguments of `load_labels`, as a task names them.

    Returns
    -------
    LabelSet

    Raises
    ------
    InputError
        If there are no such labels, they cannot be read, labels in memory have an `img_dir`, or no
        image of a COCO file lies in `img_dir`.
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
    image_paths = (Path(folder or "") / image.file_name for image in content.images)
    if is_coco and not any(path.is_file() for path in image_paths):
        raise InputError(
            f"Expected images of {path} in {img_dir} but found none of them there: check "
            "`img_dir` (--img-dir), or leave it out."
        )
    return content


def other_reference(has_reference: bool) -> InputError:
    """Return the error of a reference detector that is not read, or none where one is needed.

    Parameters
    ----------
    has_reference : bool
        Whether there is one for the new images.
    """
    if has_reference:
        return InputError(
            "This estimator was fitted without a reference detector (`reference`, --reference), so "
            "it would not be read: leave it out, or fit again with it."
        )
    return InputError(
        "This estimator was fitted with a reference detector: give the same one for these "
        "images (--reference), as a detector or by its boxes, or fit again without."
    )
