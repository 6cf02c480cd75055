"""Seed sets: labelled data sets of one environment each, and their images as a pass takes them.

The term is that of the papers. `seed_set_of` makes one of labels, in the categories of a task
(`autoeval.io.tasks.task`) and with files that exist; `SeedSetSamples` reads its images one by one
for a pass (`autoeval.estimation.observation`) or for sample sets (`autoeval.stability.metasets`).
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from autoeval.boxes import LabelledImage
from autoeval.errors import InputError
from autoeval.io.find_images import path_stamp
from autoeval.io.image_lists import image_path
from autoeval.io.images import UnreadableImageError, image_size, read_header, read_image
from autoeval.io.labels.any_format import load_labels
from autoeval.io.labels.content import ANY, EVERYWHERE, LabelledBox, LabelSet
from autoeval.io.predictions.category_words import as_spelt
from autoeval.runtime.files import PathLike
from autoeval.words import Notice, listed, printable

_FAULTS = {
    "flat": "boxes without area (zero or negative width or height), dropped",
    "outside": "boxes wholly outside their image, dropped",
    "clipped": "boxes that reached more than a pixel beyond their image, clipped",
}
NO_PIXELS = np.zeros((0, 0, 3), np.uint8)
MOST_IMAGES = 5000  # of a seed set that are observed as they are; as in BoS, section 4.1


@dataclass(frozen=True, eq=False)
class ImageRecord:
    """One labelled image.

    Parameters
    ----------
    image_id : str
        Of the image.
    path : Path
        Its file.
    height, width : int
        In pixels, as shown.
    boxes : ndarray of shape (N, 4), float64
        xyxy, pixels, inside the image where they were clipped; see `seed_set_of`.
    labels : ndarray of shape (N,), int64
        Indices into the categories of the seed set.
    iscrowd : ndarray of shape (N,), bool
        Boxes that mark a crowd, which evaluation ignores.
    file_name : str
        As the labels have it; empty where nothing depends on it.
    """

    image_id: str
    path: Path
    height: int
    width: int
    boxes: np.ndarray
    labels: np.ndarray
    iscrowd: np.ndarray
    file_name: str = ""


@dataclass(frozen=True, eq=False)
class SeedSet:
    """A labelled data set of one environment.

    Parameters
    ----------
    name : str
        Of the set.
    categories : tuple of str
        Of the task.
    images : tuple of ImageRecord
        They exist on disk, in the order of the label files.
    warnings : tuple of Notice
        What was left out or repaired on the way.
    """

    name: str
    categories: tuple[str, ...]
    images: tuple[ImageRecord, ...]
    warnings: tuple[Notice, ...] = ()

    @property
    def n_boxes(self) -> int:
        """Number of boxes, those that mark a crowd included."""
        return sum(len(image.boxes) for image in self.images)


Labelled = TypeVar("Labelled", SeedSet, LabelSet)


def thinned(labelled: Labelled, most: int | None) -> Labelled:
    """Keep some images of a seed set or of labels, at equal distances, with a note.

    Parameters
    ----------
    labelled : SeedSet or LabelSet
        Returned as it is where it has no more.
    most : int, optional
        How many; None for all.

    Raises
    ------
    InputError
        If the number is under 1.
    """
    n = len(labelled.images)
    if most is None or n <= most:
        return labelled
    if most < 1:
        raise InputError(f"Expected max_images= as a number of images from 1, got {most}.")
    kept = np.linspace(0, n - 1, most).round().astype(int)
    note = Notice("images-thinned", f"{most} of {n} images, at equal distances", severity="note")
    warnings = (*labelled.warnings, note)
    return replace(labelled, images=tuple(labelled.images[k] for k in kept), warnings=warnings)


def load_seed_set(
    name: str,
    labels: PathLike,
    img_dir: PathLike | None,
    categories: Sequence[str],
    mapping: Mapping[str, str] | None = None,
    *,
    layout: str | None = None,
) -> SeedSet:
    """Read a labelled data set as a seed set.

    Parameters
    ----------
    labels, img_dir, layout
        As in `load_labels`.
    name, categories, mapping
        As in `seed_set_of`.
    """
    content = load_labels(labels, img_dir, layout=layout)
    return seed_set_of(content, name, categories, mapping)


def seed_set_of(
    content: LabelSet,
    name: str,
    categories: Sequence[str],
    mapping: Mapping[str, str] | None = None,
    *,
    words: Mapping[str, str] | None = None,
    clip: bool = True,
) -> SeedSet:
    """Make a seed set of labels.

    Parameters
    ----------
    content : LabelSet
        The labels.
    name : str
        Of the seed set.
    categories : sequence of str
        Of the task.
    mapping : mapping of str to str, optional
        Category of the task for each category of the labels that counts. By default it follows from
        `words`, and from the categories' own names.
    words : mapping of str to str, optional
        Category of the task for words that labels may use; they may be spelt otherwise, see
        `known_spellings`.
    clip : bool
        Whether boxes outside their image are dropped, and others clipped to it, as sample sets need
        them; otherwise all stay as they are labelled, as pycocotools counts them.

    Returns
    -------
    SeedSet
        Boxes without area are dropped. What is left out or clipped, and what is there twice, is
        counted and named in `warnings`.

    Raises
    ------
    InputError
        If no category of the labels counts, the mapping names others, no image is there, or the
        size of one is not known.
    """
    if mapping is None:
        content = as_spelt(content, [*categories, *(words or ())])
    mapping = _mapping(content, categories, mapping, words)
    warnings = list(content.warnings)
    image_files = _find_images(content, warnings)
    by_image: dict[str, list[LabelledBox]] = {image.image_id: [] for image, _ in image_files}
    for box in _mapped(content, mapping, warnings):
        by_image.get(box.image_id, []).append(box)
    warnings += _twice_there(content)
    index = {category: i for i, category in enumerate(categories)}
    numbers = {category: index[target] for category, target in mapping.items()}
    faults: dict[str, Counter[str]] = {kind: Counter() for kind in _FAULTS}
    records = [
        _record(image, path, by_image[image.image_id], numbers, faults, clip=clip)
        for image, path in image_files
    ]
    warnings += [
        Notice(
            "label-boxes-unusable",
            f"{description}: {faults[kind].total()} (image ids: {listed(faults[kind])})",
            severity="note",
        )
        for kind, description in _FAULTS.items()
        if faults[kind].total()
    ]
    return SeedSet(name, tuple(categories), tuple(records), tuple(warnings))


def _mapping(
    content: LabelSet,
    categories: Sequence[str],
    mapping: Mapping[str, str] | None,
    words: Mapping[str, str] | None,
) -> dict[str, str]:
    """Return the category of the task for each category of the labels that counts."""
    if mapping is not None:
        return checked_mapping(content, categories, mapping)
    words = {**{category: category for category in categories}, **(words or {})}
    chosen = {word: words[word] for word in content.categories if word in words}
    if not chosen:
        raise InputError(
            f"None of the categories of {content.path} "
            f"({listed(content.categories, most=100) or 'none'}) is one of "
            f"{listed(words, most=20)}. Say in a task file, with `mapping`, what they are there."
        )
    return chosen


def checked_mapping(
    content: LabelSet, categories: Sequence[str], mapping: Mapping[Any, str]
) -> dict[str, str]:
    """Return the mapping of a seed set, by words, or refuse one that does not fit its labels.

    Parameters
    ----------
    content : LabelSet
        The labels.
    categories : sequence of str
        Of the task.
    mapping : mapping of str to str
        Category of the task for each category of the labels, which may be a number.

    Raises
    ------
    InputError
        If it is empty, or names a category that the labels or the task do not have.
    """
    chosen = {str(word): category for word, category in mapping.items()}
    has = listed(content.categories, most=100) or "none"
    absent = [name for name in chosen if name not in content.categories]
    if absent or not chosen:
        raise InputError(
            f"The mapping of {content.path} must name categories of the file ({has}), "
            f"but it {f'names {listed(absent)}' if absent else 'is empty'}."
        )
    unknown = sorted({target for target in chosen.values() if target not in categories})
    if unknown:
        raise InputError(
            f"The mapping of {content.path} leads to {listed(unknown)}, "
            f"which the task does not have (its categories: {listed(categories, most=100)})."
        )
    return chosen


def _find_images(content: LabelSet, warnings: list[Notice]) -> list[tuple[LabelledImage, Path]]:
    """Return the labelled images that are there with their files; `InputError` where none is."""
    img_dir = content.img_dir
    if img_dir is None or not img_dir.is_dir():
        raise InputError(f"No image folder {img_dir} (for {content.path}): check the path.")
    if content.unlabelled:
        names, n = listed(content.unlabelled), len(content.unlabelled)
        warnings.append(
            Notice(
                "images-without-labels",
                f"images without labels, left out: {n} ({names})",
                severity="note",
            )
        )
    placed = [(image, image_path(img_dir, image.file_name)) for image in content.images]
    missing = [image.file_name for image, path in placed if not os.path.isfile(path)]
    if len(missing) == len(placed):
        reason = f"none of its {len(placed)} images is in {img_dir}" if placed else "lists no image"
        raise InputError(
            f"{content.path}: {reason}{f' (first: {missing[0]})' if missing else ''}. "
            "Give the folder that its file names are relative to."
        )
    if missing:
        warnings.append(
            Notice(
                "images-missing",
                f"images missing in {img_dir}: {len(missing)} ({printable(listed(missing))})",
            )
        )
    return [(image, path) for image, path in placed if os.path.isfile(path)]


def _mapped(
    content: LabelSet, mapping: Mapping[str, str], warnings: list[Notice]
) -> list[LabelledBox]:
    """Return the boxes that count, with areas to ignore; `warnings` takes the others."""
    # An area that is ignored for any category is so for each one of the task.
    one_word = {target: word for word, target in mapping.items()}.values()
    kept, n_unmapped = list[LabelledBox](), Counter[str]()
    for box in content.boxes:
        if box.category in mapping:
            kept.append(box)
        elif box.category == ANY:
            kept += [replace(box, category=word) for word in one_word]
        else:
            n_unmapped[box.category] += 1
    kept += [
        LabelledBox(image.image_id, word, EVERYWHERE, iscrowd=True)
        for image in content.images
        for word in content.unchecked(image.image_id, mapping)
    ]
    if n_unmapped:
        counts = [f"{category} {n}" for category, n in n_unmapped.most_common()]
        text = (
            f"boxes of categories that the mapping lacks, left out: {n_unmapped.total()} "
            f"({listed(counts, most=10)})"
        )
        warnings.append(Notice("categories-not-mapped", text, severity="note"))
    return kept


def _record(
    image: LabelledImage,
    path: Path,
    boxes: list[LabelledBox],
    labels: Mapping[str, int],
    faults: Mapping[str, Counter[str]],
    *,
    clip: bool,
) -> ImageRecord:
    """Lay out the boxes of an image, in the categories of the task.

    Parameters
    ----------
    image : LabelledImage
        The image.
    path : Path
        Its file.
    boxes : list of LabelledBox
        Its boxes that count.
    labels : mapping of str to int
        Index of the category of the task by word of the labels.
    faults : mapping of str to Counter
        Takes how many boxes of the image have each of `_FAULTS`.
    clip : bool
        See `seed_set_of`.

    Raises
    ------
    InputError
        If neither the labels nor the file of the image have its size.
    """
    size = image.size or image_size(path)
    if size is None:
        raise InputError(
            f"Image {image.image_id} ({path}) has no height and width in its labels, and its "
            "file cannot be read."
        )
    height, width = size
    xywh = np.array([box.xywh for box in boxes], np.float64).reshape(-1, 4)
    with np.errstate(over="ignore"):
        corners = np.concatenate([xywh[:, :2], xywh[:, :2] + xywh[:, 2:]], axis=1)
    clipped = corners.clip(0, [width, height, width, height]) if clip else corners
    flat = (xywh[:, 2:] <= 0).any(1)
    outside = ~flat & (clipped[:, 2:] <= clipped[:, :2]).any(1)
    kept = ~flat & ~outside
    beyond = kept & (np.abs(corners - clipped) > 1).any(1)
    for kind, boxes_at_fault in (("flat", flat), ("outside", outside), ("clipped", beyond)):
        if boxes_at_fault.any():
            faults[kind][image.image_id] = int(boxes_at_fault.sum())
    return ImageRecord(
        image.image_id,
        path,
        height,
        width,
        boxes=clipped[kept],
        labels=np.array([labels[box.category] for box in boxes], np.int64)[kept],
        iscrowd=np.array([box.iscrowd for box in boxes], bool)[kept],
        file_name=image.file_name,
    )


def _twice_there(content: LabelSet) -> Iterator[Notice]:
    """Count boxes given more than once, which are kept."""
    boxes = Counter(content.boxes)
    again = {box.image_id: n - 1 for box, n in boxes.items() if n > 1}
    if again:
        total = sum(n - 1 for n in boxes.values())
        yield Notice(
            "boxes-given-twice",
            f"boxes given more than once, kept: {total} (image ids: {listed(again)})",
        )


def named_rng(*key: int | str) -> np.random.Generator:
    """Make a generator from a key of numbers and names, the same on every machine.

    Parameters
    ----------
    *key : int or str
        Another key gives another generator.

    Examples
    --------
    >>> float(named_rng(0, "gate").random()) == float(named_rng(0, "gate").random())
    True
    """
    digest = hashlib.sha256(repr(key).encode()).digest()
    return np.random.default_rng(np.frombuffer(digest, "<u4").tolist())


@dataclass(frozen=True, eq=False)
class Sample:
    """One image with its labels.

    Parameters
    ----------
    image_id : str
        Of the image.
    image : ndarray of shape (H, W, 3), uint8
        BGR.
    boxes : ndarray of shape (N, 4), float64
        xyxy, pixels; see `ImageRecord`.
    labels : ndarray of shape (N,), int64
        Indices into the categories of the seed set.
    iscrowd : ndarray of shape (N,), bool
        Areas that evaluation ignores.
    """

    image_id: str
    image: np.ndarray
    boxes: np.ndarray
    labels: np.ndarray
    iscrowd: np.ndarray


class Samples(Protocol):
    """Images that are made when asked for, in another thread, one after the other.

    Raises `UnreadableImageError` for one that cannot be.
    """

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Sample: ...


class FileSamples(Samples, Protocol):
    """Samples of which something is known without reading their files."""

    def stamp(self, index: int, /) -> str:
        """Return what changes when the pixels of a sample may have changed.

        Parameters
        ----------
        index : int
            Position of the sample.
        """

    def unread(self, index: int, /) -> Sample:
        """Return a sample without its pixels.

        Parameters
        ----------
        index : int
            Position of the sample.
        """


class SeedSetSamples:
    """Images of a seed set as they are, in the order of its records.

    Parameters
    ----------
    seed_set : SeedSet
        The set.
    image_ids : sequence of str, optional
        Which images; by default those of `own_image_ids`.
    """

    def __init__(self, seed_set: SeedSet, image_ids: Sequence[str] | None = None) -> None:
        by_id = {record.image_id: record for record in seed_set.images}
        chosen = own_image_ids(seed_set) if image_ids is None else image_ids
        self.seed_set = seed_set
        self.records = tuple(by_id[image_id] for image_id in chosen)

    @property
    def transformed(self) -> bool:
        """Whether the images differ from their files."""
        return False

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Sample]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: int) -> Sample:
        """Read one image with its labels, or raise `UnreadableImageError` of it alone."""
        record = self.records[index]
        image = read_record(record)
        return Sample(record.image_id, image, record.boxes, record.labels, record.iscrowd)

    def stamp(self, index: int) -> str:
        """Return what changes with the file of an image, or with the size that its labels give.

        Parameters
        ----------
        index : int
            Position of the image.
        """
        record = self.records[index]
        return f"{record.width} x {record.height} {path_stamp(record.path)}"

    def unread(self, index: int) -> Sample:
        """Return an image without its pixels.

        Parameters
        ----------
        index : int
            Position of the image.
        """
        record = self.records[index]
        return Sample(record.image_id, NO_PIXELS, record.boxes, record.labels, record.iscrowd)


def read_record(record: ImageRecord) -> np.ndarray:
    """Read the image of a record.

    Parameters
    ----------
    record : ImageRecord
        With the path of its file.

    Returns
    -------
    ndarray of shape (H, W, 3), uint8
        BGR.

    Raises
    ------
    UnreadableImageError
        If it cannot be read, or its size is another than its labels say.
    """
    image = read_image(record.path)
    if image.shape[:2] != (record.height, record.width):
        height, width = image.shape[:2]
        header = read_header(record.path)
        turned = " once turned by its EXIF orientation" if header and header.turned else ""
        raise UnreadableImageError(
            record.path,
            f"is {width} x {height} pixels{turned} where its annotation says {record.width} x "
            f"{record.height}, so its boxes cannot be trusted",
        )
    return image


def own_image_ids(
    seed_set: SeedSet, *, n_images: int = MOST_IMAGES, seed: int = 0
) -> tuple[str, ...]:
    """Choose the images by which a seed set itself is observed, in the order of its records.

    Parameters
    ----------
    seed_set : SeedSet
        The set.
    n_images : int
        Where it has more, so many are drawn without replacement.
    seed : int
        Of the draw, with the name of the set.
    """
    return draw_images(seed_set.images, n_images, named_rng(seed, seed_set.name, "own images"))


def draw_images(
    images: Sequence[ImageRecord], n_images: int, rng: np.random.Generator
) -> tuple[str, ...]:
    """Draw images without replacement, all where there are fewer.

    Parameters
    ----------
    images : sequence of ImageRecord
        From which is drawn.
    n_images : int
        How many.
    rng : Generator
        That draws.

    Returns
    -------
    tuple of str
        Their ids, in the order of `images`.
    """
    chosen = sorted(rng.choice(len(images), min(n_images, len(images)), replace=False))
    return tuple(images[i].image_id for i in chosen)
